//! The model of the buckets and of GCRA: the inequality of law 1 itself. It keeps no level, no tokens, no arrival time.
//!
//! A cost fits at t if for every earlier charge i, all that was charged from i on, plus the cost, is at most
//! `burst + rate × (t − time of i)`. Multiplied by the period, everything is an integer.

use super::{Look, Model};
use crate::spec::Spec;

/// One charge (or, negative, one refund), in cells × period, and the numbers it was made under.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: u64,
    units: i128,
    spec: Spec,
    /// How often the numbers had changed by then.
    changes: u32,
}

#[derive(Default, Debug)]
pub(super) struct Debts {
    events: Vec<Event>,
}

/// The events of the numbers in force, after what was owed under earlier numbers.
struct View<'a> {
    earlier: Option<(u64, i128)>,
    events: &'a [Event],
}

impl View<'_> {
    /// What is owed at an instant: the largest excess over all suffixes of the list.
    fn owed(&self, count: u64, at: u64) -> i128 {
        let (mut sum, mut most) = (0, 0);
        for (then, units) in self.newest_first() {
            sum += units;
            most = most.max(sum - i128::from(count) * i128::from(at - then));
        }
        most
    }

    fn newest_first(&self) -> impl Iterator<Item = (u64, i128)> {
        self.events.iter().rev().map(|event| (event.at, event.units)).chain(self.earlier)
    }
}

/// What was owed under some numbers, in the unit of others, rounded up.
fn converted(owed: i128, from: &Spec, to: &Spec) -> i128 {
    let period = i128::from(from.window);
    (owed * i128::from(to.window) + period - 1) / period
}

impl Debts {
    fn last(&self) -> Option<u64> {
        self.events.last().map(|event| event.at)
    }

    fn push(&mut self, spec: &Spec, look: Look, units: i128) {
        let changes = self.events.last().map_or(0, |last| last.changes + u32::from(last.spec != *spec));
        self.events.push(Event { at: look.at, units, spec: *spec, changes });
    }

    /// Goes through the list from its beginning, one stretch of unchanged numbers after the other.
    fn view(&self, spec: &Spec, look: Look) -> View<'_> {
        if let (Some(first), Some(last)) = (self.events.first(), self.events.last())
            && (look.counts && first.changes == last.changes && last.spec == *spec)
        {
            return View { earlier: None, events: &self.events };
        }
        let mut view = View { earlier: None, events: &[] };
        let mut rest = if look.counts { &self.events[..] } else { &[] };
        while let Some(first) = rest.first() {
            let stretch = rest.iter().take_while(|event| event.changes == first.changes).count();
            view.events = &rest[..stretch];
            rest = &rest[stretch..];
            let next = rest.first().map_or(spec, |event| &event.spec);
            if rest.is_empty() && first.spec == *spec {
                return view;
            }
            let at = view.events[stretch - 1].at;
            let owed = view.owed(first.spec.count, at);
            view = View { earlier: Some((at, converted(owed, &first.spec, next))), events: &[] };
        }
        view
    }
}

impl Model for Debts {
    fn look(&self, spec: &Spec, now: u64) -> Look {
        match self.last() {
            Some(last) if last > now && last - now > spec.horizon() => Look { at: now, counts: false },
            Some(last) => Look { at: now.max(last), counts: true },
            None => Look { at: now, counts: true },
        }
    }

    fn fits(&self, spec: &Spec, look: Look, capacity: u64, cost: u64) -> bool {
        if cost > capacity {
            return false;
        }
        let allowed = i128::from(capacity - cost) * i128::from(spec.window);
        let mut sum = 0;
        self.view(spec, look).newest_first().all(|(then, units)| {
            sum += units;
            sum <= allowed + i128::from(spec.count) * i128::from(look.at - then)
        })
    }

    fn charge(&mut self, spec: &Spec, look: Look, cost: u64) {
        if !look.counts {
            self.events.clear();
        }
        let units = i128::from(cost) * i128::from(spec.window);
        self.push(spec, look, units);
    }

    fn refund(&mut self, spec: &Spec, look: Look, at: u64, cost: u64) {
        if at > look.at {
            return;
        }
        // If the last charge was under another period, more may have come back by that than by the receipt's, and been spent.
        if self.events.last().is_some_and(|last| last.spec.window != spec.window) {
            return;
        }
        let charged = i128::from(cost) * i128::from(spec.window);
        let undrained = charged - i128::from(spec.count) * i128::from(look.at - at);
        let owed = self.view(spec, look).owed(spec.count, look.at);
        let back = undrained.min(owed);
        if back <= 0 {
            return;
        }
        self.push(spec, look, -back);
        if back == owed {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.events.clear();
    }
}
