//! Why numbers make no limit: which field, and what to do about it. The place in the document is the reader's.

use std::fmt;

use tollgate_algorithms::LimitError;

use super::Algorithm;

/// Why numbers make no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
}

impl NumbersError {
    /// The field that it is about.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Missing { field, .. }
            | Self::Foreign { field, .. }
            | Self::OffsetWithoutCalendar { field }
            | Self::OutOfRange { field, .. } => field,
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
            Self::OutOfRange { error, .. } => write!(f, "{error}"),
        }
    }
}
