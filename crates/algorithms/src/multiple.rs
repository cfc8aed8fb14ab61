//! A multiple of a limit, for those who share a wider quota: an address for all of its keys, a network for all of its addresses.

use crate::{Limit, LimitError, Micros, Quota};

/// The number of parts of the window of a multiple whose limit is a log.
const BUCKETS: u32 = 16;

impl Limit {
    /// So many times this limit: the same algorithm and time, with larger numbers.
    ///
    /// ```
    /// use tollgate_algorithms::{Limit, Micros};
    /// let limit = Limit::token_bucket(5, 1, Micros::SECOND)?;
    /// assert_eq!(limit.times(3)?, Limit::token_bucket(15, 3, Micros::SECOND)?);
    /// # Ok::<(), tollgate_algorithms::LimitError>(())
    /// ```
    ///
    /// # Errors
    /// When a number becomes too large for the algorithm.
    pub fn times(&self, multiple: u64) -> Result<Self, LimitError> {
        if multiple == 1 {
            return Ok(*self);
        }
        let times = |number: u64| number.saturating_mul(multiple);
        Ok(match self {
            Self::Unlimited => Self::Unlimited,
            Self::TokenBucket(quota) => Self::TokenBucket(quota.times(multiple)?),
            Self::LeakyBucket(quota) => Self::LeakyBucket(quota.times(multiple)?),
            Self::Gcra(quota) => Self::Gcra(quota.times(multiple)?),
            Self::FixedWindow(rule) => Self::fixed_window(times(rule.limit()), rule.window())?,
            Self::SlidingWindow(rule) => Self::sliding_window(times(rule.limit()), rule.window())?,
            Self::SlidingWindowBuckets(rule) => {
                Self::sliding_window_buckets(times(rule.limit()), rule.window(), rule.buckets())?
            }
            Self::SlidingWindowLog(rule) => Self::sliding_window_log(times(rule.limit()), rule.window())?,
        })
    }

    /// As [`times`](Self::times), for a multiple that nobody wrote: it never fails. A log of so many entries would often be too
    /// long, so the multiple of a log is counted in buckets. Where a number is too large to be kept, the multiple is halved
    /// until it fits.
    #[must_use]
    pub fn times_at_most(&self, multiple: u64) -> Self {
        let halves = core::iter::successors(Some(multiple), |multiple| Some(multiple / 2));
        let mut halves = halves.take_while(|multiple| *multiple > 1).filter_map(|multiple| match self {
            Self::SlidingWindowLog(rule) => {
                let limit = rule.limit().saturating_mul(multiple);
                Self::sliding_window_buckets(limit, rule.window(), BUCKETS).ok()
            }
            Self::Unlimited
            | Self::TokenBucket(_)
            | Self::LeakyBucket(_)
            | Self::Gcra(_)
            | Self::FixedWindow(_)
            | Self::SlidingWindow(_)
            | Self::SlidingWindowBuckets(_) => self.times(multiple).ok(),
        });
        halves.next().unwrap_or(*self)
    }
}

impl Quota {
    /// So many times this quota: a larger burst, and a larger count in the same period.
    ///
    /// # Errors
    /// When the numbers become too large to be exact.
    pub fn times(&self, multiple: u64) -> Result<Self, LimitError> {
        let times = |number: u64| number.saturating_mul(multiple);
        Self::new(times(self.burst()), times(self.count()), Micros::new(self.period()))
    }
}
