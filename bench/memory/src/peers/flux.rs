//! flux-limiter: GCRA in a map of shards behind locks, with the system's clock.

use std::sync::Arc;

use flux_limiter::{FluxLimiter, FluxLimiterConfig, SystemClock};

use crate::keys::Keys;
use crate::subject::{Limit, Subject};

struct Flux {
    keys: Arc<Keys>,
    limiter: FluxLimiter<String>,
}

impl Subject for Flux {
    fn decide(&self, key: u32) -> bool {
        self.limiter.check_request(self.keys.name(key).clone()).is_ok_and(|decision| decision.allowed)
    }
}

pub(super) fn prepare(keys: &Arc<Keys>, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let burst = f64::from(limit.burst());
    let config = FluxLimiterConfig::new(burst / f64::from(limit.seconds()), burst);
    let limiter = FluxLimiter::with_config(config, SystemClock).map_err(|error| error.to_string())?;
    Ok(Box::new(Flux { keys: Arc::clone(keys), limiter }))
}
