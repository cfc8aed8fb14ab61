//! The cases that gate a release, as far as they concern the pure algorithms, by their numbers in `docs/PROOF.md`.

use tollgate_algorithms::{Hit, Limit, LimitError, Micros, Mode, Quota, Retry, Target, Window, decide_batch};

use crate::key::{Key, NOON, SECOND, each, name, wait};

/// 1: a hundred requests in one tick, limit 10. Logs that key entries by time count them as one.
#[test]
fn gate_01_a_hundred_hits_in_one_tick_admit_exactly_the_limit() {
    for limit in each(10, 60 * SECOND) {
        let mut key = Key::new(limit);
        let granted = (0..100).filter(|_| key.hit(NOON, 1).is_granted()).count();
        assert_eq!(granted, 10, "{}", name(&limit));
    }
}

/// 2: drain, idle for d, blast. Some limiters give a burst more after idling, others nearly two.
#[test]
fn gate_02_after_idling_a_bucket_holds_what_came_back_and_no_more() {
    let limits = [
        Limit::token_bucket(10, 1, Micros::SECOND),
        Limit::leaky_bucket(10, 1, Micros::SECOND),
        Limit::gcra(10, 1, Micros::SECOND),
    ];
    for limit in limits.map(Result::unwrap) {
        for idle in (0..=60 * SECOND).step_by(99_991) {
            let mut key = Key::new(limit);
            key.take(NOON, 10);
            assert_eq!(key.burst(NOON + idle, 100), (idle / SECOND).min(10), "{} idle {idle}", name(&limit));
        }
    }
}

/// 6: a cost over the capacity is never, not a wait, and charges nothing.
#[test]
fn gate_06_a_cost_over_the_capacity_is_never() {
    for limit in each(10, SECOND) {
        let mut key = Key::new(limit);
        key.hit(NOON, 3);
        let before = key.state.clone();
        for cost in [11, 1 << 53, u64::MAX] {
            assert_eq!(key.hit(NOON, cost).retry(), Some(Retry::Never), "{}", name(&limit));
        }
        assert_eq!(key.state, before, "{}", name(&limit));
    }
}

/// 7: numbers at the ends of their types are refused when the limit is built, or exact; never unlimited.
#[test]
fn gate_07_extreme_numbers_are_refused_or_exact() {
    let extremes =
        [1, 2, u64::from(u32::MAX), u64::from(u32::MAX) + 1, i64::MAX as u64, u64::MAX - 1, u64::MAX];
    for burst in extremes {
        for count in extremes {
            for period in extremes {
                match Quota::new(burst, count, Micros::new(period)) {
                    Ok(quota) => exhausts(Limit::TokenBucket(quota), burst),
                    Err(LimitError::QuotaTooLarge { nearest, .. }) => {
                        assert!(nearest.burst() <= burst, "{nearest}");
                        exhausts(Limit::TokenBucket(nearest), nearest.burst());
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
        for window in extremes.map(Micros::new) {
            let built = [
                Limit::fixed_window(burst, Window::Every(window)),
                Limit::sliding_window(burst, window),
                Limit::sliding_window_buckets(burst, window, 1),
                Limit::sliding_window_log(burst, window),
            ];
            built.into_iter().flatten().for_each(|limit| exhausts(limit, burst));
        }
    }
}

/// A key never seen gives exactly the capacity, then refuses.
fn exhausts(limit: Limit, capacity: u64) {
    let mut key = Key::new(limit);
    assert_eq!(key.take(NOON, u64::MAX), capacity, "{limit:?}");
    assert!(!key.hit(NOON, 1).is_granted() && !key.hit(NOON, u64::MAX).is_granted(), "{limit:?}");
}

/// 8: two thousand million per second, and one per ten years, are enforced exactly.
#[test]
fn gate_08_very_high_and_very_low_rates_are_exact() {
    let mut fast = Key::new(Limit::gcra(1, 2_000_000_000, Micros::SECOND).unwrap());
    assert_eq!(fast.burst(NOON, 100), 1);
    assert_eq!(fast.burst(NOON + 1, 100), 1); // 2000 come back in a microsecond, and 1 fits
    let mut wide = Key::new(Limit::gcra(5_000, 2_000_000_000, Micros::SECOND).unwrap());
    assert_eq!(wide.take(NOON, u64::MAX), 5_000);
    assert_eq!(wide.take(NOON + 1, u64::MAX), 2_000);

    let ten_years = 315_576_000 * SECOND;
    let mut slow = Key::new(Limit::gcra(1, 1, Micros::new(ten_years)).unwrap());
    assert!(slow.hit(NOON, 1).is_granted());
    assert_eq!(wait(&slow.hit(NOON, 1)), ten_years);
    assert!(!slow.hit(NOON + ten_years - 1, 1).is_granted());
    assert!(slow.hit(NOON + ten_years, 1).is_granted());
}

/// 9: 7 per 3 s does not divide. Here 10^5 steps; `cargo xtask proof` takes 10^8.
#[test]
fn gate_09_a_rate_that_does_not_divide_does_not_drift() {
    let mut key = Key::new(Limit::token_bucket(5, 7, Micros::from_secs(3)).unwrap());
    let mut admitted = 0;
    for step in 0..=100_000_u64 {
        admitted += key.take(NOON + step * 100_003, u64::MAX);
    }
    assert_eq!(admitted, 5 + 7 * 100_000 * 100_003 / (3 * SECOND));
}

/// 10: one tick before the retry, at the retry, and at the whole seconds that a header field can say.
#[test]
fn gate_10_obeying_the_retry_succeeds_and_a_tick_earlier_does_not() {
    for limit in each(7, 3 * SECOND) {
        let mut key = Key::new(limit);
        key.take(NOON + 1, 7);
        let refused = key.hit(NOON + 2, 2);
        let retry = NOON + 2 + wait(&refused);
        let header = NOON + 2 + Micros::new(wait(&refused)).secs_rounded_up() * SECOND;
        assert!(!key.peek(retry - 1, 2).is_granted(), "{}", name(&limit));
        assert!(key.peek(retry, 2).is_granted() && key.peek(header, 2).is_granted(), "{}", name(&limit));
    }
}

/// 11: the clock goes back an hour, then forward two: at most one capacity for each jump, at most one drain lost.
#[test]
fn gate_11_a_clock_that_jumps_neither_mints_nor_locks_out() {
    let hour = 3_600 * SECOND;
    for limit in each(10, 60 * SECOND) {
        let mut key = Key::new(limit);
        assert_eq!(key.take(NOON, u64::MAX), 10);
        let back = NOON - hour;
        assert_eq!(key.take(back, u64::MAX), 10, "{}: more than a drain ahead counts as none", name(&limit));
        assert!(wait(&key.peek(back, 1)) <= 120 * SECOND, "{}", name(&limit));
        assert_eq!(key.take(back + 2 * hour, u64::MAX), 10, "{}", name(&limit));

        let mut key = Key::new(limit);
        key.take(NOON, u64::MAX);
        // By less than a drain: nothing is gained, and the wait is that of the state's own time.
        assert_eq!(key.take(NOON - 30 * SECOND, u64::MAX), 0, "{}", name(&limit));
        assert!(wait(&key.peek(NOON - 30 * SECOND, 1)) <= 30 * SECOND + 120 * SECOND, "{}", name(&limit));
    }
}

/// 12: instants that arrive out of order credit nothing twice.
#[test]
fn gate_12_instants_out_of_order_credit_nothing_twice() {
    for limit in
        [Limit::token_bucket(5, 1, Micros::SECOND), Limit::gcra(5, 1, Micros::SECOND)].map(Result::unwrap)
    {
        let mut key = Key::new(limit);
        key.take(NOON, 5);
        let mut admitted = 0;
        for second in [1, 0, 1, 0, 2, 1, 0, 2, 3, 0, 3] {
            admitted += key.burst(NOON + second * SECOND, 100);
        }
        assert_eq!(admitted, 3, "{}: three seconds, three tokens", name(&limit));
    }
}

/// 13: a refused client that retries every millisecond is admitted exactly when the limit frees.
#[test]
fn gate_13_retrying_while_refused_delays_nothing() {
    for limit in each(10, SECOND) {
        let mut key = Key::new(limit);
        key.take(NOON, 10);
        let due = wait(&key.peek(NOON, 1));
        let admitted = (0..3_000).map(|ms| ms * 1_000).find(|&after| key.hit(NOON + after, 1).is_granted());
        assert_eq!(admitted, Some(due.div_ceil(1_000) * 1_000), "{}", name(&limit));
    }
}

// 14 is the subject of `adversary.rs`.

/// 15: three levels, refused by the third: the first two are as they were.
#[test]
fn gate_15_a_refusal_by_one_level_charges_no_other() {
    let levels = each(10, SECOND);
    let tight = Limit::fixed_window(1, Window::Every(Micros::SECOND)).unwrap();
    for pair in levels.windows(2) {
        let states = [Key::new(pair[0]), Key::new(pair[1]), Key::new(tight)].map(|mut key| {
            key.hit(NOON, 1);
            key.state
        });
        let limits = [&pair[0], &pair[1], &tight];
        let targets = [0, 1, 2].map(|key| Target { limit: limits[key], state: states[key].as_ref() });
        let hits = [0, 1, 2].map(|key| Hit { target: key, cost: 2, mode: Mode::Enforced });
        let batch = decide_batch(&targets, &hits, Micros::new(NOON));
        assert!(!batch.granted && batch.changes.is_empty());
        let refused: Vec<_> = batch.decisions.iter().map(|decision| !decision.is_granted()).collect();
        assert_eq!(refused, [false, false, true], "the answer names the level that refused");
        assert_eq!((batch.decisions[0].remaining, batch.decisions[1].remaining), (9, 9));
    }
}

/// 16: raising a rate on a live key denies nothing; lowering a limit below its usage leaves 0, and keeps it.
#[test]
fn gate_16_raising_denies_nothing_and_lowering_does_not_underflow() {
    let mut key = Key::new(Limit::token_bucket(10, 10, Micros::from_secs(60)).unwrap());
    key.take(NOON, 5);
    // redis-cell, raised from 10 per minute to 11 per minute, refuses here.
    for count in [11, 13, 20, 600, 1_000_003] {
        key.limit = Limit::token_bucket(10, count, Micros::from_secs(60)).unwrap();
        assert!(key.peek(NOON, 5).is_granted(), "{count}");
        assert_eq!(key.peek(NOON, 5).remaining, 5, "{count}");
    }
    for (limit, lower) in each(10, 60 * SECOND).into_iter().zip(each(3, 60 * SECOND)) {
        let mut key = Key::new(limit);
        key.take(NOON, 8);
        key.limit = lower;
        let peeked = key.peek(NOON, 1);
        assert!(
            !peeked.is_granted() && peeked.remaining == 0 && peeked.limit == 3,
            "{}: {peeked:?}",
            name(&limit)
        );
    }
}

/// 17: no refusal contradicts itself.
#[test]
fn gate_17_a_refusal_has_less_than_its_cost_left_and_something_to_wait_for() {
    for limit in each(10, SECOND) {
        let mut key = Key::new(limit);
        for step in 0..1_000 {
            let cost = 1 + step % 12;
            let decision = key.hit(NOON + step * 7_919, cost);
            match decision.retry() {
                None => assert!(decision.is_granted()),
                Some(Retry::Never) => assert!(cost > 10),
                Some(Retry::After(wait)) => assert!(decision.remaining < cost && wait > Micros::ZERO),
            }
        }
    }
}

/// 18, as far as it is arithmetic: 900 ms left are a whole second in a header field.
#[test]
fn gate_18_waits_are_rounded_up_to_seconds() {
    for (micros, seconds) in [(1, 1), (900_000, 1), (1_000_000, 1), (1_000_001, 2), (0, 0)] {
        assert_eq!(Micros::new(micros).secs_rounded_up(), seconds);
    }
}
