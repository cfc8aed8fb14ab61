//! Windows aligned to the clock: of any length, or the day, week, month and year of the calendar.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "instants, lengths and offsets are bounded: the largest product here is 2^52 x 4800"
)]

use core::fmt;

use crate::{LimitError, Micros};

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

/// The offset of a calendar from UTC: a fixed number of minutes, without daylight saving time.
///
/// ```
/// use tollgate_algorithms::UtcOffset;
/// let india = UtcOffset::from_minutes(5 * 60 + 30)?;
/// assert_eq!((india.minutes(), india.to_string().as_str()), (330, "+05:30"));
/// assert!(UtcOffset::from_minutes(24 * 60).is_err());
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct UtcOffset {
    minutes: i32,
}

/// Real offsets are at most 14 hours; ISO 8601 libraries allow 18.
const OFFSET_MINUTES_MAX: i32 = 18 * 60;
const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;

impl UtcOffset {
    /// UTC itself.
    pub const UTC: Self = Self { minutes: 0 };

    /// Creates an offset; east of Greenwich is positive.
    ///
    /// # Errors
    /// If it exceeds 18 hours.
    pub const fn from_minutes(minutes: i32) -> Result<Self, LimitError> {
        if minutes > OFFSET_MINUTES_MAX {
            return Err(LimitError::OffsetOutOfRange { asked: minutes, nearest: OFFSET_MINUTES_MAX });
        }
        if minutes < -OFFSET_MINUTES_MAX {
            return Err(LimitError::OffsetOutOfRange { asked: minutes, nearest: -OFFSET_MINUTES_MAX });
        }
        Ok(Self { minutes })
    }

    /// The offset in minutes; east of Greenwich is positive.
    #[must_use]
    pub const fn minutes(self) -> i32 {
        self.minutes
    }

    /// The local day that contains `now`; day 0 is 1 January 1970.
    fn day_of(self, now: Micros) -> i64 {
        let utc = i64::try_from(now.get()).unwrap_or(i64::MAX);
        utc.saturating_add(i64::from(self.minutes) * MINUTE).div_euclid(DAY)
    }

    /// The start of a local day, not before the epoch.
    fn instant_of(self, day: i64) -> Micros {
        let utc = day.saturating_mul(DAY).saturating_sub(i64::from(self.minutes) * MINUTE);
        Micros::new(u64::try_from(utc).unwrap_or(0))
    }
}

impl<T: Into<Micros>> From<T> for Window {
    /// Windows of this length.
    fn from(length: T) -> Self {
        Self::Every(length.into())
    }
}

impl fmt::Display for UtcOffset {
    /// As in ISO 8601: `+05:30`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, minutes) = (if self.minutes < 0 { '-' } else { '+' }, self.minutes.unsigned_abs());
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
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

/// Days from 1 March of the year 0 to 1 January 1970: years that start in March end with the leap day.
const DAYS_FROM_MARCH_0_TO_1970: i64 = 719_468;
const DAYS_IN_400_YEARS: i64 = 146_097;

/// The first day of a month, counted from January of the year 0.
fn first_day_of_month(month: i64) -> i64 {
    let from_march = month.saturating_sub(2);
    let year = from_march.div_euclid(12);
    // Months from March have 31, 30, 31, 30, 31 days, again and again: 153 in each five.
    let days_before_month = (153 * from_march.rem_euclid(12) + 2) / 5;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year.saturating_mul(365)
        .saturating_add(leap_days)
        .saturating_add(days_before_month)
        .saturating_sub(DAYS_FROM_MARCH_0_TO_1970)
}

/// The month that contains a day, counted from January of the year 0.
fn month_of_day(day: i64) -> i64 {
    // A month has 30.436875 days on average, so this is off by one at the most.
    let guess = day
        .saturating_add(DAYS_FROM_MARCH_0_TO_1970)
        .saturating_mul(4_800)
        .div_euclid(DAYS_IN_400_YEARS)
        .saturating_add(2);
    if first_day_of_month(guess) > day {
        guess.saturating_sub(1)
    } else if first_day_of_month(guess.saturating_add(1)) <= day {
        guess.saturating_add(1)
    } else {
        guess
    }
}
