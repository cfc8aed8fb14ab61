//! Windows aligned to the clock: of any length, or the day, week, month and year of the calendar.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "instants, lengths and offsets are bounded: the largest product here is 2^52 x 4800"
)]

use core::fmt;

use crate::calendar::{first_day_of_month, month_of_day};
use crate::{Micros, UtcOffset};

/// The windows over which a [`fixed_window`](crate::algorithm::fixed_window) counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Window {
    /// Windows of one length, starting at the Unix epoch.
    Every(Micros),
    /// Days, from midnight to midnight.
    Day(UtcOffset),
    /// Weeks, from Monday's midnight.
    Week(UtcOffset),
    /// Months, from midnight of the first.
    Month(UtcOffset),
    /// From 1 January to 1 January.
    Year(UtcOffset),
}

impl<T: Into<Micros>> From<T> for Window {
    /// Windows of this length.
    fn from(length: T) -> Self {
        Self::Every(length.into())
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(length) => length.fmt(f),
            Self::Day(offset) => write!(f, "calendar day ({offset})"),
            Self::Week(offset) => write!(f, "calendar week ({offset})"),
            Self::Month(offset) => write!(f, "calendar month ({offset})"),
            Self::Year(offset) => write!(f, "calendar year ({offset})"),
        }
    }
}

impl Window {
    /// The start of the window that contains `now`, and the start of the next one.
    ///
    /// A window never starts before the epoch. An instant above [`Micros::INSTANT_MAX`] is clamped to it. A window of length
    /// zero, which no limit has, counts as one of a microsecond.
    #[must_use]
    pub fn bounds(&self, now: Micros) -> (Micros, Micros) {
        let now = now.min(Micros::INSTANT_MAX);
        let (offset, first, next) = match self {
            Self::Every(length) => {
                let length = length.get().max(1);
                let start = now.get() - now.get() % length;
                return (Micros::new(start), Micros::new(start.saturating_add(length)));
            }
            Self::Day(offset) => {
                let day = offset.day_of(now);
                (offset, day, day.saturating_add(1))
            }
            Self::Week(offset) => {
                let day = offset.day_of(now);
                // Day 0 was a Thursday.
                let monday = day.saturating_sub(day.saturating_add(3).rem_euclid(7));
                (offset, monday, monday.saturating_add(7))
            }
            Self::Month(offset) => {
                let month = month_of_day(offset.day_of(now));
                (offset, first_day_of_month(month), first_day_of_month(month.saturating_add(1)))
            }
            Self::Year(offset) => {
                let month = month_of_day(offset.day_of(now));
                let january = month.saturating_sub(month.rem_euclid(12));
                (offset, first_day_of_month(january), first_day_of_month(january.saturating_add(12)))
            }
        };
        (offset.instant_of(first), offset.instant_of(next))
    }
}
