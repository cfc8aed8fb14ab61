//! limitador: fixed windows in a cache, for limits whose keys are expressions over a request's values.

use std::collections::HashMap;

use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Namespace};

use crate::keys::Asked;
use crate::subject::{Limit, Subject};

const VARIABLE: &str = "user";

struct Limitador {
    limiter: RateLimiter,
    namespace: Namespace,
}

impl Subject for Limitador {
    fn decide(&self, key: Asked<'_>) -> bool {
        let values = HashMap::from([(VARIABLE.to_string(), key.name.clone())]);
        let context = Context::from(values);
        let checked = self.limiter.check_rate_limited_and_update(&self.namespace, &context, 1);
        checked.is_ok_and(|checked| !checked.limited)
    }
}

pub(super) fn prepare(keys: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    // Twice the room that is needed: its cache is not to throw live keys out.
    let limiter = RateLimiter::new(2 * u64::from(keys).max(1_000));
    let variable = Expression::parse(VARIABLE).map_err(|error| error.to_string())?;
    let (burst, seconds) = (limit.burst().into(), limit.seconds().into());
    let namespace = Namespace::from("api");
    limiter.add_limit(limitador::limit::Limit::new("api", burst, seconds, [], [variable]));
    Ok(Box::new(Limitador { limiter, namespace }))
}
