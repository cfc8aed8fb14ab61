//! Limits whose numbers come with a command, such as those of `CL.THROTTLE`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tollgate::{Algorithm, ConcurrencyLimit, FailureRule, Limit, Limiter, NamedLimit};

/// How many sets of numbers are kept ready. Beyond that all are forgotten and made anew when they are used again; keys keep their usage,
/// which belongs to the limit's name and not to its numbers.
pub(super) const CALLER_LIMITS_MAX: usize = 4_096;

/// Limits by their numbers. All of one algorithm have one name: a key has one budget for each algorithm, whatever numbers it is used with.
#[derive(Debug)]
pub(super) struct CallerLimits {
    limiter: Limiter,
    namespace: String,
    known: Mutex<HashMap<Limit, NamedLimit>>,
}

impl CallerLimits {
    pub(super) fn new(limiter: Limiter, namespace: &str) -> Self {
        Self { limiter, namespace: namespace.into(), known: Mutex::default() }
    }

    /// The limit with these numbers. While a shared store makes no decision, it is unavailable: no policy says anything else.
    pub(super) fn get(&self, limit: Limit) -> NamedLimit {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limit) = known.get(&limit) {
            return limit.clone();
        }
        if known.len() >= CALLER_LIMITS_MAX {
            known.clear();
        }
        let named = self.limiter.shared_limit_in(&self.namespace, name(&limit), limit, FailureRule::Deny);
        known.insert(limit, named.clone());
        named
    }

    /// The limit on permits with this maximum. All have one name.
    pub(super) fn concurrency(&self, most: u32) -> ConcurrencyLimit {
        self.limiter.concurrency("\0resp permits", most)
    }
}

/// The name of all limits of an algorithm. No limit of a policy has a name that begins like this.
const fn name(limit: &Limit) -> &'static str {
    match limit.algorithm() {
        None => "\0resp unlimited",
        Some(Algorithm::TokenBucket) => "\0resp token_bucket",
        Some(Algorithm::LeakyBucket) => "\0resp leaky_bucket",
        Some(Algorithm::Gcra) => "\0resp gcra",
        Some(Algorithm::FixedWindow) => "\0resp fixed_window",
        Some(Algorithm::SlidingWindow) => "\0resp sliding_window",
        Some(Algorithm::SlidingWindowBuckets) => "\0resp sliding_window_buckets",
        Some(Algorithm::SlidingWindowLog) => "\0resp sliding_window_log",
    }
}
