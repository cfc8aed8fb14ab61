//! A calendar's distance from UTC: fixed, or with summer time by a yearly rule. Names of time zones are resolved elsewhere.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "instants, offsets and rules are bounded: the largest sum here is far below 2^63"
)]

use core::fmt;

use crate::calendar::{first_day_of_month, month_of_day};
use crate::{LimitError, Micros};

/// How far a calendar's midnight lies before that of UTC: a fixed number of minutes, or another number in summer.
///
/// ```
/// use tollgate_algorithms::UtcOffset;
/// let india = UtcOffset::from_minutes(5 * 60 + 30)?;
/// assert_eq!((india.minutes(), india.to_string().as_str()), (330, "+05:30"));
/// assert!(UtcOffset::from_minutes(24 * 60).is_err());
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct UtcOffset {
    /// From the lowest bit: minutes from 18 hours west (12 bits), how much further ahead summer time is, in half hours from an
    /// hour behind (3), when it begins (19) and when it ends (19); the last three are 0 without summer time. Less than 2^53, so
    /// that doubles can hold it.
    code: u64,
}

/// Summer time by a yearly rule, or winter time where that is the exception.
///
/// ```
/// use tollgate_algorithms::{Micros, SummerTime, UtcOffset, Window, YearlyChange};
/// let at = |month, hour| YearlyChange { month, week: 5, weekday: 0, minute: hour * 60 };
/// let paris = UtcOffset::from_minutes(60)?
///     .with_summer_time(SummerTime { minutes: 60, begins: at(3, 2), ends: at(10, 3) })
///     .expect("a rule that is in use");
/// // On 29 March 2026 the clocks go forward, and the day has 23 hours.
/// let (start, end) = Window::Day(paris).bounds(Micros::from_secs(1_774_780_000));
/// assert_eq!(end.saturating_sub(start), Micros::from_secs(23 * 3_600));
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SummerTime {
    /// How many minutes it is ahead of the other time of the year: a multiple of 30 from -60 to 150, and not 0.
    pub minutes: i32,
    /// When it begins, by the clocks of the time before it.
    pub begins: YearlyChange,
    /// When it ends, by its own clocks.
    pub ends: YearlyChange,
}

/// When clocks change: on this weekday of this week of this month.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct YearlyChange {
    /// From 1 to 12.
    pub month: u8,
    /// From 1; 5 is the last week that has the weekday.
    pub week: u8,
    /// From 0, Sunday, to 6.
    pub weekday: u8,
    /// The minute of that day by local clocks: a multiple of 15 from a day before it (-1440) to 103 hours after its midnight.
    pub minute: i32,
}

/// No place on earth is further from UTC than 14 hours; 18 is what ISO 8601 libraries allow.
const OFFSET_MINUTES_MAX: i32 = 18 * 60;
const MINUTE: i64 = 60_000_000;
const DAY: i64 = 24 * 60 * MINUTE;
/// Where the parts of a code begin.
const AHEAD_SHIFT: u32 = 12;
const BEGINS_SHIFT: u32 = 15;
const ENDS_SHIFT: u32 = 34;
/// Quarters of an hour in a day: changes may be given a day early.
const QUARTERS_BEFORE: i32 = 96;

impl UtcOffset {
    /// UTC itself.
    pub const UTC: Self = Self { code: OFFSET_MINUTES_MAX as u64 };

    /// East of Greenwich is positive.
    ///
    /// # Errors
    /// When it is more than 18 hours either way.
    pub const fn from_minutes(minutes: i32) -> Result<Self, LimitError> {
        if minutes > OFFSET_MINUTES_MAX {
            return Err(LimitError::OffsetOutOfRange { asked: minutes, nearest: OFFSET_MINUTES_MAX });
        }
        if minutes < -OFFSET_MINUTES_MAX {
            return Err(LimitError::OffsetOutOfRange { asked: minutes, nearest: -OFFSET_MINUTES_MAX });
        }
        Ok(Self { code: (minutes + OFFSET_MINUTES_MAX).unsigned_abs() as u64 })
    }

    /// The same offset with summer time. `None` if the rule cannot be kept: see the fields of [`SummerTime`].
    #[must_use]
    pub fn with_summer_time(self, summer: SummerTime) -> Option<Self> {
        let SummerTime { minutes, begins, ends } = summer;
        let ahead = u64::try_from(minutes / 30 + 2).ok().filter(|ahead| *ahead <= 7)?;
        if minutes == 0 || minutes % 30 != 0 || begins.month == ends.month {
            return None;
        }
        let winter = self.code & 0xfff;
        let rule = (ahead << AHEAD_SHIFT) | (begins.code()? << BEGINS_SHIFT) | (ends.code()? << ENDS_SHIFT);
        Some(Self { code: winter | rule })
    }

    /// The number of minutes, east positive; outside of summer time, if there is one.
    #[must_use]
    pub const fn minutes(self) -> i32 {
        // The lowest twelve bits always fit.
        (self.code & 0xfff) as i32 - OFFSET_MINUTES_MAX
    }

    /// The rule of summer time, if there is one.
    #[must_use]
    pub fn summer_time(self) -> Option<SummerTime> {
        if self.code >> BEGINS_SHIFT == 0 {
            return None;
        }
        let ahead = i32::try_from((self.code >> AHEAD_SHIFT) & 7).ok()?;
        let begins = YearlyChange::of_code(self.code >> BEGINS_SHIFT)?;
        let ends = YearlyChange::of_code(self.code >> ENDS_SHIFT)?;
        Some(SummerTime { minutes: (ahead - 2) * 30, begins, ends })
    }

    /// All of it as one number below 2^53, for stores and scripts. Without summer time it is the minutes and 1080.
    #[must_use]
    pub const fn code(self) -> u64 {
        self.code
    }

    /// The offset with this code; `None` if none has it.
    #[must_use]
    pub fn from_code(code: u64) -> Option<Self> {
        let minutes = i32::try_from(code & 0xfff).ok()? - OFFSET_MINUTES_MAX;
        let fixed = Self::from_minutes(minutes).ok()?;
        let read = Self { code };
        let whole = match read.summer_time() {
            None => fixed,
            Some(summer) => fixed.with_summer_time(summer)?,
        };
        (whole.code == code).then_some(whole)
    }

    /// The day on which `now` falls here; day 0 is 1 January 1970.
    pub(crate) fn day_of(self, now: Micros) -> i64 {
        let utc = i64::try_from(now.get()).unwrap_or(i64::MAX);
        let day = utc.saturating_add(self.micros_at(utc)).div_euclid(DAY);
        if self.code >> BEGINS_SHIFT == 0 {
            return day;
        }
        // Clocks may show a day again that is over, or not show its first minutes.
        if self.start_of(day) > utc {
            day - 1
        } else if self.start_of(day + 1) <= utc {
            day + 1
        } else {
            day
        }
    }

    /// The instant at which a day begins here; a day that began before the epoch is said to begin at it.
    pub(crate) fn instant_of(self, day: i64) -> Micros {
        Micros::new(u64::try_from(self.start_of(day)).unwrap_or(0))
    }

    /// The same in microseconds from the epoch: the first time that clocks show midnight, or, if they do not, when they are
    /// put past it.
    fn start_of(self, day: i64) -> i64 {
        let midnight = day.saturating_mul(DAY);
        let winter = i64::from(self.minutes()) * MINUTE;
        let Some(summer) = self.summer_time() else { return midnight.saturating_sub(winter) };
        let ahead = winter + i64::from(summer.minutes) * MINUTE;
        let by_winter = midnight.saturating_sub(winter);
        let by_summer = midnight.saturating_sub(ahead);
        match (self.micros_at(by_winter) == winter, self.micros_at(by_summer) == ahead) {
            (true, true) => by_winter.min(by_summer),
            (true, false) => by_winter,
            (false, true) => by_summer,
            (false, false) => by_winter.max(by_summer),
        }
    }

    /// How far clocks are ahead of UTC at an instant, in microseconds.
    #[must_use]
    pub fn ahead_at(self, now: Micros) -> i64 {
        self.micros_at(i64::try_from(now.min(Micros::INSTANT_MAX).get()).unwrap_or(i64::MAX))
    }

    fn micros_at(self, utc: i64) -> i64 {
        let winter = i64::from(self.minutes()) * MINUTE;
        let Some(summer) = self.summer_time() else { return winter };
        let ahead = winter + i64::from(summer.minutes) * MINUTE;
        let year = month_of_day(utc.saturating_add(winter).div_euclid(DAY)).div_euclid(12);
        let (begins, ends) = (summer.begins.in_year(year) - winter, summer.ends.in_year(year) - ahead);
        let in_summer = if begins < ends { begins <= utc && utc < ends } else { utc < ends || begins <= utc };
        if in_summer { ahead } else { winter }
    }
}

impl YearlyChange {
    /// When it is in a year, in microseconds by local clocks.
    fn in_year(self, year: i64) -> i64 {
        let month = year * 12 + i64::from(self.month) - 1;
        let (first, next) = (first_day_of_month(month), first_day_of_month(month + 1));
        // Day 0 was a Thursday.
        let since = (i64::from(self.weekday) - (first + 4)).rem_euclid(7);
        let day = first + since + 7 * (i64::from(self.week) - 1);
        let day = if day >= next { day - 7 } else { day };
        day * DAY + i64::from(self.minute) * MINUTE
    }

    /// From the lowest bit: the month (4 bits), the week (3), the weekday (3), quarters of an hour from a day before (9).
    fn code(self) -> Option<u64> {
        let quarters = u64::try_from(self.minute / 15 + QUARTERS_BEFORE).ok()?;
        let good = (1..=12).contains(&self.month)
            && (1..=5).contains(&self.week)
            && self.weekday <= 6
            && self.minute % 15 == 0
            && quarters < 512;
        let date = u64::from(self.month) | (u64::from(self.week) << 4) | (u64::from(self.weekday) << 7);
        good.then_some(date | (quarters << 10))
    }

    fn of_code(code: u64) -> Option<Self> {
        let part = |shift: u32, bits: u32| u8::try_from((code >> shift) & ((1 << bits) - 1)).ok();
        let minute = (i32::try_from((code >> 10) & 0x1ff).ok()? - QUARTERS_BEFORE) * 15;
        Some(Self { month: part(0, 4)?, week: part(4, 3)?, weekday: part(7, 3)?, minute })
    }
}

impl Default for UtcOffset {
    /// UTC.
    fn default() -> Self {
        Self::UTC
    }
}

impl fmt::Debug for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("UtcOffset");
        shown.field("minutes", &self.minutes());
        if let Some(summer) = self.summer_time() {
            shown.field("summer", &summer);
        }
        shown.finish()
    }
}

impl fmt::Display for UtcOffset {
    /// As in ISO 8601: `+05:30`; with summer time also by how much and when: `+01:00, +02:00 from 3.5.0/120 to 10.5.0/180`, with
    /// month, week, weekday and minute of the day.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = |f: &mut fmt::Formatter<'_>, minutes: i32| {
            let (sign, minutes) = (if minutes < 0 { '-' } else { '+' }, minutes.unsigned_abs());
            write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        };
        offset(f, self.minutes())?;
        let Some(SummerTime { minutes, begins, ends }) = self.summer_time() else { return Ok(()) };
        f.write_str(", ")?;
        offset(f, self.minutes() + minutes)?;
        let change = |change: YearlyChange| (change.month, change.week, change.weekday, change.minute);
        let ((month, week, weekday, minute), then) = (change(begins), change(ends));
        write!(f, " from {month}.{week}.{weekday}/{minute} to {}.{}.{}/{}", then.0, then.1, then.2, then.3)
    }
}
