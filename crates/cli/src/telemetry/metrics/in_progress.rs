//! What is in progress under each limit: requests in flight, requests that wait, and what adaptive limits have found.

use std::collections::BTreeMap;

use tollgate_engine::{InProgress, PolicyLimits};

use super::limits::{LIMIT_SERIES_MAX, OTHER};
use super::page::{Kind, MetricsText};
use crate::reload::UPSTREAM;

/// The numbers of one limit. A limit that does not have one of them has no series of it.
#[derive(Clone, Copy, Default)]
struct Numbers {
    in_flight: Option<u64>,
    waiting: u64,
    adaptive: Option<u64>,
    baseline: Option<u64>,
}

/// Writes them down.
pub(super) fn write(limits: &PolicyLimits, page: &mut MetricsText) {
    let mut by_name: BTreeMap<&str, Numbers> = BTreeMap::new();
    let all = limits.in_progress();
    for one in &all {
        let of_policy =
            one.limit.map(|id| limits.policy().limits().get(id.index()).map(|limit| &*limit.name));
        let name = of_policy.map_or(UPSTREAM, |name| name.unwrap_or(OTHER));
        let own = by_name.len() < LIMIT_SERIES_MAX || by_name.contains_key(name);
        by_name.entry(if own { name } else { OTHER }).or_default().add(one);
    }
    type Of = fn(&Numbers) -> Option<u64>;
    let families: [(&'static str, &str, Of); 3] = [
        ("limit_in_flight", "Requests in flight under limits on what is in progress.", |of| of.in_flight),
        ("limit_waiting", "Requests that wait for their turn.", |of| Some(of.waiting)),
        ("adaptive_limit", "Requests that an adaptive limit allows in flight, all keys together.", |of| {
            of.adaptive
        }),
    ];
    for (name, help, of) in families {
        let mut family = page.family(name, Kind::Gauge, help);
        for (limit, value) in by_name.iter().filter_map(|(limit, numbers)| Some((limit, of(numbers)?))) {
            family.number(&[("limit", limit)], value);
        }
    }
    let help = "Latency without load, as an adaptive limit knows it; the highest of all keys.";
    let mut family = page.family("adaptive_baseline_seconds", Kind::Gauge, help);
    for (limit, micros) in by_name.iter().filter_map(|(limit, numbers)| Some((limit, numbers.baseline?))) {
        family.seconds(&[("limit", limit)], micros.saturating_mul(1_000));
    }
}

impl Numbers {
    fn add(&mut self, one: &InProgress) {
        let sum = |all: Option<u64>, more: Option<u64>| match (all, more) {
            (Some(all), Some(more)) => Some(all.saturating_add(more)),
            (all, more) => all.or(more),
        };
        self.in_flight = sum(self.in_flight, one.in_flight);
        self.waiting = self.waiting.saturating_add(one.waiting);
        self.adaptive = sum(self.adaptive, one.adaptive_limit);
        self.baseline = self.baseline.max(one.baseline);
    }
}
