//! flux-limiter: GCRA in a map of shards behind locks, with the system's clock.

use flux_limiter::{FluxLimiter, FluxLimiterConfig, SystemClock};

use crate::keys::Asked;
use crate::subject::{Limit, Subject};

struct Flux {
    limiter: FluxLimiter<String>,
}

impl Subject for Flux {
    fn decide(&self, key: Asked<'_>) -> bool {
        self.limiter.check_request(key.name.clone()).is_ok_and(|decision| decision.allowed)
    }
}

pub(super) fn prepare(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let burst = f64::from(limit.burst());
    let config = FluxLimiterConfig::new(burst / f64::from(limit.seconds()), burst);
    let limiter = FluxLimiter::with_config(config, SystemClock).map_err(|error| error.to_string())?;
    Ok(Box::new(Flux { limiter }))
}
