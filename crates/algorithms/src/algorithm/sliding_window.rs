//! The sliding window with two counters: an estimate in a few numbers. It errs in both directions.
//!
//! The count of the current aligned window, plus that of the previous one weighted by how much of it the sliding window
//! still overlaps, may not exceed `limit`.
//!
//! **For** ordinary API limits ("3,000 per minute") at 32 bytes per key, without the double burst of the fixed window.
//! **Not for** guarantees that no minute exceeds the limit, or that nobody is refused in a
//! quiet minute: it assumes that the hits of the previous window were evenly spaced. Hits early in that window
//! still count after they have left the true window; hits late in it are discounted too soon. The
//! [log](super::sliding_window_log) is exact; [buckets](super::sliding_window_buckets) err in one direction only.
//!
//! **State:** the window and two counts, as [`TwoCounts`]. When the limit changes, the current window keeps
//! its end, and the next one starts there.
//!
//! **Bound:** `limit` in each aligned window; `limit × (1 + s / window)` in any span s of at most one window. With
//! hits of cost 1 an adversary gets up to `2 × limit − 1` in a span of one window (if the limit is no larger than the
//! number of steps), and no more.
//!
//! Elapsed time is counted in 2^20 steps at the most, rounded down, and the weighted count is never rounded in the
//! caller's favour.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, decide, peek};
//! let limit = Limit::sliding_window(10, Micros::MINUTE)?;
//! let mut state = None;
//! decide(&limit, None, Micros::from_secs(30), 10).0.apply(&mut state);
//! // Fifteen seconds into the next minute three quarters of those ten still count: 2.5 are left.
//! assert_eq!(peek(&limit, state.as_ref(), Micros::from_secs(75), 1).remaining, 2);
//! # Ok::<(), tollgate_algorithms::LimitError>(())
//! ```

use core::num::NonZeroU64;

use super::standing::Usage;
use crate::limit::check_window;
use crate::{Algorithm, Change, Limit, LimitError, Micros, Receipt, State, TwoCounts};

/// About `limit` in any span of one window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlidingWindow {
    limit: u64,
    window: Micros,
}

impl SlidingWindow {
    pub(crate) const fn new(limit: u64, window: Micros) -> Result<Self, LimitError> {
        match check_window(Algorithm::SlidingWindow, limit, Limit::WEIGHTED_MAX, window) {
            Ok(()) => Ok(Self { limit, window }),
            Err(error) => Err(error),
        }
    }

    /// The approximate maximum in any span of one window.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The window's length.
    #[must_use]
    pub const fn window(&self) -> Micros {
        self.window
    }
}

/// Maximum number of steps per window: a count below 2^33 times the steps is below 2^53.
const STEPS_MAX: NonZeroU64 = NonZeroU64::MIN.saturating_add((1 << 20) - 1);

/// A window divided into equal steps (the last may be shorter).
struct Steps {
    /// Microseconds in a step.
    step: NonZeroU64,
    /// Steps in the window.
    steps: NonZeroU64,
}

impl Steps {
    #[inline]
    fn of(length: Micros) -> Self {
        let length = NonZeroU64::new(length.get()).unwrap_or(NonZeroU64::MIN);
        let step = length.div_ceil(STEPS_MAX);
        Self { step, steps: length.div_ceil(step) }
    }

    /// How far into a window `older` has faded enough to leave `allowed` of it; `None` if it never does in this one.
    fn faded(&self, older: u64, allowed: u64) -> Option<Micros> {
        let steps = self.steps.get();
        let steps_left = allowed.saturating_mul(steps).checked_div(older).unwrap_or(steps);
        (steps_left > 0)
            .then(|| Micros::new(steps.saturating_sub(steps_left).saturating_mul(self.step.get())))
    }
}

/// The two counts as they are at the instant `at`.
#[derive(Clone, Copy)]
pub(crate) struct SlidingUsage {
    at: Micros,
    counts: TwoCounts,
    /// The length of the windows to come.
    window: Micros,
}

#[inline]
pub(crate) fn standing(rule: &SlidingWindow, state: Option<&State>, now: Micros) -> SlidingUsage {
    let window = rule.window;
    if let Some(State::SlidingWindow(counts)) = state {
        let at = now.max(counts.start);
        let ahead = at.saturating_sub(now) > counts.end.saturating_sub(counts.start);
        if !ahead && at < counts.end {
            return SlidingUsage { at, counts: *counts, window };
        }
        let next_end = counts.end.saturating_add(window);
        if !ahead && counts.current > 0 && at < next_end {
            let rolled = TwoCounts { start: counts.end, end: next_end, previous: counts.current, current: 0 };
            return SlidingUsage { at, counts: rolled, window };
        }
    }
    let (start, end) = crate::Window::Every(window).bounds(now);
    SlidingUsage { at: now, counts: TwoCounts { start, end, previous: 0, current: 0 }, window }
}

impl Usage for SlidingUsage {
    fn at(&self) -> Micros {
        self.at
    }

    #[inline]
    fn room(&self, capacity: u64) -> u64 {
        let left = capacity.saturating_sub(self.counts.current);
        if self.counts.previous == 0 {
            return left;
        }
        let Steps { step, steps } = Steps::of(self.counts.end.saturating_sub(self.counts.start));
        let elapsed = self.at.saturating_sub(self.counts.start).get() / step;
        let weighted = self.counts.previous.saturating_mul(steps.get().saturating_sub(elapsed));
        left.saturating_sub(weighted.div_ceil(steps.get()))
    }

    fn wait(&self, capacity: u64, cost: u64) -> Micros {
        let TwoCounts { start, end, previous, current } = self.counts;
        let allowed = capacity.saturating_sub(cost);
        let this_window = Steps::of(end.saturating_sub(start));
        let next_window = Steps::of(self.window);
        let fits_in_this = allowed.checked_sub(current).and_then(|left| this_window.faded(previous, left));
        let fits_at = match (fits_in_this, next_window.faded(current, allowed)) {
            (Some(faded), _) => start.saturating_add(faded),
            (None, Some(faded)) => end.saturating_add(faded),
            (None, None) => end.saturating_add(self.window),
        };
        fits_at.saturating_sub(self.at)
    }

    #[inline]
    fn drained(&self) -> Micros {
        let TwoCounts { end, previous, current, .. } = self.counts;
        match (current, previous) {
            (0, 0) => Micros::ZERO,
            (0, _) => end.saturating_sub(self.at),
            _ => end.saturating_add(self.window).saturating_sub(self.at),
        }
    }

    fn charged(&self, cost: u64) -> Self {
        let current = self.counts.current.saturating_add(cost);
        Self { counts: TwoCounts { current, ..self.counts }, ..*self }
    }

    fn refunded(&self, receipt: &Receipt, part: u64) -> Option<Self> {
        let TwoCounts { start, end, previous, current } = self.counts;
        let counts = if start <= receipt.at && receipt.at < end {
            TwoCounts { current: current.saturating_sub(part), ..self.counts }
        } else if start.saturating_sub(self.window) <= receipt.at && receipt.at < start {
            TwoCounts { previous: previous.saturating_sub(part), ..self.counts }
        } else {
            return None;
        };
        (counts != self.counts).then_some(Self { counts, ..*self })
    }

    fn change(&self) -> Change {
        if self.counts.previous == 0 && self.counts.current == 0 {
            return Change::Forget;
        }
        Change::Replace(State::SlidingWindow(self.counts))
    }
}
