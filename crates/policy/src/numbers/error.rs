//! Why numbers make no limit: which field, and what to do about it. The place in the document is the reader's.

use std::fmt;

use tollgate_algorithms::adaptive::LIMIT_MAX;
use tollgate_algorithms::{LimitError, Micros};

use super::{Algorithm, rate};
use crate::quantity::spoken;

/// Why numbers make no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NumbersError {
    /// A number that the algorithm needs is not written.
    Missing {
        /// Whose number it is.
        algorithm: Algorithm,
        /// The field.
        field: &'static str,
    },
    /// A number that the algorithm does not know.
    Foreign {
        /// Who does not know it.
        algorithm: Algorithm,
        /// The field.
        field: &'static str,
    },
    /// Only a fixed window follows the calendar.
    CalendarWindow {
        /// Which one does not.
        algorithm: Algorithm,
    },
    /// A distance from UTC has a meaning only with a calendar.
    OffsetWithoutCalendar {
        /// The field that gives it.
        field: &'static str,
    },
    /// A number that cannot be kept exactly.
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Why, with the nearest that fits.
        error: LimitError,
    },
    /// `method: aimd` without a `target`.
    TargetMissing,
    /// A `target` of no time.
    TargetZero,
    /// A `target` beside a method that finds its own.
    TargetForeign {
        /// The method.
        method: &'static str,
    },
    /// `min`, `initial` and `max` are no range.
    AdaptiveRange {
        /// The field that is wrong.
        field: &'static str,
        /// The lowest limit.
        min: u32,
        /// The first limit.
        initial: u32,
        /// The highest limit.
        max: u32,
    },
}

impl NumbersError {
    /// The field that it is about.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Missing { field, .. }
            | Self::Foreign { field, .. }
            | Self::OffsetWithoutCalendar { field }
            | Self::OutOfRange { field, .. }
            | Self::AdaptiveRange { field, .. } => field,
            Self::TargetMissing => "method",
            Self::TargetZero | Self::TargetForeign { .. } => "target",
            Self::CalendarWindow { .. } => "window",
        }
    }
}

impl fmt::Display for NumbersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { algorithm, field } => write!(f, "{} needs `{field}`", algorithm.name()),
            Self::Foreign { algorithm, field } => write!(f, "{} has no `{field}`", algorithm.name()),
            Self::CalendarWindow { algorithm } => {
                write!(
                    f,
                    "{} has windows of one length: only fixed_window follows the calendar",
                    algorithm.name()
                )
            }
            Self::OffsetWithoutCalendar { field } => {
                write!(
                    f,
                    "`{field}` has a meaning only with `window: calendar day`, `week`, `month` or `year`"
                )
            }
            Self::OutOfRange { error, .. } => out_of_range(error, f),
            Self::TargetMissing => f.write_str(
                "`method: aimd` needs `target`, the latency above which the limit shrinks: write it, such as \
                 `target: 50ms`, or take `method: gradient2`, which finds the latency itself",
            ),
            Self::TargetZero => f.write_str("`target` is no time at all: write a latency such as `50ms`"),
            Self::TargetForeign { method } => write!(
                f,
                "`method: {method}` has no `target`, because it finds the latency itself: remove it, or take `method: aimd`"
            ),
            Self::AdaptiveRange { min, initial, max, .. } => adaptive_range((*min, *initial, *max), f),
        }
    }
}

/// What is wrong with the range of an adaptive limit.
fn adaptive_range((min, initial, max): (u32, u32, u32), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if min == 0 {
        f.write_str("`min: 0` would admit nothing and learn nothing: write 1 or more")
    } else if min > max {
        write!(f, "`min: {min}` is above `max: {max}`: exchange them")
    } else if max > LIMIT_MAX {
        write!(f, "`max: {max}` is too large: the largest that fits is `{LIMIT_MAX}`")
    } else {
        write!(f, "`initial: {initial}` is not between `min: {min}` and `max: {max}`")
    }
}

/// What the engine says of its quota, in the fields of the document.
pub(crate) fn out_of_range(error: &LimitError, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        LimitError::CountZero => f.write_str(
            "`refill_rate` is 0, so that nothing would ever come back: write a rate above 0, such as `0.1`; `capacity: 0` \
             refuses everything",
        ),
        LimitError::PeriodZero => {
            f.write_str("`refill_rate` has a period of 0: write a rate such as `10 per second`")
        }
        LimitError::QuotaTooLarge { burst, count, period, nearest } => {
            let asked = rate(*count, period.get());
            let fits = rate(nearest.count(), nearest.period());
            write!(
                f,
                "`capacity: {burst}` with `refill_rate: {asked}` cannot be counted exactly: the nearest that fits is \
                 `capacity: {}` with `refill_rate: {fits}`",
                nearest.burst()
            )
        }
        LimitError::WindowOutOfRange { asked, nearest } => {
            let (asked, nearest) = (length(*asked), length(*nearest));
            write!(f, "`window: {asked}` is out of range: the nearest that fits is `{nearest}`")
        }
        LimitError::LimitTooLarge { algorithm, asked, nearest } => write!(
            f,
            "`limit: {asked}` is too large for {}: the largest that fits is `{nearest}`",
            algorithm.name()
        ),
        LimitError::BucketsOutOfRange { asked, nearest } => {
            write!(f, "`buckets: {asked}` is out of range for this window: the nearest that fits is `{nearest}`")
        }
        // An offset has been read before it gets here, and other errors are not made of a document's numbers.
        LimitError::OffsetOutOfRange { .. } | _ => write!(f, "{error}"),
    }
}

/// A length that can be written: nothing at all is `0s`.
fn length(time: Micros) -> String {
    if time == Micros::ZERO { "0s".into() } else { spoken(time) }
}
