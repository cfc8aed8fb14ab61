//! A calendar counted out month by month, to compare the core's with. Slow to make, and made once.

use std::sync::LazyLock;

/// Microseconds in a day.
pub const DAY: u64 = 86_400_000_000;

/// The day on which each month begins, from January 1970 to the end of 2299.
static MONTHS: LazyLock<Vec<i64>> = LazyLock::new(|| {
    let (mut day, mut months) = (0, Vec::new());
    for year in 1970_i64..2300 {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        for length in [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            months.push(day);
            day += length;
        }
    }
    months
});

fn local_day(at: u64, minutes: i32) -> i64 {
    let local = i128::from(at) + i128::from(minutes) * 60_000_000;
    i64::try_from(local.div_euclid(i128::from(DAY))).unwrap_or(i64::MAX)
}

/// The instant at which a local day begins, but not before the epoch.
fn instant(day: i64, minutes: i32) -> u64 {
    let at = i128::from(day) * i128::from(DAY) - i128::from(minutes) * 60_000_000;
    u64::try_from(at).unwrap_or(0)
}

/// The day, or the week from Monday, that holds an instant.
#[must_use]
pub fn days(at: u64, minutes: i32, length: i64) -> (u64, u64) {
    let day = local_day(at, minutes);
    // 5 January 1970, day 4, was a Monday.
    let first = if length == 7 { day - (day - 4).rem_euclid(7) } else { day };
    (instant(first, minutes), instant(first + length, minutes))
}

/// The month that holds an instant.
#[must_use]
pub fn month(at: u64, minutes: i32) -> (u64, u64) {
    let day = local_day(at, minutes);
    match MONTHS.partition_point(|&first| first <= day) {
        // The last month of 1969, of which only a few hours lie after the epoch.
        0 => (0, instant(0, minutes)),
        next => (instant(MONTHS[next - 1], minutes), instant(MONTHS[next], minutes)),
    }
}

/// The year that holds an instant.
#[must_use]
pub fn year(at: u64, minutes: i32) -> (u64, u64) {
    let day = local_day(at, minutes);
    match MONTHS.iter().step_by(12).position(|&first| first > day) {
        // The last hours of 1969.
        Some(0) | None => (0, instant(0, minutes)),
        Some(next) => (instant(MONTHS[12 * (next - 1)], minutes), instant(MONTHS[12 * next], minutes)),
    }
}
