//! From a request to the limits that apply to it, with a key and a number of hits each.

use std::sync::Arc;

use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use smallvec::SmallVec;
use tollgate::{HITS_MAX, Hit, Limiter, NamedLimit};
use tonic::Status;

use crate::counters::{Counters, RuleCounters};
use crate::in_force::InForce;
use crate::limits::limitador::condition::Descriptors;
use crate::limits::{Domain, Match, Numbers, Rule, Window};
use crate::options::Options;
use crate::unit::Unit;

/// A limit that applies to a request.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The descriptor in whose status the limit is shown.
    pub(crate) descriptor: usize,
    /// `None` for an override.
    pub(crate) rule: Option<Arc<Rule>>,
    /// `None` if it is unlimited.
    pub(crate) limited: Option<(NamedLimit, Numbers)>,
    pub(crate) key: SmallVec<[u8; 96]>,
    pub(crate) hits: Hits,
}

/// What a request does to a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hits {
    /// Charges so many.
    Charge(u64),
    /// Checks that a hit would fit.
    Check,
    /// Gives so many back.
    Refund(u64),
}

impl Planned {
    /// A hit of this cost, in the mode of the limit. A quota never refuses alone, so it is charged as in shadow mode.
    pub(crate) fn hit(&self, cost: u64) -> Option<Hit<'_>> {
        let (limit, _) = self.limited.as_ref()?;
        let hit = limit.hit(&self.key[..]).cost(cost);
        Some(if self.is_shadow() || self.is_quota() { hit.shadow() } else { hit })
    }

    pub(crate) fn is_shadow(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.is_shadow)
    }

    pub(crate) fn is_quota(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| rule.is_quota && !rule.is_shadow)
    }

    pub(crate) fn counters<'f>(&self, in_force: &'f InForce) -> Option<&'f RuleCounters> {
        in_force.counters(self.rule.as_deref()?)
    }
}

/// What a plan is made with.
#[derive(Clone, Copy)]
pub(crate) struct Planner<'a> {
    pub(crate) in_force: &'a InForce,
    pub(crate) limiter: &'a Limiter,
    pub(crate) options: &'a Options,
    pub(crate) counters: &'a Counters,
}

/// A request that is within bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) domain: &'a str,
    pub(crate) descriptors: &'a [RateLimitDescriptor],
    /// Of those descriptors that do not say how many themselves.
    pub(crate) hits: u64,
}

pub(crate) type Plan = SmallVec<[Planned; 4]>;

impl Planner<'_> {
    /// The limits that apply to a request, in the order of its descriptors.
    pub(crate) fn plan(&self, asked: Asked<'_>) -> Result<Plan, Status> {
        let domain = self.in_force.limits.domains.get(asked.domain);
        let mut plan = match domain {
            // As in envoyproxy/ratelimit: nothing applies, not even an override.
            None => {
                self.counters.unknown_domain.inc();
                return Ok(Plan::new());
            }
            Some(Domain::Tree(_)) => self.of_tree(asked)?,
            Some(Domain::Conditions(limits)) => {
                let descriptors = Entries(asked.descriptors);
                let applies = limits.iter().filter_map(|limit| {
                    let values = limit.values(&descriptors)?;
                    let key = key(values.iter().copied());
                    let descriptor = asked.descriptors.get(limit.descriptor)?;
                    Some(self.of_rule(limit.descriptor, &limit.rule, key, hits(descriptor, asked.hits)))
                });
                applies.collect()
            }
        };
        replace(&mut plan);
        if plan.len() > HITS_MAX {
            let count = plan.len();
            return Err(Status::invalid_argument(format!(
                "{count} limits apply to this request, and may be at most {HITS_MAX}: write conditions that exclude each other"
            )));
        }
        Ok(plan)
    }

    fn of_tree(&self, asked: Asked<'_>) -> Result<Plan, Status> {
        let mut plan = Plan::new();
        for (number, descriptor) in asked.descriptors.iter().enumerate() {
            let hits = hits(descriptor, asked.hits);
            let entries =
                || descriptor.entries.iter().map(|entry| (entry.key.as_str(), entry.value.as_str()));
            if let Some(numbers) = &descriptor.limit {
                let Some(unit) = Unit::of_override(numbers.unit) else {
                    return Err(Status::invalid_argument(format!(
                        "the limit of descriptor {number} has no unit: write `unit` beside `requests_per_unit`"
                    )));
                };
                let of = (numbers.requests_per_unit, unit);
                let limit = self.in_force.overriding(asked.domain, of, self.limiter, self.options);
                let numbers = Numbers { limit: of.0.into(), window: Window::Unit(unit) };
                let key = key(entries().flat_map(|(key, value)| [key, value]));
                plan.push(Planned {
                    descriptor: number,
                    rule: None,
                    limited: Some((limit, numbers)),
                    key,
                    hits,
                });
                continue;
            }
            match self.in_force.limits.find(asked.domain, entries()) {
                Match::Limit(rule, values) => {
                    plan.push(self.of_rule(number, rule, key(values.into_iter()), hits))
                }
                Match::Nothing | Match::UnknownDomain => self.counters.unmatched.inc(),
            }
        }
        Ok(plan)
    }

    fn of_rule(&self, descriptor: usize, rule: &Arc<Rule>, key: SmallVec<[u8; 96]>, hits: Hits) -> Planned {
        let limited = self.in_force.named(rule).cloned().zip(rule.numbers);
        Planned { descriptor, rule: Some(Arc::clone(rule)), limited, key, hits }
    }
}

/// Removes the limits that others replace.
fn replace(plan: &mut Plan) {
    if plan.iter().all(|planned| planned.rule.as_ref().is_none_or(|rule| rule.replaces.is_empty())) {
        return;
    }
    let all = plan.iter().filter_map(|planned| planned.rule.as_ref());
    let replaced: Vec<Box<str>> = all.flat_map(|rule| rule.replaces.iter().cloned()).collect();
    let is_replaced = |rule: &Arc<Rule>| !rule.name.is_empty() && replaced.contains(&rule.name);
    plan.retain(|planned| !planned.rule.as_ref().is_some_and(is_replaced));
}

/// How many hits a descriptor stands for.
fn hits(descriptor: &RateLimitDescriptor, of_request: u64) -> Hits {
    let hits = descriptor.hits_addend.as_ref().map_or(of_request, |hits| hits.value);
    match hits {
        hits if descriptor.is_negative_hits => Hits::Refund(hits),
        0 => Hits::Check,
        hits => Hits::Charge(hits),
    }
}

/// The bytes of a key: each part after its length, so that no two lists of parts have the same.
fn key<'a>(parts: impl Iterator<Item = &'a str>) -> SmallVec<[u8; 96]> {
    let mut key = SmallVec::new();
    for part in parts {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        key.extend_from_slice(&length.to_le_bytes());
        key.extend_from_slice(part.as_bytes());
    }
    key
}

/// Descriptors as conditions see them.
struct Entries<'a>(&'a [RateLimitDescriptor]);

impl Descriptors for Entries<'_> {
    fn value(&self, descriptor: usize, key: &str) -> Option<&str> {
        let entries = &self.0.get(descriptor)?.entries;
        entries.iter().rev().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
    }
}
