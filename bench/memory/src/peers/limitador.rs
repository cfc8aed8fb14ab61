//! limitador: fixed windows in a cache, for limits whose keys are expressions over a request's values.

use std::collections::HashMap;
use std::sync::Arc;

use limitador::RateLimiter;
use limitador::limit::{Context, Expression, Namespace};

use crate::keys::Keys;
use crate::subject::{Limit, Subject};

const VARIABLE: &str = "user";

struct Limitador {
    keys: Arc<Keys>,
    limiter: RateLimiter,
    namespace: Namespace,
}

impl Subject for Limitador {
    fn decide(&self, key: u32) -> bool {
        let values = HashMap::from([(VARIABLE.to_string(), self.keys.name(key).clone())]);
        let context = Context::from(values);
        let checked = self.limiter.check_rate_limited_and_update(&self.namespace, &context, 1);
        checked.is_ok_and(|checked| !checked.limited)
    }
}

pub(super) fn prepare(keys: &Arc<Keys>, limit: Limit) -> Result<Box<dyn Subject>, String> {
    // Twice the room that is needed: its cache is not to throw live keys out.
    let limiter = RateLimiter::new(2 * u64::from(keys.count()).max(1_000));
    let variable = Expression::parse(VARIABLE).map_err(|error| error.to_string())?;
    let (burst, seconds) = (limit.burst().into(), limit.seconds().into());
    let namespace = Namespace::from("api");
    limiter.add_limit(limitador::limit::Limit::new("api", burst, seconds, [], [variable]));
    Ok(Box::new(Limitador { keys: Arc::clone(keys), limiter, namespace }))
}
