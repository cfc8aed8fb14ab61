//! The model of the buckets and of GCRA: the inequality of law 1 itself. It keeps no level, no tokens, no arrival time.
//!
//! A cost fits at t if for every earlier charge i, all that was charged from i on, plus the cost, is at most
//! `burst + rate × (t − time of i)`. Multiplied by the period, everything is an integer.

use super::{Look, Model};
use crate::spec::Spec;

/// One charge (or, negative, one refund), in cells × period.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: u64,
    units: i128,
}

#[derive(Default, Debug)]
pub(super) struct Debts {
    events: Vec<Event>,
    /// The numbers under which the events were charged.
    written: Option<Spec>,
}

/// What is owed at an instant, by the same inequality: the largest excess over all suffixes of the list.
fn owed(events: &[Event], count: u64, at: u64) -> i128 {
    let (mut sum, mut most) = (0, 0);
    for event in events.iter().rev() {
        sum += event.units;
        most = most.max(sum - i128::from(count) * i128::from(at - event.at));
    }
    most
}

impl Debts {
    fn last(&self) -> Option<u64> {
        self.events.last().map(|event| event.at)
    }

    /// Under other numbers, what was owed at the time of the last event, in the new unit, rounded up: of an ordinary
    /// debt no more than a full burst, of an overdraft all.
    fn converted(&self, spec: &Spec) -> Option<Event> {
        let (written, at) = (self.written?, self.last()?);
        let owed = owed(&self.events, written.count, at);
        let debt = owed.min(i128::from(written.limit) * i128::from(written.window));
        let period = i128::from(written.window);
        let convert = |units: i128| (units * i128::from(spec.window) + period - 1) / period;
        let full = i128::from(spec.limit) * i128::from(spec.window);
        let overdraft = convert(owed - debt).min((1 << 52) - 1);
        Some(Event { at, units: convert(debt).min(full) + overdraft })
    }

    /// Brings the list to these numbers.
    fn write(&mut self, spec: &Spec, look: Look) {
        if !look.counts {
            self.events.clear();
        } else if self.written != Some(*spec) {
            let converted = self.converted(spec);
            self.events.clear();
            self.events.extend(converted);
        }
        self.written = Some(*spec);
    }

    fn with_events<T>(&self, spec: &Spec, look: Look, ask: impl FnOnce(&[Event]) -> T) -> T {
        if !look.counts {
            ask(&[])
        } else if self.written == Some(*spec) {
            ask(&self.events)
        } else {
            ask(self.converted(spec).as_slice())
        }
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
        self.with_events(spec, look, |events| {
            let mut sum = 0;
            events.iter().rev().all(|event| {
                sum += event.units;
                sum <= allowed + i128::from(spec.count) * i128::from(look.at - event.at)
            })
        })
    }

    fn charge(&mut self, spec: &Spec, look: Look, cost: u64) {
        self.write(spec, look);
        self.events.push(Event { at: look.at, units: i128::from(cost) * i128::from(spec.window) });
    }

    fn refund(&mut self, spec: &Spec, look: Look, at: u64, cost: u64) {
        if at > look.at {
            return;
        }
        let charged = i128::from(cost) * i128::from(spec.window);
        let undrained = charged - i128::from(spec.count) * i128::from(look.at - at);
        let owed = self.with_events(spec, look, |events| owed(events, spec.count, look.at));
        let back = undrained.min(owed);
        if back <= 0 {
            return;
        }
        self.write(spec, look);
        self.events.push(Event { at: look.at, units: -back });
        if back == owed {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.events.clear();
    }
}
