//! Parses and formats limits as text: `10 per second, burst 20`. For configuration and messages.

use core::fmt;
use core::str::FromStr;

use crate::{Limit, LimitError, Micros, Quota, SummerTime, UtcOffset, Window, YearlyChange};

/// The units for formatting rates, shortest first.
const UNITS: [(&str, Micros); 4] =
    [("second", Micros::SECOND), ("minute", Micros::MINUTE), ("hour", Micros::HOUR), ("day", Micros::DAY)];

/// Why a text is not a limit.
///
/// ```
/// use tollgate_algorithms::Limit;
/// let error = "ten per second".parse::<Limit>().unwrap_err();
/// assert_eq!(error.to_string(), "expected a whole number at byte 0, as in `10 per second, burst 20`");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ParseLimitError {
    /// The syntax is wrong.
    Syntax {
        /// What was expected instead.
        expected: &'static str,
        /// The byte offset.
        at: usize,
    },
    /// The syntax is right, but the numbers are out of range.
    Limit(LimitError),
}

impl fmt::Display for ParseLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { expected, at } => {
                write!(f, "expected {expected} at byte {at}, as in `10 per second, burst 20`")
            }
            Self::Limit(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParseLimitError {}

impl From<LimitError> for ParseLimitError {
    fn from(error: LimitError) -> Self {
        Self::Limit(error)
    }
}

/// `10 per second, burst 20`: the rate in the shortest of second, minute, hour and day in which it is a whole number.
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_unit = |(name, unit): (&'static str, Micros)| {
            let count = u128::from(self.count()).checked_mul(u128::from(unit.get()))?;
            let whole = count.checked_rem(u128::from(self.period()))? == 0;
            whole.then_some((name, count.checked_div(u128::from(self.period()))?))
        };
        match UNITS.into_iter().find_map(in_unit) {
            Some((name, count)) => write!(f, "{count} per {name}")?,
            None => write!(f, "{} per {}", self.count(), Micros::new(self.period()))?,
        }
        write!(f, ", burst {}", self.burst())
    }
}

/// Parses the output of [`Display`](fmt::Display) and shorter forms: the algorithm defaults to `token_bucket`, and
/// the burst to the count. A period is `second`, `minute`, `hour`, `day`, or a number and a unit (`10 s`, `500 ms`,
/// `7 us`, `5 minutes`); of a fixed window also `calendar day`, `week`, `month` or `year`, with an offset from UTC
/// in brackets if it is not zero: `calendar day (+05:30)`.
///
/// ```
/// use tollgate_algorithms::Limit;
/// let limit: Limit = "10 per second, burst 20".parse()?;
/// assert_eq!(limit, Limit::per_second(10).burst(20)?);
/// let window: Limit = "sliding_window_log: 100 per 5 minutes".parse()?;
/// assert_eq!(window.to_string().parse::<Limit>()?, window);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl FromStr for Limit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        let mut reader = Reader { text, rest: text };
        let limit = reader.limit()?;
        reader.end()?;
        Ok(limit)
    }
}

/// A cursor over the text.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn limit(&mut self) -> Result<Limit, ParseLimitError> {
        self.skip_spaces();
        if self.rest.trim_end() == "unlimited" {
            self.rest = "";
            return Ok(Limit::Unlimited);
        }
        let algorithm = match self.rest.split_once(':') {
            Some((name, rest)) => {
                let name = (name.trim_end(), self.rest);
                self.rest = rest;
                Some(name)
            }
            None => None,
        };
        let (name, start) = algorithm.unwrap_or(("token_bucket", self.text));
        let count = self.count()?;
        if name == "fixed_window" && self.word("calendar") {
            return Ok(Limit::fixed_window(count, self.calendar()?)?);
        }
        let period = self.period()?;
        let quota = |reader: &mut Self| {
            let burst = if reader.is_comma()? { reader.named_number("burst")? } else { count };
            Ok::<_, ParseLimitError>(Quota::new(burst, count, period)?)
        };
        Ok(match name {
            "token_bucket" => Limit::TokenBucket(quota(self)?),
            "leaky_bucket" => Limit::LeakyBucket(quota(self)?),
            "gcra" => Limit::Gcra(quota(self)?),
            "fixed_window" => Limit::fixed_window(count, Window::Every(period))?,
            "sliding_window" => Limit::sliding_window(count, period)?,
            "sliding_window_log" => Limit::sliding_window_log(count, period)?,
            "sliding_window_buckets" => {
                let buckets = if self.is_comma()? { self.number()? } else { 10 };
                self.word("buckets");
                Limit::sliding_window_buckets(count, period, u32::try_from(buckets).unwrap_or(u32::MAX))?
            }
            _ => {
                self.rest = start;
                return Err(self.expected("an algorithm before the colon"));
            }
        })
    }

    /// `10 per`.
    fn count(&mut self) -> Result<u64, ParseLimitError> {
        let count = self.number()?;
        if self.word("per") { Ok(count) } else { Err(self.expected("`per`")) }
    }

    /// `second`, `10 s`.
    fn period(&mut self) -> Result<Micros, ParseLimitError> {
        self.skip_spaces();
        let times = if self.rest.starts_with(|c: char| c.is_ascii_digit()) { self.number()? } else { 1 };
        let unit = self.unit()?;
        let Some(period) = unit.get().checked_mul(times) else {
            return Err(self.expected("a shorter period"));
        };
        Ok(Micros::new(period))
    }

    /// `day`, `month (+05:30)`.
    fn calendar(&mut self) -> Result<Window, ParseLimitError> {
        let window = if self.word("day") {
            Window::Day
        } else if self.word("week") {
            Window::Week
        } else if self.word("month") {
            Window::Month
        } else if self.word("year") {
            Window::Year
        } else {
            return Err(self.expected("`day`, `week`, `month` or `year`"));
        };
        Ok(window(self.offset()?))
    }

    /// `(+05:30)`, or nothing.
    fn offset(&mut self) -> Result<UtcOffset, ParseLimitError> {
        self.skip_spaces();
        let Some((inside, after)) = self.rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
            return Ok(UtcOffset::UTC);
        };
        let (inside, summer) = match inside.split_once(", ") {
            None => (inside, None),
            Some((inside, summer)) => (inside, Some(summer)),
        };
        let number = |text: &str| text.parse::<u16>().ok().filter(|_| text.len() == 2);
        let minutes = |text: &str| {
            let (hours, minutes) = text.split_once(':')?;
            let minutes = number(minutes).filter(|minutes| *minutes < 60)?;
            Some(i32::from(number(hours)?).saturating_mul(60).saturating_add(i32::from(minutes)))
        };
        let signed = |text: &str| {
            let east = text.strip_prefix('+').and_then(minutes);
            east.or_else(|| text.strip_prefix('-').and_then(minutes).map(i32::saturating_neg))
        };
        let Some(winter) = signed(inside) else {
            return Err(self.expected("an offset such as (+05:30)"));
        };
        let offset = UtcOffset::from_minutes(winter)?;
        let Some(summer) = summer else {
            self.rest = after;
            return Ok(offset);
        };
        let rule = || {
            let (ahead, dates) = summer.split_once(" from ")?;
            let (begins, ends) = dates.split_once(" to ")?;
            let minutes = signed(ahead)?.saturating_sub(winter);
            let rule = SummerTime { minutes, begins: change(begins)?, ends: change(ends)? };
            offset.with_summer_time(rule)
        };
        let Some(offset) = rule() else {
            return Err(self.expected(
                "summer time: (OFFSET, OFFSET from MONTH.WEEK.DAY/MINUTES to MONTH.WEEK.DAY/MINUTES)",
            ));
        };
        self.rest = after;
        Ok(offset)
    }

    fn unit(&mut self) -> Result<Micros, ParseLimitError> {
        self.skip_spaces();
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or(("", self.rest));
        let unit = match word {
            "us" => Micros::new(1),
            "ms" => Micros::MILLISECOND,
            "s" | "second" | "seconds" => Micros::SECOND,
            "m" | "min" | "minute" | "minutes" => Micros::MINUTE,
            "h" | "hour" | "hours" => Micros::HOUR,
            "d" | "day" | "days" => Micros::DAY,
            _ => return Err(self.expected("a unit of time (us, ms, s, minute, hour, day)")),
        };
        self.rest = rest;
        Ok(unit)
    }

    fn named_number(&mut self, name: &str) -> Result<u64, ParseLimitError> {
        if !self.word(name) {
            return Err(self.expected("`burst`"));
        }
        self.number()
    }

    /// Digits: no sign, no point, no separators.
    fn number(&mut self) -> Result<u64, ParseLimitError> {
        self.skip_spaces();
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at_checked(end).unwrap_or(("", self.rest));
        let Ok(number) = digits.parse() else {
            let what = if digits.is_empty() { "a whole number" } else { "a smaller number" };
            return Err(self.expected(what));
        };
        self.rest = rest;
        Ok(number)
    }

    fn word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        match self.rest.strip_prefix(word) {
            Some(rest) if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Parses a comma, or the end of the text.
    fn is_comma(&mut self) -> Result<bool, ParseLimitError> {
        self.skip_spaces();
        if self.rest.is_empty() {
            return Ok(false);
        }
        let Some(rest) = self.rest.strip_prefix(',') else { return Err(self.expected("a comma")) };
        self.rest = rest;
        Ok(true)
    }

    fn end(&mut self) -> Result<(), ParseLimitError> {
        self.skip_spaces();
        if self.rest.is_empty() { Ok(()) } else { Err(self.expected("the end")) }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    fn expected(&self, expected: &'static str) -> ParseLimitError {
        let at = self.text.len().saturating_sub(self.rest.len());
        ParseLimitError::Syntax { expected, at }
    }
}

/// `3.5.0/120`: month, week, weekday and minute.
fn change(text: &str) -> Option<YearlyChange> {
    let (date, minute) = text.split_once('/')?;
    let (month, rest) = date.split_once('.')?;
    let (week, weekday) = rest.split_once('.')?;
    let digit = |text: &str| text.parse().ok();
    let minute = minute.parse().ok()?;
    Some(YearlyChange { month: digit(month)?, week: digit(week)?, weekday: digit(weekday)?, minute })
}
