//! No panic on any input: arbitrary limits, arbitrary states (also such as no decision ever wrote), arbitrary clocks and
//! costs. The build has overflow checks on, so a wrapped sum would be a panic too.
#![cfg(test)]

use tollgate_algorithms::algorithm::list::{Entry, List};
use tollgate_algorithms::{
    Algorithm, Count, Debt, Hit, Limit, Micros, Mode, Quota, Receipt, State, Target, TwoCounts, UtcOffset,
    Window, decide, decide_batch, decide_up_to, peek, refund, settle,
};
use tollgate_proof::random::Random;

const CASES: u64 = 300_000;

/// Numbers at the ends of their types, near powers of two, small ones, any.
fn number(random: &mut Random) -> u64 {
    match random.below(6) {
        0 => random.below(4),
        1 => u64::MAX - random.below(4),
        2 => (1_u64 << random.below(64)).wrapping_add(random.below(3)).wrapping_sub(1),
        3 => 1_763_222_400_000_000 + random.below(1_000),
        4 => random.magnitude(u64::MAX),
        _ => random.any(),
    }
}

fn micros(random: &mut Random) -> Micros {
    Micros::new(number(random))
}

fn window(random: &mut Random) -> Window {
    let minutes = i32::try_from(random.below(4_000)).unwrap_or(0) - 2_000;
    let offset = UtcOffset::from_minutes(minutes).unwrap_or(UtcOffset::UTC);
    match random.below(5) {
        0 => Window::Every(micros(random)),
        1 => Window::Day(offset),
        2 => Window::Week(offset),
        3 => Window::Year(offset),
        _ => Window::Month(offset),
    }
}

/// Any limit that the constructors let pass.
fn limit(random: &mut Random) -> Limit {
    loop {
        let (number_of, length) = (number(random), micros(random));
        let quota = Quota::new(number_of, number(random), length);
        let buckets = u32::try_from(random.magnitude(2_000)).unwrap_or(0);
        let limit = match random.pick(&Algorithm::ALL) {
            Algorithm::TokenBucket => quota.map(Limit::TokenBucket),
            Algorithm::LeakyBucket => quota.map(Limit::LeakyBucket),
            Algorithm::Gcra => quota.map(Limit::Gcra),
            Algorithm::FixedWindow => Limit::fixed_window(number_of, window(random)),
            Algorithm::SlidingWindow => Limit::sliding_window(number_of, length),
            Algorithm::SlidingWindowBuckets => Limit::sliding_window_buckets(number_of, length, buckets),
            Algorithm::SlidingWindowLog => Limit::sliding_window_log(number_of, length),
        };
        if let Ok(limit) = limit {
            return limit;
        }
    }
}

/// Any numbers at all, in the shape of the limit's state or of another's.
fn state(random: &mut Random, limit: &Limit) -> Option<State> {
    let debt = Debt { at: micros(random), debt: number(random), period: number(random) };
    let algorithm = if random.one_in(8) { Some(random.pick(&Algorithm::ALL)) } else { limit.algorithm() };
    let list = |random: &mut Random| {
        let entries = random.below(5);
        List::from_entries((0..entries).map(|_| Entry { at: micros(random), cost: number(random) }))
    };
    Some(match algorithm? {
        Algorithm::TokenBucket => State::TokenBucket(debt),
        Algorithm::LeakyBucket => State::LeakyBucket(debt),
        Algorithm::Gcra => State::Gcra(debt),
        Algorithm::FixedWindow => {
            State::FixedWindow(Count { start: micros(random), end: micros(random), used: number(random) })
        }
        Algorithm::SlidingWindow => State::SlidingWindow(TwoCounts {
            start: micros(random),
            end: micros(random),
            previous: number(random),
            current: number(random),
        }),
        Algorithm::SlidingWindowBuckets => State::SlidingWindowBuckets(list(random)),
        Algorithm::SlidingWindowLog => State::SlidingWindowLog(list(random)),
    })
}

#[test]
fn no_input_panics_and_no_answer_contradicts_itself() {
    let mut granted = 0;
    for case in 0..CASES {
        let random = &mut Random::case(20_261_115, case);
        let limit = limit(random);
        let mut key = if random.one_in(8) { None } else { state(random, &limit) };
        for _ in 0..3 {
            let (now, cost) = (micros(random), number(random));
            let receipt = Receipt { at: micros(random), cost: number(random), limit };
            let asked = peek(&limit, key.as_ref(), now, cost);
            let (change, decision) = match random.below(5) {
                0 => decide_up_to(&limit, key.as_ref(), now, cost),
                1 => settle(&limit, key.as_ref(), now, cost),
                2 => refund(&limit, key.as_ref(), now, &receipt),
                _ => decide(&limit, key.as_ref(), now, cost),
            };
            change.apply(&mut key);
            assert!(
                asked.remaining <= limit.capacity() && decision.remaining <= limit.capacity(),
                "case {case}"
            );
            assert!(decision.is_granted() || decision.charged == 0, "case {case}: {decision:?}");
            assert!(asked.is_granted() || asked.remaining < cost, "case {case}: {asked:?} of {cost}");
            granted += u64::from(decision.is_granted());
        }
        let hits = [Mode::Enforced, Mode::Shadow, Mode::Enforced].map(|mode| Hit {
            target: usize::try_from(random.below(3)).unwrap_or(0),
            cost: number(random),
            mode,
        });
        let targets = [Target { limit: &limit, state: key.as_ref() }, Target { limit: &limit, state: None }];
        let batch = decide_batch(&targets, &hits, micros(random));
        assert!(
            !batch.granted || hits.iter().all(|hit| hit.target < 2 || hit.mode == Mode::Shadow),
            "case {case}"
        );
        assert_eq!(batch.decisions.len(), 3);
    }
    assert!(granted > CASES / 10, "{granted} granted: most of this was refused for a trivial reason");
}

#[test]
fn no_window_has_its_bounds_in_the_wrong_order() {
    for case in 0..CASES {
        let random = &mut Random::case(1, case);
        let (window, now) = (window(random), micros(random).min(Micros::INSTANT_MAX));
        let (start, end) = window.bounds(now);
        assert!(start <= now && now < end, "case {case}: {window:?} at {now:?}: {start:?} to {end:?}");
    }
}
