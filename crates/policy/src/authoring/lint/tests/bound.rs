//! What `covers` claims, against the algorithms themselves: what one limit grants, the other never refuses.

use std::collections::BTreeMap;

use tollgate_algorithms::{Limit, Micros, UtcOffset, Window, decide};

use super::super::bound::covers;
use tollgate_testing::dice::Dice;

/// Windows that are so many microseconds, or days and calendars.
#[derive(Clone, Copy)]
enum Scale {
    Micros,
    Days,
}

fn any_limit(draw: &mut Dice, scale: Scale) -> Limit {
    let amount = if matches!(scale, Scale::Days) { 1 << draw.below(9) } else { draw.roll() % 12 + 1 };
    let unit = if matches!(scale, Scale::Days) { Micros::DAY.get() } else { 1 };
    // Half a day more or less, where there are days: boundaries that do not meet midnight.
    let time = Micros::new((draw.roll() % 40 + 1) * unit - draw.roll() % 2 * (unit / 2));
    let offset = UtcOffset::from_minutes(draw.pick(&[0, 0, 60, -330])).expect("an offset of some hours");
    let limit = match draw.below(if matches!(scale, Scale::Days) { 10 } else { 7 }) {
        0 => Limit::token_bucket(amount, draw.roll() % 3 + 1, time),
        1 => Limit::leaky_bucket(amount, draw.roll() % 3 + 1, time),
        2 => Limit::gcra(amount, draw.roll() % 3 + 1, time),
        3 => Limit::fixed_window(amount, Window::Every(time)),
        4 => Limit::sliding_window(amount, time),
        5 => {
            let buckets = u32::try_from(draw.roll() % (time.get() / unit).max(1)).unwrap() + 1;
            Limit::sliding_window_buckets(amount, time, buckets)
        }
        6 => Limit::sliding_window_log(amount, time),
        7 => Limit::fixed_window(amount, Window::Day(offset)),
        8 => Limit::fixed_window(amount, Window::Week(offset)),
        _ => Limit::fixed_window(amount, Window::Month(offset)),
    };
    limit.expect("small numbers fit")
}

/// The algorithm, and which calendar.
fn kind(limit: &Limit) -> String {
    let window = if let Limit::FixedWindow(rule) = limit { Some(rule.window()) } else { None };
    let calendar = match window {
        None | Some(Window::Every(_)) => "",
        Some(Window::Day(_)) => " by day",
        Some(Window::Week(_)) => " by week",
        Some(Window::Month(_)) => " by month",
        Some(Window::Year(_)) => " by year",
    };
    format!("{:?}{calendar}", limit.algorithm())
}

/// How often each pair of kinds was claimed, and how much was granted under those claims.
fn holds(seeds: u64, scale: Scale) -> (BTreeMap<(String, String), u64>, u64) {
    let (mut claimed, mut granted) = (BTreeMap::new(), 0_u64);
    // Hours, where there are days.
    let step = if matches!(scale, Scale::Days) { Micros::HOUR.get() } else { 1 };
    for seed in 0..seeds {
        let mut draw = Dice::new(seed);
        let (by, limit) = (any_limit(&mut draw, scale), any_limit(&mut draw, scale));
        if !covers(&by, &limit) {
            continue;
        }
        *claimed.entry((kind(&by), kind(&limit))).or_insert(0) += 1;
        let (mut state_by, mut state_limit) = (None, None);
        // Within twenty years of the epoch, so that every length of month is met.
        let mut now = Micros::new(1_000 + draw.roll() % (step * 24 * 7_300));
        let most_pause = draw.roll() % 30 + 1;
        for _ in 0..200 {
            // Mostly greedy, with pauses: whoever spends everything at once finds the edges.
            if draw.below(3) == 0 {
                now = now.saturating_add(Micros::new(draw.roll() % most_pause * step));
            }
            let cost = draw.roll() % 3 + 1;
            let (change, decision) = decide(&by, state_by.as_ref(), now, cost);
            if !decision.is_granted() {
                continue;
            }
            let (change_of_limit, decision) = decide(&limit, state_limit.as_ref(), now, cost);
            assert!(decision.is_granted(), "seed {seed}: {by} grants {cost} at {now}, {limit} does not");
            change.apply(&mut state_by);
            change_of_limit.apply(&mut state_limit);
            granted += 1;
        }
    }
    (claimed, granted)
}

#[test]
fn what_the_covering_limit_grants_the_covered_one_never_refuses() {
    let (claimed, granted) = holds(60_000, Scale::Micros);
    // A test in which nothing is claimed would prove nothing: every pair of algorithms is.
    assert_eq!(claimed.len(), 49, "{claimed:?}");
    assert!(granted > 100_000, "{granted}");
}

#[test]
fn nor_do_days_weeks_and_months_of_the_calendar() {
    let (claimed, granted) = holds(60_000, Scale::Days);
    assert_eq!(claimed.len(), 100, "{claimed:?}");
    assert!(granted > 100_000, "{granted}");
}

#[test]
fn the_claims_are_not_weaker_than_they_need_to_be() {
    let (second, minute) = (Micros::SECOND, Micros::MINUTE);
    let (utc, east) = (UtcOffset::UTC, UtcOffset::from_minutes(60).expect("one hour"));
    let log = |limit, window| Limit::sliding_window_log(limit, window).expect("it fits");
    let bucket = |burst, count, period| Limit::token_bucket(burst, count, period).expect("it fits");
    let fixed = |limit, window| Limit::fixed_window(limit, window).expect("it fits");
    let table = [
        (bucket(5, 1, second), bucket(5, 1, second), true),
        (bucket(5, 1, second), bucket(5, 59, minute), false),
        (bucket(5, 1, second), bucket(4, 2, second), false),
        (bucket(5, 1, second), log(65, minute), true),
        (bucket(5, 1, second), log(64, minute), false),
        (log(10, second), log(600, minute), true),
        (log(10, second), log(599, minute), false),
        (log(10, minute), log(10, second), true),
        (log(10, minute), log(9, second), false),
        (log(60, minute), bucket(60, 1, second), true),
        (log(60, minute), bucket(59, 1, second), false),
        (log(61, minute), bucket(61, 1, second), false),
        (fixed(10, Window::Every(second)), log(610, minute), true),
        (fixed(10, Window::Every(second)), log(609, minute), false),
        (fixed(60, Window::Every(minute)), bucket(120, 1, second), true),
        (fixed(60, Window::Every(minute)), bucket(119, 1, second), false),
        (fixed(60, Window::Every(minute)), fixed(60, Window::Every(minute)), true),
        (fixed(60, Window::Every(minute)), fixed(59, Window::Every(minute)), false),
        (fixed(1, Window::Day(utc)), log(2, minute), true),
        (fixed(1, Window::Day(utc)), log(1, minute), false),
        (fixed(10, Window::Day(utc)), fixed(10, Window::Day(utc)), true),
        (fixed(10, Window::Day(utc)), fixed(70, Window::Week(utc)), true),
        (fixed(10, Window::Day(utc)), fixed(69, Window::Week(utc)), false),
        (fixed(10, Window::Day(utc)), fixed(310, Window::Month(utc)), true),
        (fixed(10, Window::Day(utc)), fixed(309, Window::Month(utc)), false),
        // One day more touches a month of another offset.
        (fixed(10, Window::Month(utc)), fixed(120, Window::Year(utc)), true),
        (fixed(10, Window::Month(utc)), fixed(119, Window::Year(utc)), false),
        (fixed(10, Window::Day(utc)), fixed(3_660, Window::Year(utc)), true),
        (fixed(10, Window::Day(utc)), fixed(320, Window::Month(east)), true),
        (fixed(10, Window::Day(utc)), fixed(319, Window::Month(east)), false),
        // A week has days of two months, and a month has five or six weeks.
        (fixed(10, Window::Month(utc)), fixed(20, Window::Week(utc)), true),
        (fixed(10, Window::Month(utc)), fixed(19, Window::Week(utc)), false),
        (fixed(10, Window::Week(utc)), fixed(60, Window::Month(utc)), true),
        (fixed(10, Window::Week(utc)), fixed(59, Window::Month(utc)), false),
        // A month has at least 28 days, and at most 31.
        (log(10, Micros::DAY), fixed(310, Window::Month(utc)), true),
        (log(10, Micros::DAY), fixed(309, Window::Month(utc)), false),
        (fixed(28, Window::Month(utc)), bucket(56, 1, Micros::DAY), true),
        (fixed(29, Window::Month(utc)), bucket(58, 1, Micros::DAY), false),
        (Limit::Unlimited, log(600, minute), false),
        (log(600, minute), Limit::Unlimited, false),
    ];
    for (by, limit, expected) in table {
        assert_eq!(covers(&by, &limit), expected, "{by} / {limit}");
    }
}
