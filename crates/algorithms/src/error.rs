//! Errors of constructors: the number that was wrong, and the nearest valid one. Decisions have no errors.

use core::fmt;

use crate::{Algorithm, Micros, Quota};

/// A limit that was asked for and cannot be kept exactly, with the nearest one that can.
///
/// Only constructors return it. Once a limit exists, no decision on it can fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LimitError {
    /// A rate of zero never gives anything back.
    CountZero,
    /// A period of zero is no rate.
    PeriodZero,
    /// `burst × period + count`, reduced, is not below 2^52.
    QuotaTooLarge {
        /// The burst that was asked for.
        burst: u64,
        /// The count that was asked for.
        count: u64,
        /// The period that was asked for.
        period: Micros,
        /// The nearest quota that fits: never more generous than the one asked for, unless that is slower than the slowest
        /// there is.
        nearest: Quota,
    },
    /// A window of no length, or one longer than [`Limit::WINDOW_MAX`](crate::Limit::WINDOW_MAX).
    WindowOutOfRange {
        /// The length that was asked for.
        asked: Micros,
        /// The nearest length that fits.
        nearest: Micros,
    },
    /// A limit larger than its algorithm can count exactly, or (for the log) keep in memory.
    LimitTooLarge {
        /// Whose maximum it is.
        algorithm: Algorithm,
        /// The limit that was asked for.
        asked: u64,
        /// The nearest limit that fits.
        nearest: u64,
    },
    /// No buckets, more than [`Limit::BUCKETS_MAX`](crate::Limit::BUCKETS_MAX), or more than the window has
    /// microseconds.
    BucketsOutOfRange {
        /// The number of buckets that was asked for.
        asked: u32,
        /// The nearest number that fits.
        nearest: u32,
    },
    /// A UTC offset of more than 18 hours either way.
    OffsetOutOfRange {
        /// The offset that was asked for, in minutes.
        asked: i32,
        /// The nearest offset that fits, in minutes.
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
