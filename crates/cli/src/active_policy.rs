//! The policy in force, swapped as a whole: a request sees either the old or the new one.

mod policy_headers;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::HeaderName;
use tollgate_engine::{Enforcer, PolicyLimits};
use tollgate_tower::{ResponseConfig, ResponseWriter};

use self::policy_headers::headers_read;
use crate::telemetry::metrics::{LimitMeters, Metrics};

/// A policy in force, with the counters of its limits. Immutable.
#[derive(Debug)]
pub struct ActivePolicy {
    /// The limits.
    pub limits: Arc<PolicyLimits>,
    /// Checks requests.
    pub enforcer: Arc<Enforcer>,
    /// Writes responses.
    pub responses: ResponseWriter,
    /// The counters of each limit, by its number in the policy.
    pub meters: Vec<LimitMeters>,
    /// The generation: 1 for the policy loaded at start-up.
    pub generation: u64,
    /// Whether a check may wait, because some limits are in a shared store.
    pub waits: bool,
    /// The headers that the policy reads, in order.
    pub(crate) reads: Vec<HeaderName>,
}

impl ActivePolicy {
    /// Prepares limits. From now on, the metrics show these limits only.
    #[must_use]
    pub fn new(limits: PolicyLimits, config: ResponseConfig, metrics: &Metrics, generation: u64) -> Self {
        let meters = metrics.limits_of(&limits);
        let reads = headers_read(limits.policy());
        let limits = Arc::new(limits);
        metrics.show_in_progress(&limits);
        let enforcer = Enforcer::from(Arc::clone(&limits));
        let responses = ResponseWriter::new(&enforcer, config);
        let (waits, enforcer) = (enforcer.waits(), Arc::new(enforcer));
        Self { limits, enforcer, responses, meters, generation, waits, reads }
    }
}

/// The current policy. Any number of threads load it without waiting.
///
/// A request loads it once and keeps it, so that its charge, its headers and its counters belong to one policy.
pub struct PolicyHandle(ArcSwap<ActivePolicy>);

impl PolicyHandle {
    /// Puts the first policy in force.
    #[must_use]
    pub fn new(first: ActivePolicy, metrics: &Metrics) -> Self {
        metrics.put_in_force(first.generation);
        Self(ArcSwap::from_pointee(first))
    }

    /// Loads the current policy. Do not hold the guard across an await; clone the `Arc` for that.
    #[must_use]
    #[inline]
    pub fn load(&self) -> arc_swap::Guard<Arc<ActivePolicy>> {
        self.0.load()
    }

    /// Replaces the policy. Requests that have loaded the old one keep it.
    pub fn swap(&self, next: ActivePolicy, metrics: &Metrics) {
        let generation = next.generation;
        self.0.store(Arc::new(next));
        // Afterwards: a client that reads the new generation gets responses of the new policy.
        metrics.put_in_force(generation);
    }
}

impl fmt::Debug for PolicyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Live(generation {})", self.load().generation)
    }
}
