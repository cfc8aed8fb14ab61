//! The model of the fixed window and of the two-count sliding window: sums over the list, window by window.

use super::{Look, Model};
use crate::spec::Spec;

type Window = (u64, u64);

/// Something charged (or, negative, given back).
#[derive(Clone, Copy, Debug)]
struct Event {
    /// The window in progress when it happened.
    window: Window,
    /// The window whose count it changes.
    counted: Window,
    amount: i128,
}

#[derive(Debug)]
pub(super) struct Counts {
    events: Vec<Event>,
    /// Whether the window before still counts.
    sliding: bool,
}

/// How the two windows stand at an instant.
struct Two {
    window: Window,
    current: i128,
    previous: i128,
    previous_window: Window,
}

impl Counts {
    pub(super) const fn fixed() -> Self {
        Self { events: Vec::new(), sliding: false }
    }

    pub(super) const fn sliding() -> Self {
        Self { events: Vec::new(), sliding: true }
    }

    fn sum(&self, window: Window) -> i128 {
        self.events.iter().filter(|event| event.counted == window).map(|event| event.amount).sum()
    }

    /// A window in which nothing has happened yet. It begins no earlier than the last one ended.
    fn fresh(&self, spec: &Spec, at: u64) -> Two {
        let (mut start, end) = spec.window_of(at);
        if let Some(over) =
            self.events.last().map(|last| last.window.1).filter(|over| *over <= at && !self.sliding)
        {
            start = start.max(over);
        }
        Two { window: (start, end), current: 0, previous: 0, previous_window: (0, 0) }
    }

    fn two(&self, spec: &Spec, look: Look) -> Two {
        let Some(last) = self.events.last().filter(|_| look.counts) else {
            return self.fresh(spec, look.at);
        };
        let (start, end) = last.window;
        if look.at < end {
            let before = self.events.iter().find(|event| event.counted.1 == start).map(|event| event.counted);
            let previous = before.map_or(0, |before| self.sum(before));
            return Two {
                window: (start, end),
                current: self.sum((start, end)),
                previous,
                previous_window: before.unwrap_or((0, 0)),
            };
        }
        let previous = self.sum((start, end));
        if self.sliding && previous > 0 && look.at < end + spec.window {
            return Two {
                window: (end, end + spec.window),
                current: 0,
                previous,
                previous_window: (start, end),
            };
        }
        self.fresh(spec, look.at)
    }
}

impl Model for Counts {
    fn look(&self, spec: &Spec, now: u64) -> Look {
        let Some(last) = self.events.last() else { return Look { at: now, counts: true } };
        let (start, end) = last.window;
        let at = now.max(start);
        let lasts = self.sliding && self.sum((start, end)) > 0;
        let over = if lasts { at >= end + spec.window } else { at >= end };
        if at - now > end - start || over {
            return Look { at: now, counts: false };
        }
        Look { at, counts: true }
    }

    fn fits(&self, spec: &Spec, look: Look, capacity: u64, cost: u64) -> bool {
        let two = self.two(spec, look);
        let (start, end) = two.window;
        let used = two.current + i128::from(cost);
        if !self.sliding || two.previous == 0 {
            return used <= i128::from(capacity);
        }
        // Elapsed time in at most 2^20 steps, rounded down; everything multiplied by the number of steps.
        let step = (end - start).div_ceil(1 << 20);
        let steps = i128::from((end - start).div_ceil(step));
        let elapsed = i128::from((look.at - start) / step);
        two.previous * (steps - elapsed) + used * steps <= i128::from(capacity) * steps
    }

    fn charge(&mut self, spec: &Spec, look: Look, cost: u64) {
        let window = self.two(spec, look).window;
        if !look.counts {
            self.events.clear();
        }
        self.events.push(Event { window, counted: window, amount: i128::from(cost) });
    }

    fn refund(&mut self, spec: &Spec, look: Look, at: u64, cost: u64) {
        let two = self.two(spec, look);
        let in_window = |window: Window| window.0 <= at && at < window.1;
        let (counted, amount) = if in_window(two.window) {
            (two.window, two.current.min(i128::from(cost)))
        } else if self.sliding && in_window(two.previous_window) && at + spec.window >= two.window.0 {
            // A window that was longer, before the numbers changed, is given back from only as far as the new reach.
            (two.previous_window, two.previous.min(i128::from(cost)))
        } else {
            return;
        };
        if amount == 0 {
            return;
        }
        self.events.push(Event { window: two.window, counted, amount: -amount });
        let previous = if self.sliding { two.previous } else { 0 };
        // A window that began late, because the one before it kept its end, is not forgotten.
        let whole = self.sliding || spec.window_of(two.window.0).0 == two.window.0;
        if two.current + previous == amount && whole {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.events.clear();
    }
}
