//! Numbers, lengths of time, rates and sizes, by one strict grammar, as exact integers. What they limit is not known here.

use tollgate_algorithms::{Micros, UtcOffset, Window};

/// So many decimals of a rate are read; more are refused, because they could not be kept exactly.
const DECIMALS_MAX: usize = 9;

/// The number that is recommended in place of one that does not fit. No limit can be larger (`Limit` says how large each can be).
const WHOLE_MAX: u64 = (1 << 52) - 1;

/// So much in so much time, as it was written: not reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    /// How much.
    pub count: u64,
    /// In what time.
    pub period: Micros,
}

/// A whole number: `0`, or digits that do not begin with 0.
///
/// # Errors
/// What is wrong with the text, as the end of a sentence about it.
pub fn whole(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits && (text == "0" || !text.starts_with('0')) {
        return text.parse().map_err(|_| format!("is too large: write `{WHOLE_MAX}` or less"));
    }
    Err(match plainly(text) {
        Some(meant) => format!("is not a whole number: write `{meant}`"),
        None => "is not a whole number: write digits only, such as `5`".into(),
    })
}

/// What somebody meant who wrote `1_000`, `+5`, `1e3`, `0x10`, `007` or `5.0`.
fn plainly(text: &str) -> Option<String> {
    let trimmed = text.trim().trim_start_matches('+').replace(['_', ',', ' ', '\''], "");
    let trimmed = trimmed.strip_suffix(".0").unwrap_or(&trimmed);
    let number = if let Some(hex) = trimmed.strip_prefix("0x") {
        u64::from_str_radix(hex, 16).ok()?
    } else if let Some((mantissa, exponent)) = trimmed.split_once(['e', 'E']) {
        let factor = 10_u64.checked_pow(exponent.parse().ok()?)?;
        mantissa.parse::<u64>().ok()?.checked_mul(factor)?
    } else {
        trimmed.parse().ok()?
    };
    Some(number.to_string())
}

/// A number with decimals, as a numerator and the power of ten below it: `0.25` is 25 / 10^2.
fn decimal(text: &str) -> Result<(u64, u32), String> {
    let (before, after) = text.split_once('.').unwrap_or((text, ""));
    if text.ends_with('.') || !after.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("is not a number: write it with digits and at most one point, such as `0.1`".into());
    }
    if before.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return Err("is not a rate: write a number per second, such as `0.1`, or `10 per second`".into());
    }
    let whole = whole(before)?;
    let after = after.trim_end_matches('0');
    if after.len() > DECIMALS_MAX {
        return Err(format!(
            "has more than {DECIMALS_MAX} decimals: write it as a rate, such as `1 per 3 s`"
        ));
    }
    let places = u32::try_from(after.len()).unwrap_or(0);
    let fraction =
        if after.is_empty() { 0 } else { after.parse().map_err(|_| "is not a number".to_owned())? };
    let scaled = 10_u64.checked_pow(places).and_then(|power| whole.checked_mul(power));
    scaled
        .and_then(|scaled| scaled.checked_add(fraction))
        .map_or_else(|| Err("is too large to be kept exactly".into()), |numerator| Ok((numerator, places)))
}

/// A rate: a number per second (`0.1`), or in words (`10 per second`, `5 per 3 s`).
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let (number, period) = match text.split_once(" per ") {
        None if text.contains("per ") || text.contains('/') => {
            return Err("is not a rate: write it such as `10 per second` or `1 per 10 s`".into());
        }
        None => (text, Micros::SECOND),
        Some((number, unit)) => match days(unit) {
            Some(days) => return Err(format!("{NO_LENGTH}: write `{number} per {days} days`")),
            None if unit.starts_with(|first: char| first.is_ascii_digit()) => (number, duration(unit)?),
            None => (number, unit_of(unit)?),
        },
    };
    let (count, places) = decimal(number)?;
    let period = 10_u64.checked_pow(places).and_then(|power| period.get().checked_mul(power));
    let period = period.ok_or("is too slow to be kept exactly")?;
    Ok(Rate { count, period: Micros::new(period) })
}

/// What months and years are told.
const NO_LENGTH: &str = "has no fixed length";

/// About how many days there are in so many months or years; `None` if it is something else.
fn days(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|char: char| !char.is_ascii_digit())?);
    let number = if number.is_empty() { 1 } else { number.parse().ok()? };
    match unit.trim_start() {
        "month" | "months" => 30_u64.checked_mul(number),
        "year" | "years" => 365_u64.checked_mul(number),
        _ => None,
    }
}

/// A length of time: a whole number and a unit, `500ms`, `90 s`, `1m`, `1 day`.
///
/// # Errors
/// What is wrong with the text, as the end of a sentence about it.
pub fn duration(text: &str) -> Result<Micros, String> {
    if let Some(days) = days(text) {
        return Err(format!("{NO_LENGTH}: write `{days} days`"));
    }
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    if number.is_empty() {
        return Err(
            "is not a length of time: write a number and a unit, such as `90s`, `1m` or `1 day`".into()
        );
    }
    let number = whole(number)?;
    if unit.is_empty() {
        return Err(format!("has no unit: write `{number}s` for seconds"));
    }
    let unit = unit_of(unit.strip_prefix(' ').unwrap_or(unit))?;
    let micros = number.checked_mul(unit.get()).ok_or("is longer than can be counted")?;
    Ok(Micros::new(micros))
}

/// The length of one unit.
fn unit_of(word: &str) -> Result<Micros, String> {
    Ok(match word {
        "us" | "microsecond" | "microseconds" => Micros::new(1),
        "ms" | "millisecond" | "milliseconds" => Micros::MILLISECOND,
        "s" | "sec" | "second" | "seconds" => Micros::SECOND,
        "m" | "min" | "minute" | "minutes" => Micros::MINUTE,
        "h" | "hour" | "hours" => Micros::HOUR,
        "d" | "day" | "days" => Micros::DAY,
        "w" | "week" | "weeks" => Micros::new(7 * Micros::DAY.get()),
        _ => {
            let word = tollgate_http::text::shown(word);
            return Err(format!("has an unknown unit `{word}`: the units are us, ms, s, m, h, day and week"));
        }
    })
}

/// A window: a length of time, or `calendar day`, `week`, `month` or `year`.
pub(crate) fn window(text: &str, offset: UtcOffset) -> Result<Window, String> {
    let Some(calendar) = text.strip_prefix("calendar ") else {
        // One month or one year probably is that of the calendar.
        let unit = text.trim_start_matches('1').trim_start();
        let calendar = format!("calendar {}", unit.trim_end_matches('s'));
        return match days(text) {
            Some(days) if days < 366 && window(&calendar, offset).is_ok() => {
                Err(format!("{NO_LENGTH}: write `{calendar}`, or `{days} days`"))
            }
            _ => Ok(Window::Every(duration(text)?)),
        };
    };
    match calendar {
        "day" => Ok(Window::Day(offset)),
        "week" => Ok(Window::Week(offset)),
        "month" => Ok(Window::Month(offset)),
        "year" => Ok(Window::Year(offset)),
        "minute" => Err("begins with the clock anyway: write `1m`".into()),
        "hour" => Err("begins with the clock anyway: write `1h`".into()),
        _ => {
            let all = "`calendar day`, `calendar week`, `calendar month` or `calendar year`";
            Err(format!("is no window: write {all}"))
        }
    }
}

/// A distance from UTC: `+02:00`, `-05:30`, `Z`.
pub(crate) fn utc_offset(text: &str) -> Result<UtcOffset, String> {
    let wrong = || "is not an offset from UTC: write it such as `+02:00`".to_owned();
    if matches!(text, "Z" | "UTC") {
        return Ok(UtcOffset::UTC);
    }
    let (sign, sign_text, rest) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
        (Some(rest), _) => (1, '+', rest),
        (_, Some(rest)) => (-1, '-', rest),
        _ => return Err(wrong()),
    };
    let (hours, minutes) = rest.split_once(':').ok_or_else(wrong)?;
    let two = |digits: &str| {
        let good = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        good.then(|| digits.parse::<i32>().ok()).flatten()
    };
    let (Some(hours), Some(minutes @ 0..60)) = (two(hours), two(minutes)) else { return Err(wrong()) };
    let all = hours.saturating_mul(60).saturating_add(minutes).saturating_mul(sign);
    UtcOffset::from_minutes(all)
        .map_err(|_| format!("is further from UTC than 18 hours: write `{sign_text}18:00` or less"))
}

/// A size in bytes: `512`, `64 KiB`, `1 MiB`, `2 GiB`.
///
/// # Errors
/// What is wrong with the text, as the end of a sentence about it.
pub fn size(text: &str) -> Result<u64, String> {
    let end = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim_start() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err("is not a size: write bytes, `64 KiB` or `1 MiB`".into()),
    };
    whole(number)?.checked_mul(factor).ok_or_else(|| "is larger than can be counted".into())
}

/// An instant of the wall clock in UTC, `2026-01-31T23:59:50Z`, as microseconds since 1970.
pub(crate) fn date_time(text: &str) -> Result<Micros, String> {
    let wrong = || "is not an instant: write it in UTC, such as `2026-01-31T23:59:50Z`".to_owned();
    let digits = |range: std::ops::Range<usize>| {
        let part = text.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        part.and_then(|part| part.parse::<u64>().ok()).ok_or_else(wrong)
    };
    let frame: String = text.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
    if frame != "0000-00-00T00:00:00Z" {
        return Err(wrong());
    }
    let (year, month, day) = (digits(0..4)?, digits(5..7)?, digits(8..10)?);
    let (hour, minute, second) = (digits(11..13)?, digits(14..16)?, digits(17..19)?);
    let leap = |year: u64| (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let lengths = [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = usize::try_from(month).ok().and_then(|month| lengths.get(month.checked_sub(1)?)).copied();
    let in_range =
        length.is_some_and(|length| (1..=length).contains(&day)) && hour < 24 && minute < 60 && second < 60;
    if !in_range || !(1970..=2100).contains(&year) {
        return Err(wrong());
    }
    let years = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum::<u64>();
    let before: u64 = lengths.iter().take(usize::try_from(month.saturating_sub(1)).unwrap_or(0)).sum();
    let days = years.saturating_add(before).saturating_add(day.saturating_sub(1));
    let seconds = days.saturating_mul(86_400).saturating_add(hour * 3_600 + minute * 60 + second);
    Ok(Micros::from_secs(seconds))
}

/// A length of time in the words of a document: `1 day`, `90 s`.
#[must_use]
pub fn spoken(time: Micros) -> String {
    let (day, hour, minute) = (Micros::DAY.get(), Micros::HOUR.get(), Micros::MINUTE.get());
    let all = time.get();
    let of = |unit: u64, word: &str| {
        let number = all.checked_div(unit).unwrap_or(0);
        (all > 0 && all.is_multiple_of(unit)).then(|| format!("{number} {word}"))
    };
    of(day, if all == day { "day" } else { "days" })
        .or_else(|| of(hour, "h"))
        .or_else(|| of(minute, "min"))
        .unwrap_or_else(|| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_one_spelling() {
        for good in ["0", "5", "18446744073709551615"] {
            assert_eq!(whole(good).map(|number| number.to_string()).as_deref(), Ok(good));
        }
        let meant =
            [("+5", "5"), ("1_000", "1000"), ("1e3", "1000"), ("0x10", "16"), (" 10 ", "10"), ("007", "7")];
        for (text, meant) in meant {
            assert_eq!(whole(text), Err(format!("is not a whole number: write `{meant}`")), "{text}");
        }
        for bad in ["", "-1", "nan", "inf", "٣", "1.5", "five", "18446744073709551616", "1e400", ".5", "0x"]
        {
            assert!(whole(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_exact_fractions() {
        let table = [
            ("0.1", (1, 10_000_000)),
            ("10", (10, 1_000_000)),
            ("2.50", (25, 10_000_000)),
            ("10 per second", (10, 1_000_000)),
            ("1 per 10 s", (1, 10_000_000)),
            ("1000003 per day", (1_000_003, 86_400_000_000)),
            ("0.5 per minute", (5, 600_000_000)),
        ];
        for (text, (count, period)) in table {
            assert_eq!(rate(text), Ok(Rate { count, period: Micros::new(period) }), "{text}");
        }
        for bad in [
            "",
            "fast",
            "10/s",
            "10 per",
            "10 per fortnight",
            "1e3",
            "-1",
            ".5",
            "5.",
            "0.1234567891",
            "1 per 0",
            "1.5.2",
        ] {
            assert!(rate(bad).is_err(), "{bad}: {:?}", rate(bad));
        }
    }

    #[test]
    fn lengths_of_time_have_a_unit() {
        let table = [("500ms", 500_000), ("90 s", 90_000_000), ("1m", 60_000_000), ("1 day", 86_400_000_000)];
        for (text, micros) in table {
            assert_eq!(duration(text), Ok(Micros::new(micros)), "{text}");
        }
        for bad in
            ["", "60", "1 month", "m", "1.5h", "-1s", "1  s", "18446744073709551615 days", "1 fortnight"]
        {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(spoken(Micros::DAY), "1 day");
        assert_eq!(spoken(Micros::from_secs(90)), "90 s");
    }

    #[test]
    fn months_and_years_are_told_what_to_write() {
        let table = [
            (window("1 month", UtcOffset::UTC).err(), "write `calendar month`, or `30 days`"),
            (window("month", UtcOffset::UTC).err(), "write `calendar month`, or `30 days`"),
            (window("3 months", UtcOffset::UTC).err(), "write `90 days`"),
            (duration("2 years").err(), "write `730 days`"),
            (rate("10 per month").err(), "write `10 per 30 days`"),
            (rate("10 per 2 months").err(), "write `10 per 60 days`"),
        ];
        for (error, expected) in table {
            assert_eq!(error, Some(format!("has no fixed length: {expected}")));
        }
        // Whether `calendar year` is recommended depends on whether it is a window.
        let recommended = window("1 year", UtcOffset::UTC).expect_err("it has no fixed length");
        let is_window = window("calendar year", UtcOffset::UTC).is_ok();
        assert_eq!(recommended.contains("`calendar year`"), is_window, "{recommended}");
    }

    #[test]
    fn instants_are_counted_from_1970() {
        let table = [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:34:56Z", 951_827_696),
            ("2026-01-31T23:59:50Z", 1_769_903_990),
            ("2100-12-31T23:59:59Z", 4_133_980_799),
        ];
        for (text, seconds) in table {
            assert_eq!(date_time(text), Ok(Micros::from_secs(seconds)), "{text}");
        }
        for bad in [
            "",
            "2026-01-31",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "1969-01-01T00:00:00Z",
            "2026-01-01 00:00:00Z",
        ] {
            assert!(date_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn calendars_and_offsets_and_sizes() {
        let india = UtcOffset::from_minutes(330).expect("it is within a day");
        assert_eq!(utc_offset("+05:30"), Ok(india));
        assert_eq!(window("calendar month", india), Ok(Window::Month(india)));
        assert_eq!(window("calendar year", india), Ok(Window::Year(india)));
        for bad in ["5", "+5", "+05:60", "+99:00", "0530", "+ab:cd"] {
            assert!(utc_offset(bad).is_err(), "{bad}");
        }
        assert_eq!(size("64 KiB"), Ok(65_536));
        assert_eq!(size("2 GiB"), Ok(2_147_483_648));
        assert!(size("64 kb").is_err());
    }
}
