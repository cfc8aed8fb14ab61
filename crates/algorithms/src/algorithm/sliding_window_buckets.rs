//! The sliding window with n buckets: never exceeds the limit, in bounded memory. It may refuse slightly too long.
//!
//! The window is divided into `buckets`. The charges in one bucket are stored as a sum, which counts until one window
//! after the last of them. In policies this is `sliding_window` with `buckets: n`.
//!
//! **For** limits that must hold in every span (an agreement with a partner, the capacity of a database) and are too large
//! for the [log](super::sliding_window_log). **Not for** exactness to the last hit: after a burst, a client waits up to
//! `window / buckets` longer than necessary.
//!
//! **State:** at most `buckets + 1` sums with their times, as [`List`](super::list::List).
//!
//! **When its numbers change**, the new window applies to existing entries. If there are more entries than the new numbers
//! allow, none is dropped: new charges merge and count longer, never shorter, until the old ones have expired.
//!
//! **Bound:** `limit` in every span of one window. The effective window is between `window` and
//! `window × (1 + 1 / buckets)`.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, decide, peek};
//! let limit = Limit::sliding_window_buckets(10, Micros::MINUTE, 6)?; // buckets of ten seconds
//! let mut state = None;
//! for second in [0, 9] {
//!     decide(&limit, state.as_ref(), Micros::from_secs(second), 5).0.apply(&mut state);
//! }
//! let left = |second| peek(&limit, state.as_ref(), Micros::from_secs(second), 1).remaining;
//! assert_eq!((left(60), left(68), left(69)), (0, 0, 10)); // both leave when the second does
//! # Ok::<(), tollgate_algorithms::LimitError>(())
//! ```

use super::list::{Edit, ListLimit, ListUsage};
use crate::limit::check_window;
use crate::{Algorithm, Change, Limit, LimitError, Micros, State};

/// Never more than `limit` in any span of one window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlidingWindowBuckets {
    limit: u64,
    window: Micros,
    buckets: u32,
}

impl SlidingWindowBuckets {
    pub(crate) const fn new(limit: u64, window: Micros, buckets: u32) -> Result<Self, LimitError> {
        if let Err(error) = check_window(Algorithm::SlidingWindowBuckets, limit, Limit::COUNT_MAX, window) {
            return Err(error);
        }
        if buckets == 0 {
            return Err(LimitError::BucketsOutOfRange { asked: buckets, nearest: 1 });
        }
        #[expect(clippy::cast_possible_truncation, reason = "cast only where it is below BUCKETS_MAX")]
        let most =
            if window.get() < Limit::BUCKETS_MAX as u64 { window.get() as u32 } else { Limit::BUCKETS_MAX };
        if buckets > most {
            return Err(LimitError::BucketsOutOfRange { asked: buckets, nearest: most });
        }
        Ok(Self { limit, window, buckets })
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

    /// The number of buckets per window.
    #[must_use]
    pub const fn buckets(&self) -> u32 {
        self.buckets
    }
}

#[inline]
pub(crate) fn standing<'a>(
    rule: &SlidingWindowBuckets,
    state: Option<&'a State>,
    now: Micros,
) -> ListUsage<'a, impl Fn(Edit) -> Change + Copy> {
    let list = if let Some(State::SlidingWindowBuckets(list)) = state { Some(list) } else { None };
    let spans = ListLimit {
        window: rule.window,
        bucket: rule.window.get().div_ceil(u64::from(rule.buckets.max(1))),
        // Reached only after a change of numbers, while more of them are in use than these would make.
        entries_max: usize::try_from(rule.buckets).unwrap_or(usize::MAX).saturating_add(1),
        kind: Change::EditBuckets,
    };
    ListUsage::new(spans, list, now)
}
