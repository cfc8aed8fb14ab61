//! The fixed window: a count per window of the clock or the calendar. Other spans of the same length may hold twice the limit.
//!
//! Windows are aligned to the clock; each grants `limit`, then refuses until the next one starts.
//!
//! **For** calendar quotas ("10,000 per month"). **Not for**
//! protecting capacity: a client that knows the clock gets twice the limit at a window boundary.
//!
//! **State:** the window and its count, as [`Count`]. When the limit changes, the current window
//! keeps its end.
//!
//! **Bound:** `limit` in each aligned window; `2 × limit` in any span of one window's length, which an adversary can reach.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, UtcOffset, Window, decide};
//! let limit = Limit::fixed_window(100, Window::Month(UtcOffset::UTC))?;
//! let mid_february_2028 = Micros::from_secs(1_834_185_600);
//! let (_, decision) = decide(&limit, None, mid_february_2028, 1);
//! assert_eq!(decision.reset_after, Micros::from_secs(15 * 86_400)); // a leap year: the 15th to the 29th
//! # Ok::<(), tollgate_algorithms::LimitError>(())
//! ```

use super::standing::Usage;
use crate::limit::check_window;
use crate::{Algorithm, Change, Count, Limit, LimitError, Micros, Receipt, State, Window};

/// At most `limit` in each aligned window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FixedWindow {
    limit: u64,
    window: Window,
    /// Microseconds by which the calendar is ahead of the clock.
    ahead: i64,
}

impl FixedWindow {
    pub(crate) const fn new(limit: u64, window: Window) -> Result<Self, LimitError> {
        let length = match window {
            Window::Every(length) => length,
            Window::Day(_) | Window::Week(_) | Window::Month(_) | Window::Year(_) => Micros::DAY,
        };
        match check_window(Algorithm::FixedWindow, limit, Limit::COUNT_MAX, length) {
            Ok(()) => Ok(Self { limit, window, ahead: 0 }),
            Err(error) => Err(error),
        }
    }

    /// The count that each window grants.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The windows.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }

    pub(crate) const fn with_calendar_ahead(self, micros: i64) -> Self {
        Self { ahead: micros, ..self }
    }

    /// The window that contains an instant of the clock, in the clock's time.
    #[inline]
    fn bounds(&self, now: Micros) -> (Micros, Micros) {
        if self.ahead == 0 {
            return self.window.bounds(now);
        }
        let (start, end) = self.window.bounds(Micros::new(now.get().saturating_add_signed(self.ahead)));
        let back = self.ahead.saturating_neg();
        let ours = |calendar: Micros| Micros::new(calendar.get().saturating_add_signed(back));
        // A calendar that is set back to before the epoch stands at it, in a window that never ends by itself.
        (ours(start).min(now), ours(end).max(now.saturating_add(Micros::new(1))))
    }
}

/// The usage of the window that contains the instant `at`.
#[derive(Clone, Copy)]
pub(crate) struct WindowUsage {
    at: Micros,
    count: Count,
    /// The windows of the limit.
    rule: FixedWindow,
}

#[inline]
pub(crate) fn standing(rule: &FixedWindow, state: Option<&State>, now: Micros) -> WindowUsage {
    let mut over = Micros::ZERO;
    if let Some(State::FixedWindow(count)) = state {
        let at = now.max(count.start);
        let length = count.end.saturating_sub(count.start);
        if at < count.end && at.saturating_sub(now) <= length {
            return WindowUsage { at, count: *count, rule: *rule };
        }
        over = count.end;
    }
    let (start, end) = rule.bounds(now);
    // A window that kept its end when the numbers changed may reach into this one: what was charged then is not in it.
    let start = if over <= now { start.max(over) } else { start };
    WindowUsage { at: now, count: Count { start, end, used: 0 }, rule: *rule }
}

impl Usage for WindowUsage {
    fn at(&self) -> Micros {
        self.at
    }

    fn room(&self, capacity: u64) -> u64 {
        capacity.saturating_sub(self.count.used)
    }

    fn wait(&self, _capacity: u64, _cost: u64) -> Micros {
        self.count.end.saturating_sub(self.at)
    }

    fn drained(&self) -> Micros {
        if self.count.used == 0 { Micros::ZERO } else { self.count.end.saturating_sub(self.at) }
    }

    fn charged(&self, cost: u64) -> Self {
        Self { count: Count { used: self.count.used.saturating_add(cost), ..self.count }, ..*self }
    }

    fn refunded(&self, receipt: &Receipt, part: u64) -> Option<Self> {
        let in_window = self.count.start <= receipt.at && receipt.at < self.count.end;
        let back = if in_window { part.min(self.count.used) } else { 0 };
        let used = self.count.used.saturating_sub(back);
        (back > 0).then_some(Self { count: Count { used, ..self.count }, ..*self })
    }

    fn change(&self) -> Change {
        // A window that began late, because the one before it kept its end, remembers that.
        if self.count.used == 0 && self.rule.bounds(self.count.start).0 == self.count.start {
            return Change::Forget;
        }
        Change::Replace(State::FixedWindow(self.count))
    }
}
