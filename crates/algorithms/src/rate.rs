//! A rate without a burst yet, for limits in everyday terms: 10 per second.

use crate::{Limit, LimitError, Micros};

/// A count per period, created by [`Limit::per_second`] and similar functions. Choose the burst to get a limit.
///
/// ```
/// use core::time::Duration;
/// use tollgate_algorithms::Limit;
/// let api = Limit::per_second(10).burst(20)?;
/// assert_eq!(api, Limit::token_bucket(20, 10, Duration::from_secs(1))?);
/// assert_eq!(api.to_string(), "token_bucket: 10 per second, burst 20");
/// let reports = Limit::per(3, Duration::from_secs(10)).without_burst()?;
/// assert_eq!(reports.capacity(), 1);
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[must_use = "a rate is not a limit: choose a burst"]
pub struct Rate {
    count: u64,
    period: Micros,
}

impl Rate {
    /// A token bucket that allows `burst` at once, and this rate in the long run.
    ///
    /// # Errors
    /// If the count or the period is 0, or when the numbers are too large to be exact.
    pub fn burst(self, burst: u64) -> Result<Limit, LimitError> {
        Limit::token_bucket(burst, self.count, self.period)
    }

    /// A token bucket with a burst of 1: requests are evenly spaced.
    ///
    /// # Errors
    /// If the count or the period is 0, or when the numbers are too large to be exact.
    pub fn without_burst(self) -> Result<Limit, LimitError> {
        self.burst(1)
    }
}

impl Limit {
    /// A rate per second: `Limit::per_second(10).burst(20)?`.
    pub const fn per_second(count: u64) -> Rate {
        Rate { count, period: Micros::SECOND }
    }

    /// A rate per minute.
    pub const fn per_minute(count: u64) -> Rate {
        Rate { count, period: Micros::MINUTE }
    }

    /// A rate per hour.
    pub const fn per_hour(count: u64) -> Rate {
        Rate { count, period: Micros::HOUR }
    }

    /// A rate per 24 hours. For calendar days, see [`Window::Day`](crate::Window::Day).
    pub const fn per_day(count: u64) -> Rate {
        Rate { count, period: Micros::DAY }
    }

    /// A rate per period of any length.
    pub fn per(count: u64, period: impl Into<Micros>) -> Rate {
        Rate { count, period: period.into() }
    }
}
