//! What `covers` claims, against the algorithms themselves: what one limit grants, the other never refuses.

use tollgate_core::{Limit, Micros, Window, decide};

use super::super::bound::covers;
use crate::dice::Dice;

fn any_limit(draw: &mut Dice) -> Limit {
    let amount = draw.roll() % 12 + 1;
    let time = Micros::new(draw.roll() % 40 + 1);
    let limit = match draw.below(7) {
        0 => Limit::token_bucket(amount, draw.roll() % 3 + 1, time),
        1 => Limit::leaky_bucket(amount, draw.roll() % 3 + 1, time),
        2 => Limit::gcra(amount, draw.roll() % 3 + 1, time),
        3 => Limit::fixed_window(amount, Window::Every(time)),
        4 => Limit::sliding_window(amount, time),
        5 => {
            Limit::sliding_window_buckets(amount, time, u32::try_from(draw.roll() % time.get()).unwrap() + 1)
        }
        _ => Limit::sliding_window_log(amount, time),
    };
    limit.expect("small numbers fit")
}

#[test]
fn what_the_covering_limit_grants_the_covered_one_never_refuses() {
    let (mut claimed, mut granted) = (std::collections::BTreeMap::new(), 0_u64);
    for seed in 0..60_000 {
        let mut draw = Dice::new(seed);
        let (by, limit) = (any_limit(&mut draw), any_limit(&mut draw));
        if !covers(&by, &limit) {
            continue;
        }
        *claimed.entry((by.algorithm(), limit.algorithm())).or_insert(0) += 1;
        let (mut state_by, mut state_limit) = (None, None);
        let mut now = Micros::new(1_000 + draw.roll() % 50);
        let most_pause = draw.roll() % 30 + 1;
        for _ in 0..200 {
            // Mostly greedy, with pauses: whoever spends everything at once finds the edges.
            if draw.below(3) == 0 {
                now = now.saturating_add(Micros::new(draw.roll() % most_pause));
            }
            let cost = draw.roll() % 3 + 1;
            let (change, decision) = decide(&by, state_by.as_ref(), now, cost);
            if !decision.granted() {
                continue;
            }
            let (change_of_limit, decision) = decide(&limit, state_limit.as_ref(), now, cost);
            assert!(decision.granted(), "seed {seed}: {by} grants {cost} at {now}, {limit} does not");
            change.apply(&mut state_by);
            change_of_limit.apply(&mut state_limit);
            granted += 1;
        }
    }
    // A test in which nothing is claimed would prove nothing: every pair of algorithms is.
    assert_eq!(claimed.len(), 49, "{claimed:?}");
    assert!(granted > 100_000, "{granted}");
}

#[test]
fn the_claims_are_not_weaker_than_they_need_to_be() {
    let (second, minute) = (Micros::SECOND, Micros::MINUTE);
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
        (fixed(1, Window::Day(tollgate_core::UtcOffset::UTC)), log(600, minute), false),
        (Limit::Unlimited, log(600, minute), false),
        (log(600, minute), Limit::Unlimited, false),
    ];
    for (by, limit, expected) in table {
        assert_eq!(covers(&by, &limit), expected, "{by} / {limit}");
    }
}
