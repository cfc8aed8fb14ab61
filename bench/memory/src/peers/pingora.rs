//! pingora-limits: a count-min sketch of the current interval. It forgets nobody and may count one key for
//! another.

use std::time::Duration;

use pingora_limits::rate::Rate;

use crate::keys::Asked;
use crate::subject::{Limit, Subject};

/// Its own default.
const ROWS: usize = 4;
/// Its own default, if there are few keys.
const COUNTERS_MIN: usize = 1_024;

struct Pingora {
    rate: Rate,
    burst: isize,
}

impl Subject for Pingora {
    fn decide(&self, key: Asked<'_>) -> bool {
        self.rate.observe(key.name, 1) <= self.burst
    }
}

pub(super) fn prepare(keys: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let interval = Duration::from_secs(limit.seconds().into());
    let counters = COUNTERS_MIN.max(keys as usize);
    let rate = Rate::new_with_estimator_config(interval, ROWS, counters);
    let burst = isize::try_from(limit.burst()).map_err(|error| error.to_string())?;
    Ok(Box::new(Pingora { rate, burst }))
}
