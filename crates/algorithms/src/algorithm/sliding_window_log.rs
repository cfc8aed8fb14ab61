//! The sliding window log: exact, because it stores every charge. Its memory grows with the limit.
//!
//! It stores every charge with its time until the charge is one window old; a hit is granted if it fits on top of those.
//! Charges in one microsecond share an entry, without loss.
//!
//! **For** limits that must be exact in both directions: logins, payments, messages sent in somebody's name. **Not
//! for** limits of many thousands: it takes 16 bytes per charge in the window. A limit above
//! [`Limit::LOG_MAX`] is an error; use [buckets](super::sliding_window_buckets) for those.
//!
//! **State:** the charges of the last window, as [`List`](super::list::List): at most `limit` of them, twice that while
//! the key is overdrawn.
//!
//! **Bound:** `limit` in every span (t − window, t], even if a hundred hits arrive in one microsecond; a hit is
//! refused only if it would exceed that. A charge exactly one window old no longer counts.
//!
//! A hit of cost 1 takes amortised constant time, whatever the limit: its retry depends on the oldest entry, and each expired
//! entry is dropped once, by a charge. A larger cost, or a key that is overdrawn or whose limit was lowered, may need
//! a bisection. A refund changes all entries after its own.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, Retry, decide, peek};
//! let limit = Limit::sliding_window_log(3, Micros::MINUTE)?;
//! let mut state = None;
//! for second in [0, 20, 40] {
//!     decide(&limit, state.as_ref(), Micros::from_secs(second), 1).0.apply(&mut state);
//! }
//! let next = peek(&limit, state.as_ref(), Micros::from_secs(45), 1).retry();
//! assert_eq!(next, Some(Retry::After(Micros::from_secs(15)))); // when the first is a minute old
//! # Ok::<(), tollgate_algorithms::LimitError>(())
//! ```

use super::list::{Edit, ListLimit, ListUsage};
use crate::limit::check_window;
use crate::{Algorithm, Change, Limit, LimitError, Micros, State};

/// Exactly `limit` in any span of one window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlidingWindowLog {
    limit: u64,
    window: Micros,
}

impl SlidingWindowLog {
    pub(crate) const fn new(limit: u64, window: Micros) -> Result<Self, LimitError> {
        match check_window(Algorithm::SlidingWindowLog, limit, Limit::LOG_MAX, window) {
            Ok(()) => Ok(Self { limit, window }),
            Err(error) => Err(error),
        }
    }

    /// The maximum in any span of one window.
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

#[inline]
pub(crate) fn standing<'a>(
    rule: &SlidingWindowLog,
    state: Option<&'a State>,
    now: Micros,
) -> ListUsage<'a, impl Fn(Edit) -> Change + Copy> {
    let list = if let Some(State::SlidingWindowLog(list)) = state { Some(list) } else { None };
    let spans = ListLimit {
        window: rule.window,
        bucket: 1,
        // Never reached: each entry holds at least 1 of at most twice the limit.
        entries_max: usize::MAX,
        kind: Change::EditLog,
    };
    ListUsage::new(spans, list, now)
}
