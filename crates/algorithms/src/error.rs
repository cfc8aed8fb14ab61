//! Errors of constructors: the number that was wrong, and the nearest valid one. Decisions have no errors.

use core::fmt;

use crate::{Algorithm, Micros, Quota};

/// Why a limit cannot be enforced exactly, with the nearest one that can.
///
/// Only constructors return this. Decisions on an existing limit cannot fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LimitError {
    /// The rate is zero, so the bucket would never refill.
    CountZero,
    /// The period is zero.
    PeriodZero,
    /// `burst × period + count`, reduced, is not below 2^52.
    QuotaTooLarge {
        /// The requested burst.
        burst: u64,
        /// The requested count.
        count: u64,
        /// The requested period.
        period: Micros,
        /// The nearest valid quota: never more generous than the requested one, unless that is slower than the slowest
        /// possible.
        nearest: Quota,
    },
    /// The window's length is zero or exceeds [`Limit::WINDOW_MAX`](crate::Limit::WINDOW_MAX).
    WindowOutOfRange {
        /// The requested length.
        asked: Micros,
        /// The nearest valid length.
        nearest: Micros,
    },
    /// The limit exceeds what its algorithm can count exactly, or (for the log) keep in memory.
    LimitTooLarge {
        /// The algorithm with this maximum.
        algorithm: Algorithm,
        /// The requested limit.
        asked: u64,
        /// The nearest valid limit.
        nearest: u64,
    },
    /// There are no buckets, more than [`Limit::BUCKETS_MAX`](crate::Limit::BUCKETS_MAX), or more than the window has
    /// microseconds.
    BucketsOutOfRange {
        /// The requested number of buckets.
        asked: u32,
        /// The nearest valid number.
        nearest: u32,
    },
    /// The UTC offset exceeds 18 hours.
    OffsetOutOfRange {
        /// The requested offset, in minutes.
        asked: i32,
        /// The nearest valid offset, in minutes.
        nearest: i32,
    },
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CountZero => f.write_str(
                "a rate of 0 never gives anything back: set the burst or limit to 0 to deny everything, \
                 or give a count of at least 1",
            ),
            Self::PeriodZero => f.write_str("a period of 0 is no rate: give a period of at least 1 us"),
            Self::QuotaTooLarge { burst, count, period, nearest } => write!(
                f,
                "a burst of {burst} at {count} per {period} cannot be counted exactly: burst x period, reduced \
                 and in microseconds, plus count must stay below 2^52; the nearest quota that fits is {nearest}"
            ),
            Self::WindowOutOfRange { asked, nearest } => {
                write!(f, "a window of {asked} is out of range: the nearest that fits is {nearest}")
            }
            Self::LimitTooLarge { algorithm, asked, nearest } => write!(
                f,
                "a limit of {asked} is too large for {}: the largest that fits is {nearest}",
                algorithm.name()
            ),
            Self::BucketsOutOfRange { asked, nearest } => {
                write!(
                    f,
                    "{asked} buckets are out of range for this window: the nearest that fits is {nearest}"
                )
            }
            Self::OffsetOutOfRange { asked, nearest } => write!(
                f,
                "a UTC offset of {asked} minutes is out of range: the nearest that fits is {nearest} minutes"
            ),
        }
    }
}

impl core::error::Error for LimitError {}
