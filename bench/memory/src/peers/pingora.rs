//! pingora-limits: a count-min sketch of the current interval. It forgets nobody and may count one key for
//! another.

use std::sync::Arc;
use std::time::Duration;

use pingora_limits::rate::Rate;

use crate::keys::Keys;
use crate::subject::{Limit, Subject};

/// Its own default.
const ROWS: usize = 4;
/// Its own default, if there are few keys.
const COUNTERS_MIN: usize = 1_024;

struct Pingora {
    keys: Arc<Keys>,
    rate: Rate,
    burst: isize,
}

impl Subject for Pingora {
    fn decide(&self, key: u32) -> bool {
        self.rate.observe(self.keys.name(key), 1) <= self.burst
    }
}

pub(super) fn prepare(keys: &Arc<Keys>, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let interval = Duration::from_secs(limit.seconds().into());
    let counters = COUNTERS_MIN.max(keys.count() as usize);
    let rate = Rate::new_with_estimator_config(interval, ROWS, counters);
    let burst = isize::try_from(limit.burst()).map_err(|error| error.to_string())?;
    Ok(Box::new(Pingora { keys: Arc::clone(keys), rate, burst }))
}
