//! What the service counts. Labels come from configuration files and never from requests.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::Limits;

/// A number that only goes up.
#[derive(Default, Debug)]
pub struct Count(AtomicU64);

impl Count {
    /// The number.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn inc(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds at most 2^32 at once, so that no request makes it run over.
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more.min(1 << 32), Ordering::Relaxed);
    }
}

/// What the service has counted since it started.
#[derive(Default, Debug)]
pub struct Counters {
    /// Requests answered with `OK`.
    pub granted: Count,
    /// Requests answered with `OVER_LIMIT`.
    pub refused: Count,
    /// Requests that broke a rule of the protocol or a bound.
    pub invalid: Count,
    /// Requests without a decision, because the store failed.
    pub unavailable: Count,
    /// Requests whose domain no file defines. They are granted.
    pub unknown_domain: Count,
    /// Descriptors that match no limit. They are granted.
    pub unmatched: Count,
    /// Hits that were given back (`is_negative_hits`).
    pub refunded: Count,
    /// Hits that could not be given back, because no receipt of their charge was left.
    pub not_refunded: Count,
    /// Counters of each limit.
    rules: Mutex<HashMap<Box<str>, Arc<RuleCounters>>>,
}

/// What was counted of one limit.
#[derive(Default, Debug)]
pub struct RuleCounters {
    /// Hits that fit.
    pub granted: Count,
    /// Hits that did not fit.
    pub refused: Count,
    /// Hits that did not fit, of a limit in shadow mode.
    pub shadow_refused: Count,
}

impl Counters {
    /// The counters of all limits, in their order. Those of limits that are gone are forgotten.
    pub(crate) fn of_rules(&self, limits: &Limits) -> Vec<Arc<RuleCounters>> {
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = HashMap::new();
        let mut all = Vec::with_capacity(limits.rules.len());
        for rule in &limits.rules {
            let counters =
                next.entry(rule.path.clone()).or_insert_with(|| known.remove(&rule.path).unwrap_or_default());
            all.push(Arc::clone(counters));
        }
        *known = next;
        all
    }

    /// The counters of each limit with its path, in the order of the paths.
    #[must_use]
    pub fn rules(&self) -> Vec<(Box<str>, Arc<RuleCounters>)> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> =
            rules.iter().map(|(path, counters)| (path.clone(), Arc::clone(counters))).collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}
