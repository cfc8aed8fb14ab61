//! Day, week, month and year, against a calendar counted out day by day from 1 January 1970.

use tollgate_algorithms::{Limit, Micros, UtcOffset, Window};

use crate::key::{Key, SECOND};

const DAY: u64 = 86_400 * SECOND;

/// Every month from 1970 on: the day it begins on, and the day the next one begins on.
fn months() -> impl Iterator<Item = (u64, u64)> {
    let lengths = (1970..).flat_map(|year: u64| {
        let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
        [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    });
    lengths.scan(0, |next, length| {
        let first = *next;
        *next += length;
        Some((first, *next))
    })
}

/// The first and last microsecond of a window know its bounds, and so does one in between.
fn check(window: Window, start: u64, end: u64) {
    for now in [start, start + (end - start) / 2, end - 1] {
        assert_eq!(
            window.bounds(Micros::new(now)),
            (Micros::new(start), Micros::new(end)),
            "{window:?} {now}"
        );
    }
}

#[test]
fn months_of_a_hundred_and_forty_years() {
    for (first, next) in months().take(140 * 12) {
        check(Window::Month(UtcOffset::UTC), first * DAY, next * DAY);
    }
}

#[test]
fn years_of_a_hundred_and_forty_years() {
    let mut firsts = months().step_by(12).map(|(first, _)| first).take(142).peekable();
    while let (Some(first), Some(next)) = (firsts.next(), firsts.peek()) {
        check(Window::Year(UtcOffset::UTC), first * DAY, next * DAY);
    }
    let (first, next) = (17_897 * DAY, 18_262 * DAY); // 2019 and 2020
    let hours = 330 * 60 * SECOND;
    check(Window::Year(UtcOffset::from_minutes(330).unwrap()), first - hours, next - hours);
}

#[test]
fn days_and_weeks() {
    for day in (0..50_000).step_by(7) {
        check(Window::Day(UtcOffset::UTC), day * DAY, (day + 1) * DAY);
        // 5 January 1970 was a Monday.
        check(Window::Week(UtcOffset::UTC), (day + 4) * DAY, (day + 11) * DAY);
    }
}

#[test]
fn a_fixed_offset_moves_midnight() {
    for minutes in [-18 * 60, -11 * 60, -210, -1, 1, 330, 14 * 60, 18 * 60] {
        let offset = UtcOffset::from_minutes(minutes).unwrap();
        let shift = |day: u64| (day * DAY).checked_add_signed(-i64::from(minutes) * 60_000_000).unwrap();
        for (first, next) in months().skip(1).step_by(11).take(100) {
            check(Window::Month(offset), shift(first), shift(next));
            check(Window::Day(offset), shift(first), shift(first + 1));
        }
    }
}

/// What began before the epoch is said to begin at it, and ends when it should.
#[test]
fn the_first_window_of_all_may_be_short() {
    let east = UtcOffset::from_minutes(120).unwrap();
    let west = UtcOffset::from_minutes(-120).unwrap();
    assert_eq!(Window::Day(east).bounds(Micros::ZERO), (Micros::ZERO, Micros::from_secs(22 * 3_600)));
    assert_eq!(Window::Day(west).bounds(Micros::ZERO), (Micros::ZERO, Micros::from_secs(2 * 3_600)));
    assert_eq!(Window::Week(UtcOffset::UTC).bounds(Micros::ZERO), (Micros::ZERO, Micros::new(4 * DAY)));
    assert_eq!(Window::Month(west).bounds(Micros::ZERO), (Micros::ZERO, Micros::from_secs(2 * 3_600)));
}

/// A month's quota is there again at the boundary of its own calendar, not a microsecond earlier.
#[test]
fn a_monthly_quota_resets_at_its_own_midnight() {
    let offset = UtcOffset::from_minutes(-5 * 60).unwrap();
    let mut key = Key::new(Limit::fixed_window(3, Window::Month(offset)).unwrap());
    let march_2028 = 1_835_481_600 * SECOND + 5 * 3_600 * SECOND; // after a leap day, five hours after UTC
    assert_eq!(key.take(march_2028 - DAY, 9), 3);
    assert_eq!(key.take(march_2028 - 1, 9), 0);
    assert_eq!(key.take(march_2028, 9), 3);
}

/// Windows of lengths that no calendar knows begin at multiples of their length.
#[test]
fn windows_of_any_length_are_aligned_to_the_epoch() {
    for length in [1, 7, 999, 90 * SECOND, 49 * 3_600 * SECOND, (1 << 51) - 1] {
        for turn in [0, 1, 2].into_iter().filter(|turn| turn * length < 1 << 52) {
            check(Window::Every(Micros::new(length)), turn * length, (turn + 1) * length);
        }
    }
}
