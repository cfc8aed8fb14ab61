//! throttlecrab: GCRA in a map that one caller at a time may use, so behind a mutex here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use throttlecrab::{PeriodicStore, RateLimiter};

use crate::keys::Keys;
use crate::subject::{Limit, Subject};

struct Throttlecrab {
    keys: Arc<Keys>,
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    burst: i64,
    seconds: i64,
}

impl Subject for Throttlecrab {
    #[expect(clippy::disallowed_methods, reason = "its caller reads the clock")]
    fn decide(&self, key: u32) -> bool {
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        let decided = limiter.rate_limit(self.keys.name(key), self.burst, self.burst, self.seconds, 1, now);
        decided.is_ok_and(|(granted, _)| granted)
    }
}

/// Its periodic store looks through all keys once a minute; the other two do so far more often when there are
/// many.
pub(super) fn prepare(keys: &Arc<Keys>, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let store = PeriodicStore::builder().capacity(keys.count() as usize).build();
    Ok(Box::new(Throttlecrab {
        keys: Arc::clone(keys),
        limiter: Mutex::new(RateLimiter::new(store)),
        burst: limit.burst().into(),
        seconds: limit.seconds().into(),
    }))
}
