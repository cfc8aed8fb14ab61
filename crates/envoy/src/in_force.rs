//! The limits in force: those of the files, registered with the limiter, and those that requests override.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use tollgate::{Limit, Limiter, NamedLimit};

use crate::counters::{Counters, RuleCounters};
use crate::limits::{Limits, Numbers, Rule, Window};
use crate::options::Options;
use crate::unit::Unit;

/// Most different numbers of overrides that are remembered. Beyond that, a request with others takes a little longer.
pub const OVERRIDES_MAX: usize = 1_024;

/// A domain, a count and a unit.
type OverrideKey = (Box<str>, u32, Unit);

/// Limits with their counters. Replaced as a whole.
#[derive(Debug)]
pub(crate) struct InForce {
    pub(crate) limits: Limits,
    /// By the number of the rule; `None` if it is unlimited.
    named: Vec<Option<NamedLimit>>,
    counters: Vec<Arc<RuleCounters>>,
    overrides: RwLock<HashMap<OverrideKey, NamedLimit>>,
}

impl InForce {
    pub(crate) fn new(limits: Limits, limiter: &Limiter, options: &Options, counters: &Counters) -> Self {
        let counters = counters.of_rules(&limits);
        let named = limits.rules.iter().map(|rule| {
            let numbers = rule.numbers?;
            Some(named(&format!("envoy {}", rule.path), numbers, limiter, options))
        });
        let named = named.collect();
        Self { limits, named, counters, overrides: RwLock::default() }
    }

    /// The limit of a rule; `None` if it is unlimited.
    pub(crate) fn named(&self, rule: &Rule) -> Option<&NamedLimit> {
        self.named.get(rule.id)?.as_ref()
    }

    pub(crate) fn counters(&self, rule: &Rule) -> Option<&RuleCounters> {
        self.counters.get(rule.id).map(AsRef::as_ref)
    }

    /// The limit of an override. Those of one domain and unit share their keys, so that a key keeps its usage when its numbers change.
    pub(crate) fn overriding(
        &self,
        domain: &str,
        (count, unit): (u32, Unit),
        limiter: &Limiter,
        options: &Options,
    ) -> NamedLimit {
        let key = (domain.into(), count, unit);
        if let Some(limit) = self.overrides.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return limit.clone();
        }
        let numbers = Numbers { limit: count.into(), window: Window::Unit(unit) };
        let limit = named(&format!("envoy {domain} override {}", unit.name()), numbers, limiter, options);
        let mut overrides = self.overrides.write().unwrap_or_else(PoisonError::into_inner);
        if overrides.len() < OVERRIDES_MAX {
            overrides.insert(key, limit.clone());
        }
        limit
    }
}

fn named(name: &str, numbers: Numbers, limiter: &Limiter, options: &Options) -> NamedLimit {
    let window = tollgate::Window::Every(tollgate::Micros::from_secs(numbers.window.seconds()));
    let limit = Limit::fixed_window(numbers.limit, window).expect("numbers are checked when they are read");
    limiter.shared_limit_in(&options.namespace, name, limit, options.when_store_fails)
}
