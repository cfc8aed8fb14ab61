//! tokio-rate-limit: a token bucket of atomics per key, in a map without locks. It needs no runtime to
//! decide.

use tokio_rate_limit::{RateLimiter, RateLimiterConfig};

use crate::keys::Asked;
use crate::subject::{Limit, Subject};

struct Tokio {
    limiter: RateLimiter,
}

impl Subject for Tokio {
    fn decide(&self, key: Asked<'_>) -> bool {
        self.limiter.check(key.name).permitted
    }
}

pub(super) fn prepare(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    // It counts in whole tokens a second. It keeps all keys forever, so this changes nothing where they are
    // to last.
    let per_second = u64::from((limit.burst() / limit.seconds()).max(1));
    let config = RateLimiterConfig { requests_per_second: per_second, burst: limit.burst().into() };
    let limiter = RateLimiter::new(config).map_err(|error| error.to_string())?;
    Ok(Box::new(Tokio { limiter }))
}
