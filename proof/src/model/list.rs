//! The model of the log and of the conservative buckets: every single charge, summed up each time.

use tollgate_algorithms::Algorithm;

use super::{Look, Model};
use crate::spec::Spec;

/// One charge. Charges of one bucket share a group and count until one window after the last of them.
#[derive(Clone, Copy, Debug)]
struct Hit {
    at: u64,
    cost: u64,
    group: u64,
}

#[derive(Default, Debug)]
pub(super) struct Hits {
    hits: Vec<Hit>,
    groups: u64,
}

fn bucket(spec: &Spec, at: u64) -> u64 {
    match spec.algorithm {
        Algorithm::SlidingWindowBuckets => at / spec.window.div_ceil(u64::from(spec.buckets)),
        Algorithm::SlidingWindowLog
        | Algorithm::TokenBucket
        | Algorithm::LeakyBucket
        | Algorithm::Gcra
        | Algorithm::FixedWindow
        | Algorithm::SlidingWindow => at,
    }
}

impl Hits {
    /// The groups from the newest to the oldest: number, time of the last charge, sum.
    fn groups(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.hits.chunk_by(|a, b| a.group == b.group).rev().map(|group| {
            let sum = group.iter().map(|hit| hit.cost).sum();
            (group[0].group, group[group.len() - 1].at, sum)
        })
    }

    /// A charge and a refund forget what does not count by then.
    fn forget(&mut self, spec: &Spec, look: Look) {
        let live: Vec<_> = self.live(spec, look).map(|(group, _, _)| group).collect();
        self.hits.retain(|hit| live.contains(&hit.group));
    }

    fn live(&self, spec: &Spec, look: Look) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let (window, at) = (spec.window, look.at);
        self.groups().filter(move |&(_, last, _)| look.counts && last + window > at)
    }
}

impl Model for Hits {
    fn look(&self, spec: &Spec, now: u64) -> Look {
        match self.hits.last() {
            Some(last) if last.at > now && last.at - now > spec.window => Look { at: now, counts: false },
            Some(last) => Look { at: now.max(last.at), counts: true },
            None => Look { at: now, counts: true },
        }
    }

    fn fits(&self, spec: &Spec, look: Look, capacity: u64, cost: u64) -> bool {
        let used: u64 = self.live(spec, look).map(|(_, _, sum)| sum).sum();
        u128::from(used) + u128::from(cost) <= u128::from(capacity)
    }

    fn charge(&mut self, spec: &Spec, look: Look, cost: u64) {
        let newest = self.live(spec, look).next();
        let full = spec.algorithm == Algorithm::SlidingWindowBuckets
            && self.live(spec, look).count() as u64 > u64::from(spec.buckets);
        let group = match newest {
            Some((group, last, _)) if full || bucket(spec, last) == bucket(spec, look.at) => group,
            _ => {
                self.groups += 1;
                self.groups
            }
        };
        self.forget(spec, look);
        self.hits.push(Hit { at: look.at, cost, group });
    }

    fn refund(&mut self, spec: &Spec, look: Look, at: u64, cost: u64) {
        let same = |&(_, last, _): &(u64, u64, u64)| bucket(spec, last) == bucket(spec, at);
        let Some((group, _, sum)) = self.live(spec, look).find(same) else { return };
        self.forget(spec, look);
        if sum <= cost {
            self.hits.retain(|hit| hit.group != group);
            return;
        }
        let mut left = cost;
        for hit in self.hits.iter_mut().filter(|hit| hit.group == group) {
            let taken = hit.cost.min(left);
            hit.cost -= taken;
            left -= taken;
        }
    }

    fn clear(&mut self) {
        self.hits.clear();
    }
}
