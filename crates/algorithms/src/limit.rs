//! A quota or a window with its algorithm. Names and keys belong to other crates.

use core::fmt;

use crate::algorithm::fixed_window::FixedWindow;
use crate::algorithm::sliding_window::SlidingWindow;
use crate::algorithm::sliding_window_buckets::SlidingWindowBuckets;
use crate::algorithm::sliding_window_log::SlidingWindowLog;
use crate::{LimitError, Micros, Quota, Window};

/// A quota or a count per window, with its algorithm. The enum is closed: a new algorithm must visit every match.
///
/// A limit of 0 denies everything. No number means *unlimited*; that is a variant of its own.
///
/// ```
/// use tollgate_algorithms::{Limit, Micros, Window};
/// let limits = [
///     Limit::token_bucket(5, 1, Micros::from_secs(10))?,
///     Limit::fixed_window(1_000, Window::Every(Micros::HOUR))?,
///     Limit::sliding_window(3_000, Micros::MINUTE)?,
///     Limit::Unlimited,
/// ];
/// assert_eq!(limits[0].to_string(), "token_bucket: 6 per minute, burst 5");
/// assert_eq!(limits[1].to_string(), "fixed_window: 1000 per 3600 s");
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Limit {
    /// Grants everything and stores no state.
    Unlimited,
    /// See [`token_bucket`](crate::algorithm::token_bucket).
    TokenBucket(Quota),
    /// See [`leaky_bucket`](crate::algorithm::leaky_bucket).
    LeakyBucket(Quota),
    /// See [`gcra`](crate::algorithm::gcra).
    Gcra(Quota),
    /// See [`fixed_window`](crate::algorithm::fixed_window).
    FixedWindow(FixedWindow),
    /// See [`sliding_window`](crate::algorithm::sliding_window).
    SlidingWindow(SlidingWindow),
    /// See [`sliding_window_buckets`](crate::algorithm::sliding_window_buckets).
    SlidingWindowBuckets(SlidingWindowBuckets),
    /// See [`sliding_window_log`](crate::algorithm::sliding_window_log).
    SlidingWindowLog(SlidingWindowLog),
}

/// The names of the algorithms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// See [`token_bucket`](crate::algorithm::token_bucket).
    TokenBucket,
    /// See [`leaky_bucket`](crate::algorithm::leaky_bucket).
    LeakyBucket,
    /// See [`gcra`](crate::algorithm::gcra).
    Gcra,
    /// See [`fixed_window`](crate::algorithm::fixed_window).
    FixedWindow,
    /// See [`sliding_window`](crate::algorithm::sliding_window).
    SlidingWindow,
    /// See [`sliding_window_buckets`](crate::algorithm::sliding_window_buckets).
    SlidingWindowBuckets,
    /// See [`sliding_window_log`](crate::algorithm::sliding_window_log).
    SlidingWindowLog,
}

impl Algorithm {
    /// Every algorithm, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::TokenBucket,
        Self::LeakyBucket,
        Self::Gcra,
        Self::FixedWindow,
        Self::SlidingWindow,
        Self::SlidingWindowBuckets,
        Self::SlidingWindowLog,
    ];

    /// The name in documents and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TokenBucket => "token_bucket",
            Self::LeakyBucket => "leaky_bucket",
            Self::Gcra => "gcra",
            Self::FixedWindow => "fixed_window",
            Self::SlidingWindow => "sliding_window",
            Self::SlidingWindowBuckets => "sliding_window_buckets",
            Self::SlidingWindowLog => "sliding_window_log",
        }
    }
}

impl Limit {
    /// The longest window: 71 years, so that an instant plus two windows is below 2^53. A longer one is an error.
    pub const WINDOW_MAX: Micros = Micros::new((1 << 51) - 1);
    /// The largest limit of a fixed window or of buckets. A larger one is an error.
    pub const COUNT_MAX: u64 = (1 << 52) - 1;
    /// The largest limit of the two-counter sliding window, whose counts are weighted by up to 2^20 steps. A larger one
    /// is an error.
    pub const WEIGHTED_MAX: u64 = (1 << 32) - 1;
    /// The largest limit of the log: at most this many entries of 16 bytes, 1 MiB, per key (twice that while it is
    /// overdrawn). A larger one is an error; use `sliding_window` with `buckets`, which has bounded memory.
    pub const LOG_MAX: u64 = 1 << 16;
    /// The largest number of buckets of a sliding window. A key has at most one more entry of 16 bytes. A larger number is an
    /// error.
    pub const BUCKETS_MAX: u32 = 1_024;

    /// Tokens up to `burst`, refilled at `count` per `period`; a hit takes its cost in tokens.
    ///
    /// # Errors
    /// As [`Quota::new`].
    pub fn token_bucket(burst: u64, count: u64, period: impl Into<Micros>) -> Result<Self, LimitError> {
        Quota::new(burst, count, period.into()).map(Self::TokenBucket)
    }

    /// A level up to `burst`, drained at `count` per `period`; a hit adds its cost to the level.
    ///
    /// # Errors
    /// As [`Quota::new`].
    pub fn leaky_bucket(burst: u64, count: u64, period: impl Into<Micros>) -> Result<Self, LimitError> {
        Quota::new(burst, count, period.into()).map(Self::LeakyBucket)
    }

    /// Cells `period / count` apart, ahead of their schedule by at most a burst.
    ///
    /// # Errors
    /// As [`Quota::new`].
    pub fn gcra(burst: u64, count: u64, period: impl Into<Micros>) -> Result<Self, LimitError> {
        Quota::new(burst, count, period.into()).map(Self::Gcra)
    }

    /// At most `limit` in each aligned window, of any length or of the calendar (see [`Window`]).
    ///
    /// # Errors
    /// If the limit or the window's length is out of range.
    pub fn fixed_window(limit: u64, window: impl Into<Window>) -> Result<Self, LimitError> {
        FixedWindow::new(limit, window.into()).map(Self::FixedWindow)
    }

    /// About `limit` in any span of one window, from two counters.
    ///
    /// # Errors
    /// If the limit or the window's length is out of range.
    pub fn sliding_window(limit: u64, window: impl Into<Micros>) -> Result<Self, LimitError> {
        SlidingWindow::new(limit, window.into()).map(Self::SlidingWindow)
    }

    /// Never more than `limit` in any span of one window, from `buckets` + 1 counters.
    ///
    /// # Errors
    /// If the limit, the window's length or the number of buckets is out of range.
    pub fn sliding_window_buckets(
        limit: u64,
        window: impl Into<Micros>,
        buckets: u32,
    ) -> Result<Self, LimitError> {
        SlidingWindowBuckets::new(limit, window.into(), buckets).map(Self::SlidingWindowBuckets)
    }

    /// Exactly `limit` in any span of one window, from a list of charges.
    ///
    /// # Errors
    /// If the limit or the window's length is out of range.
    pub fn sliding_window_log(limit: u64, window: impl Into<Micros>) -> Result<Self, LimitError> {
        SlidingWindowLog::new(limit, window.into()).map(Self::SlidingWindowLog)
    }

    /// The same limit for a clock that is this many microseconds behind the calendar (ahead of it, if negative): fixed windows
    /// that start from now on follow the calendar. Other algorithms do not use the calendar.
    ///
    /// For stores whose clock does not follow corrections of the wall clock. The current window keeps its
    /// end.
    ///
    /// ```
    /// use tollgate_algorithms::{Limit, Micros, Window, decide};
    /// let limit = Limit::fixed_window(9, Window::Every(Micros::MINUTE))?;
    /// let (_, decision) = decide(&limit, None, Micros::from_secs(130), 1);
    /// assert_eq!(decision.reset_after, Micros::from_secs(50)); // the minute ends at 180
    /// let (_, decision) = decide(&limit.with_calendar_ahead(20_000_000), None, Micros::from_secs(130), 1);
    /// assert_eq!(decision.reset_after, Micros::from_secs(30)); // by the calendar it is 150
    /// # Ok::<(), tollgate_algorithms::LimitError>(())
    /// ```
    #[must_use]
    pub const fn with_calendar_ahead(self, micros: i64) -> Self {
        match self {
            Self::FixedWindow(rule) => Self::FixedWindow(rule.with_calendar_ahead(micros)),
            Self::Unlimited
            | Self::TokenBucket(_)
            | Self::LeakyBucket(_)
            | Self::Gcra(_)
            | Self::SlidingWindow(_)
            | Self::SlidingWindowBuckets(_)
            | Self::SlidingWindowLog(_) => self,
        }
    }

    /// The algorithm; `None` for an unlimited limit.
    #[must_use]
    pub const fn algorithm(&self) -> Option<Algorithm> {
        match self {
            Self::Unlimited => None,
            Self::TokenBucket(_) => Some(Algorithm::TokenBucket),
            Self::LeakyBucket(_) => Some(Algorithm::LeakyBucket),
            Self::Gcra(_) => Some(Algorithm::Gcra),
            Self::FixedWindow(_) => Some(Algorithm::FixedWindow),
            Self::SlidingWindow(_) => Some(Algorithm::SlidingWindow),
            Self::SlidingWindowBuckets(_) => Some(Algorithm::SlidingWindowBuckets),
            Self::SlidingWindowLog(_) => Some(Algorithm::SlidingWindowLog),
        }
    }

    /// The most that can be granted at one instant: the burst, or the count per window.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        match self {
            Self::Unlimited => crate::Decision::UNLIMITED,
            Self::TokenBucket(quota) | Self::LeakyBucket(quota) | Self::Gcra(quota) => quota.burst(),
            Self::FixedWindow(rule) => rule.limit(),
            Self::SlidingWindow(rule) => rule.limit(),
            Self::SlidingWindowBuckets(rule) => rule.limit(),
            Self::SlidingWindowLog(rule) => rule.limit(),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The algorithm and its numbers: `token_bucket: 6 per minute, burst 5`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.algorithm().map_or("unlimited", Algorithm::name);
        match self {
            Self::Unlimited => f.write_str(name),
            Self::TokenBucket(quota) | Self::LeakyBucket(quota) | Self::Gcra(quota) => {
                write!(f, "{name}: {quota}")
            }
            Self::FixedWindow(rule) => write!(f, "{name}: {} per {}", rule.limit(), rule.window()),
            Self::SlidingWindow(rule) => write!(f, "{name}: {} per {}", rule.limit(), rule.window()),
            Self::SlidingWindowBuckets(rule) => {
                write!(f, "{name}: {} per {}, {} buckets", rule.limit(), rule.window(), rule.buckets())
            }
            Self::SlidingWindowLog(rule) => write!(f, "{name}: {} per {}", rule.limit(), rule.window()),
        }
    }
}

/// Checks the constraints common to all windows.
pub(crate) const fn check_window(
    algorithm: Algorithm,
    limit: u64,
    limit_max: u64,
    window: Micros,
) -> Result<(), LimitError> {
    if window.get() == 0 {
        return Err(LimitError::WindowOutOfRange { asked: window, nearest: Micros::new(1) });
    }
    if window.get() > Limit::WINDOW_MAX.get() {
        return Err(LimitError::WindowOutOfRange { asked: window, nearest: Limit::WINDOW_MAX });
    }
    if limit > limit_max {
        return Err(LimitError::LimitTooLarge { algorithm, asked: limit, nearest: limit_max });
    }
    Ok(())
}
