//! throttlecrab: GCRA in a map that one caller at a time may use, so behind a mutex here.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use throttlecrab::{PeriodicStore, RateLimiter};

use crate::keys::Asked;
use crate::subject::{Limit, Subject};

struct Throttlecrab {
    limiter: Mutex<RateLimiter<PeriodicStore>>,
    burst: i64,
    seconds: i64,
}

impl Subject for Throttlecrab {
    #[expect(clippy::disallowed_methods, reason = "its caller reads the clock")]
    fn decide(&self, key: Asked<'_>) -> bool {
        let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        let decided = limiter.rate_limit(key.name, self.burst, self.burst, self.seconds, 1, now);
        decided.is_ok_and(|(granted, _)| granted)
    }
}

/// Its periodic store looks through all keys once a minute; the other two do so far more often when there are
/// many.
pub(super) fn prepare(keys: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let store = PeriodicStore::builder().capacity(keys as usize).build();
    Ok(Box::new(Throttlecrab {
        limiter: Mutex::new(RateLimiter::new(store)),
        burst: limit.burst().into(),
        seconds: limit.seconds().into(),
    }))
}
