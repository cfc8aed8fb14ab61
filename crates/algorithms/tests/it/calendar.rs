//! Day, week, month and year, against a calendar counted out day by day from 1 January 1970.

use tollgate_algorithms::{Limit, Micros, SummerTime, UtcOffset, Window, YearlyChange};

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

fn zone(minutes: i32, ahead: i32, begins: [i32; 4], ends: [i32; 4]) -> UtcOffset {
    let change = |[month, week, weekday, minute]: [i32; 4]| {
        let small = |number: i32| u8::try_from(number).unwrap();
        YearlyChange { month: small(month), week: small(week), weekday: small(weekday), minute }
    };
    let summer = SummerTime { minutes: ahead, begins: change(begins), ends: change(ends) };
    UtcOffset::from_minutes(minutes).unwrap().with_summer_time(summer).unwrap()
}

fn paris() -> UtcOffset {
    zone(60, 60, [3, 5, 0, 120], [10, 5, 0, 180])
}

/// Zones of every kind: both hemispheres, half an hour, winter time as the exception, changes at midnight and a day late.
fn zones() -> [UtcOffset; 8] {
    [
        paris(),
        zone(-300, 60, [3, 2, 0, 120], [11, 1, 0, 120]),
        zone(630, 30, [10, 1, 0, 120], [4, 1, 0, 120]),
        zone(60, -60, [10, 5, 0, 120], [3, 5, 0, 60]),
        zone(120, 60, [4, 5, 5, 0], [10, 5, 4, 1_440]),
        zone(-240, 60, [9, 1, 6, 1_440], [4, 1, 6, 1_440]),
        zone(-300, 60, [3, 2, 0, 0], [11, 1, 0, 60]),
        zone(-120, 60, [3, 5, 0, -60], [10, 5, 0, 0]),
    ]
}

const HOUR: u64 = 3_600 * SECOND;

#[test]
fn a_day_in_paris_has_23_hours_in_march_and_25_in_october() {
    // Sunday, 29 March 2026: midnight is 23:00 of the day before in UTC, the next one 22:00.
    let march = 1_774_738_800 * SECOND;
    check(Window::Day(paris()), march, march + 23 * HOUR);
    check(Window::Day(paris()), march - 24 * HOUR, march);
    check(Window::Day(paris()), march + 23 * HOUR, march + 47 * HOUR);
    // Sunday, 25 October 2026: midnight is 22:00 of the day before, the next one 23:00.
    let october = 1_792_879_200 * SECOND;
    check(Window::Day(paris()), october, october + 25 * HOUR);
    check(Window::Day(paris()), october + 25 * HOUR, october + 49 * HOUR);
    // The weeks, the months and the year around them.
    check(Window::Week(paris()), march - 6 * 24 * HOUR, march + 23 * HOUR);
    check(Window::Week(paris()), october - 6 * 24 * HOUR, october + 25 * HOUR);
    check(Window::Month(paris()), 1_772_319_600 * SECOND, 1_774_994_400 * SECOND);
    check(Window::Month(paris()), 1_790_805_600 * SECOND, 1_793_487_600 * SECOND);
    check(Window::Year(paris()), 1_767_222_000 * SECOND, 1_798_758_000 * SECOND);
}

/// A quota that is used up stays used up until midnight, also over the hour that there is twice.
#[test]
fn a_daily_quota_is_granted_once_on_the_day_of_25_hours() {
    let october = 1_792_879_200 * SECOND;
    let mut key = Key::new(Limit::fixed_window(3, Window::Day(paris())).unwrap());
    assert!(key.hit(october, 3).is_granted());
    for hour in [1, 2, 3, 4, 23, 24] {
        assert!(!key.hit(october + hour * HOUR + HOUR / 2, 1).is_granted(), "{hour}");
    }
    assert!(key.hit(october + 25 * HOUR, 3).is_granted());
}

/// Every instant of some years lies in one window, windows follow each other without a gap, and days have 22 to 26 hours.
#[test]
fn windows_of_every_zone_follow_each_other() {
    for zone in zones() {
        for window in [Window::Day(zone), Window::Week(zone), Window::Month(zone), Window::Year(zone)] {
            let mut at = 1_735_689_600 * SECOND;
            while at < 1_861_920_000 * SECOND {
                let (start, end) = window.bounds(Micros::new(at));
                assert!(start.get() <= at && at < end.get(), "{window} {at}");
                for inside in [start.get(), start.get() + 1, end.get() - 1] {
                    assert_eq!(window.bounds(Micros::new(inside)), (start, end), "{window} {inside}");
                }
                assert_eq!(window.bounds(end).0, end, "{window} {end}");
                if matches!(window, Window::Day(_)) {
                    let length = end.get() - start.get();
                    assert!((22 * HOUR..=26 * HOUR).contains(&length), "{window} {at}");
                }
                at = end.get() + HOUR / 2;
            }
        }
    }
}

#[test]
fn a_zone_is_one_number_and_one_text() {
    for zone in zones() {
        assert!(zone.code() < 1 << 53);
        assert_eq!(UtcOffset::from_code(zone.code()), Some(zone));
        let limit = Limit::fixed_window(9, Window::Month(zone)).unwrap();
        assert_eq!(limit.to_string().parse(), Ok(limit), "{limit}");
    }
    assert_eq!(paris().to_string(), "+01:00, +02:00 from 3.5.0/120 to 10.5.0/180");
    for code in [0xfff, 1 << 13, u64::MAX, 1_080 + (1 << 20)] {
        assert_eq!(UtcOffset::from_code(code), None, "{code}");
    }
    assert_eq!(UtcOffset::from_code(1_080), Some(UtcOffset::UTC));
}
