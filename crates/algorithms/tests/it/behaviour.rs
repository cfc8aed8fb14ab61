//! Single decisions that are easy to get wrong.

use tollgate_algorithms::{
    Decision, Hit, Limit, Micros, Mode, Outcome, Retry, Target, UtcOffset, Window, decide_batch,
};

use crate::key::{Key, NOON, SECOND, each, name, of, wait};
use tollgate_algorithms::Algorithm;

#[test]
fn a_limit_of_zero_denies_everything_for_ever() {
    for limit in each(5, SECOND).into_iter().zip(Algorithm::ALL).map(|(_, algorithm)| zero(algorithm)) {
        let mut key = Key::new(limit);
        let refused = key.hit(NOON, 1);
        assert_eq!(refused.outcome, Outcome::Refused(Retry::Never), "{}", name(&limit));
        assert_eq!((refused.limit, refused.remaining, refused.reset_after), (0, 0, Micros::ZERO));
        assert!(key.hit(NOON, 0).is_granted() && key.take(NOON, 9) == 0 && key.settle(NOON, 9).charged == 0);
        assert_eq!(key.state, None, "{}", name(&limit));
    }
}

fn zero(algorithm: Algorithm) -> Limit {
    match algorithm {
        Algorithm::TokenBucket => Limit::token_bucket(0, 1, Micros::SECOND).unwrap(),
        Algorithm::LeakyBucket => Limit::leaky_bucket(0, 1, Micros::SECOND).unwrap(),
        Algorithm::Gcra => Limit::gcra(0, 1, Micros::SECOND).unwrap(),
        Algorithm::FixedWindow
        | Algorithm::SlidingWindow
        | Algorithm::SlidingWindowBuckets
        | Algorithm::SlidingWindowLog => of(algorithm, 0, SECOND),
    }
}

#[test]
fn unlimited_is_a_word_of_its_own() {
    let mut key = Key::new(Limit::Unlimited);
    let decision = key.hit(NOON, u64::MAX);
    assert!(decision.is_granted() && key.state.is_none());
    assert_eq!((decision.limit, decision.remaining), (Decision::UNLIMITED, Decision::UNLIMITED));
    assert_eq!(key.limit.algorithm(), None);
}

#[test]
fn a_cost_of_zero_is_granted_and_tells_how_the_key_stands() {
    for limit in each(3, SECOND) {
        let mut key = Key::new(limit);
        key.take(NOON, 3);
        let before = key.state.clone();
        let asked = key.hit(NOON, 0);
        assert!(asked.is_granted() && asked.charged == 0 && asked.remaining == 0, "{}", name(&limit));
        assert_eq!(key.state, before, "{}", name(&limit));
        assert!(asked.receipt(&limit).is_none());
    }
}

#[test]
fn a_partial_grant_charges_exactly_what_it_grants() {
    for limit in each(10, 60 * SECOND) {
        let mut key = Key::new(limit);
        assert_eq!(key.take(NOON, 7), 7, "{}", name(&limit));
        assert_eq!(key.take(NOON, 7), 3, "{}", name(&limit));
        assert_eq!(key.take(NOON, 7), 0, "{}", name(&limit));
    }
    // redis_rate charges the fraction and returns the floor: after 1.5 tokens, half a token would be lost here.
    let mut bucket = Key::new(Limit::token_bucket(2, 1, Micros::SECOND).unwrap());
    bucket.take(NOON, 2);
    assert_eq!(bucket.take(NOON + SECOND * 3 / 2, 5), 1);
    assert_eq!(wait(&bucket.peek(NOON + SECOND * 3 / 2, 1)), SECOND / 2);
}

#[test]
fn a_settled_cost_overdraws_by_at_most_one_capacity() {
    for limit in each(10, 60 * SECOND) {
        let mut key = Key::new(limit);
        key.take(NOON, 8);
        assert_eq!(key.settle(NOON, 5).charged, 5, "{}", name(&limit));
        assert_eq!(key.settle(NOON, 1_000).charged, 7, "{}: the rest is forgiven", name(&limit));
        assert_eq!(key.settle(NOON, 1).charged, 0, "{}", name(&limit));
        let refused = key.peek(NOON, 1);
        assert!(!refused.is_granted() && refused.remaining == 0, "{}", name(&limit));
        assert!(key.peek(NOON + wait(&refused), 1).is_granted(), "{}", name(&limit));
    }
}

#[test]
fn a_refund_gives_back_once_what_has_not_come_back_by_itself() {
    let mut key = Key::new(Limit::token_bucket(10, 1, Micros::SECOND).unwrap());
    let receipt = key.hit(NOON, 5).receipt(&key.limit).unwrap();
    assert_eq!(key.refund(NOON + 2 * SECOND, &receipt).remaining, 10);
    let receipt = key.hit(NOON + 3 * SECOND, 5).receipt(&key.limit).unwrap();
    key.hit(NOON + 3 * SECOND, 5);
    // Two of the five have been refilled since; three are given back.
    assert_eq!(key.refund(NOON + 5 * SECOND, &receipt).remaining, 5);
}

#[test]
fn a_refund_into_another_window_gives_nothing() {
    for algorithm in [Algorithm::FixedWindow, Algorithm::SlidingWindowLog, Algorithm::SlidingWindowBuckets] {
        let mut key = Key::new(of(algorithm, 10, SECOND));
        let receipt = key.hit(NOON, 5).receipt(&key.limit).unwrap();
        key.hit(NOON + SECOND, 5);
        assert_eq!(key.refund(NOON + SECOND, &receipt).remaining, 5, "{}", algorithm.name());
    }
    let mut counts = Key::new(of(Algorithm::SlidingWindow, 10, SECOND));
    let receipt = counts.hit(NOON, 5).receipt(&counts.limit).unwrap();
    counts.hit(NOON + SECOND, 1);
    assert_eq!(counts.refund(NOON + SECOND, &receipt).remaining, 9, "the previous window still holds it");
    counts.hit(NOON + 2 * SECOND, 1);
    assert_eq!(counts.refund(NOON + 2 * SECOND, &receipt).remaining, 8, "and now it does not");
}

#[test]
fn a_receipt_is_void_under_other_numbers() {
    for (limit, other) in each(10, SECOND).into_iter().zip(each(11, SECOND)) {
        let mut key = Key::new(limit);
        let receipt = key.hit(NOON, 5).receipt(&limit).unwrap();
        key.limit = other;
        assert_eq!(key.refund(NOON, &receipt).remaining, 6, "{}", name(&limit));
    }
}

/// Two processes with two sets of numbers, while one is reloaded and the other not yet.
#[test]
fn a_bucket_that_was_charged_under_another_period_since_gives_nothing_back() {
    let slow = Limit::token_bucket(10, 1, Micros::DAY).unwrap();
    let fast = Limit::token_bucket(10, 10, Micros::SECOND).unwrap();
    let mut key = Key::new(slow);
    let receipt = key.hit(NOON, 5).receipt(&slow).unwrap();
    key.limit = fast;
    assert_eq!(key.take(NOON + SECOND, 100), 10, "what was charged has drained by these numbers");
    key.limit = slow;
    assert_eq!(key.refund(NOON + SECOND, &receipt).remaining, 0);
    key.limit = fast;
    assert_eq!(key.take(NOON + SECOND, 100), 0);
}

#[test]
fn a_refund_of_everything_leaves_nothing_behind() {
    for limit in each(10, SECOND) {
        let mut key = Key::new(limit);
        let receipts = [3, 4].map(|cost| key.hit(NOON, cost).receipt(&limit).unwrap());
        for receipt in &receipts {
            key.refund(NOON, receipt);
        }
        assert_eq!(key.state, None, "{}", name(&limit));
    }
}

#[test]
fn a_changed_algorithm_starts_afresh() {
    let limits = each(10, SECOND);
    for (before, after) in limits.iter().zip(limits.iter().cycle().skip(1)) {
        let mut key = Key::new(*before);
        key.take(NOON, 10);
        key.limit = *after;
        assert_eq!(key.take(NOON, u64::MAX), 10, "{} to {}", name(before), name(after));
        assert!(!key.hit(NOON, 1).is_granted());
    }
}

#[test]
fn a_window_in_progress_keeps_its_end_when_its_length_changes() {
    let hourly = Limit::fixed_window(10, Window::Every(Micros::HOUR)).unwrap();
    let daily = Limit::fixed_window(10, Window::Day(UtcOffset::UTC)).unwrap();
    for (before, after, end) in [(hourly, daily, 3_600 * SECOND), (daily, hourly, 12 * 3_600 * SECOND)] {
        let mut key = Key::new(before);
        key.take(NOON, 10);
        key.limit = after;
        assert_eq!(wait(&key.peek(NOON, 1)), end, "counted from noon");
        assert!(key.peek(NOON + end, 10).is_granted());
    }
}

/// Were a debt rounded up to whole cells when the period changes, half a cell that has drained by half a cell would be
/// read as half a cell, and a raise would refuse what was granted.
#[test]
fn a_raise_between_rates_that_do_not_divide_punishes_nobody() {
    let mut key = Key::new(Limit::token_bucket(1, 1, Micros::new(1_000_000)).unwrap());
    key.take(NOON, 1);
    for (after, count, period) in [(1_000_000, 1_000_001, 1_000_000_000_000), (1_000_000, 7, 6_999_999)] {
        let raised = Limit::token_bucket(1, count, Micros::new(period)).unwrap();
        assert!(key.peek(NOON + after, 1).is_granted());
        assert!(
            Key { limit: raised, ..key.clone() }.peek(NOON + after, 1).is_granted(),
            "{count} per {period}"
        );
    }
}

/// Lowered and raised again, with charges in between: nothing that was used is forgotten on the way.
#[test]
fn lowering_and_raising_again_mints_nothing() {
    for (limit, lower) in each(1_000, 60 * SECOND).into_iter().zip(each(10, 60 * SECOND)) {
        let mut key = Key::new(limit);
        key.take(NOON, 1_000);
        key.limit = lower;
        assert_eq!(key.settle(NOON, 1).charged, 0, "{}", name(&limit));
        assert_eq!(key.take(NOON, u64::MAX), 0, "{}", name(&limit));
        key.limit = limit;
        assert_eq!(key.take(NOON, u64::MAX), 0, "{}", name(&limit));
    }
}

/// What is owed when a burst is lowered stays owed, and the new rate pays for it.
#[test]
fn a_debt_larger_than_a_lowered_burst_is_paid_at_the_new_rate() {
    let mut key = Key::new(Limit::token_bucket(100, 100, Micros::MINUTE).unwrap());
    key.take(NOON, 100);
    key.limit = Limit::token_bucket(10, 10, Micros::MINUTE).unwrap();
    assert_eq!(wait(&key.peek(NOON, 1)), (100 - 9) * 6 * SECOND);
    key.limit = Limit::token_bucket(10, 100, Micros::MINUTE).unwrap();
    assert_eq!(wait(&key.peek(NOON, 1)), (100 - 9) * SECOND * 6 / 10);
}

/// A charge in the shadow that does not fit is left out, and told how the key stands without it.
#[test]
fn a_shadow_hit_that_is_left_out_gets_an_honest_answer() {
    let limit = Limit::token_bucket(10, 1, Micros::SECOND).unwrap();
    let targets = [Target { limit: &limit, state: None }];
    let hit = |cost, mode| Hit { target: 0, cost, mode };
    let hits = [hit(8, Mode::Enforced), hit(5, Mode::Shadow), hit(2, Mode::Shadow), hit(0, Mode::Enforced)];
    let batch = decide_batch(&targets, &hits, Micros::new(NOON));
    assert!(batch.granted && batch.changes.len() == 1);
    let told: Vec<_> =
        batch.decisions.iter().map(|told| (told.is_granted(), told.charged, told.remaining)).collect();
    assert_eq!(told, [(true, 8, 2), (false, 0, 2), (true, 2, 0), (true, 0, 2)]);
    assert_eq!(batch.decisions[1].retry(), Some(Retry::After(Micros::from_secs(3))));
}

/// Two hits that fit alone and not together: the second waits for both, and one of no cost is granted all the same.
#[test]
fn hits_on_one_key_add_up() {
    let limit = Limit::token_bucket(10, 1, Micros::SECOND).unwrap();
    let mut key = Key::new(limit);
    key.hit(NOON, 2);
    let targets = [Target { limit: &limit, state: key.state.as_ref() }];
    let hits = [5, 5, 0].map(|cost| Hit { target: 0, cost, mode: Mode::Enforced });
    let batch = decide_batch(&targets, &hits, Micros::new(NOON));
    let retries: Vec<_> = batch.decisions.iter().map(Decision::retry).collect();
    assert!(!batch.granted);
    assert_eq!(retries, [None, Some(Retry::After(Micros::from_secs(2))), None]);
    let missing =
        decide_batch(&targets, &[Hit { target: 7, cost: 1, mode: Mode::Enforced }], Micros::new(NOON));
    assert!(!missing.granted && missing.decisions[0].retry() == Some(Retry::Never));
}

/// A refusal far in the future, then an instant before it: the refusal has freed nothing.
#[test]
fn a_refusal_frees_nothing_for_instants_out_of_order() {
    let mut key = Key::new(Limit::sliding_window_log(10, Micros::new(100)).unwrap());
    key.hit(890, 5);
    key.hit(950, 5);
    assert!(!key.hit(1_000, 10).is_granted());
    assert_eq!(wait(&key.hit(960, 5)), 30);
}

#[test]
fn instants_at_the_ends_of_their_type_are_safe() {
    for limit in each(3, SECOND) {
        let mut key = Key::new(limit);
        assert!(key.hit(0, 1).is_granted(), "{}", name(&limit));
        assert!(key.hit(u64::MAX, 1).is_granted(), "{}", name(&limit));
        assert!(key.hit(u64::MAX, 1).is_granted(), "{}", name(&limit));
        assert_eq!(key.hit(u64::MAX, 0).at, Micros::INSTANT_MAX);
    }
}

/// Changed from sixty buckets to one while many are in use, the list stays short, and counts everything.
#[test]
fn fewer_buckets_merge_and_lose_nothing() {
    let many = Limit::sliding_window_buckets(100, Micros::new(6_000), 60).unwrap();
    let one = Limit::sliding_window_buckets(100, Micros::new(6_000), 1).unwrap();
    let mut key = Key::new(many);
    for step in 0..50 {
        key.hit(6_000 + step * 100, 1);
    }
    key.limit = one;
    for step in 50..60 {
        assert_eq!(key.hit(6_000 + step * 100, 1).remaining, 99 - step);
    }
    let Some(tollgate_algorithms::State::SlidingWindowBuckets(list)) = &key.state else {
        panic!("{:?}", key.state)
    };
    assert_eq!((list.len(), list.is_empty()), (50, false));
}

/// A window of a minute that is in progress when the limit becomes one per hour: what is charged into it then is not in
/// the hour's window, and is not given back from there.
#[test]
fn a_refund_does_not_reach_into_a_window_that_began_later() {
    let minutely = Limit::fixed_window(100, Window::Every(Micros::MINUTE)).unwrap();
    let mut key = Key::new(minutely);
    key.hit(NOON + 30 * SECOND, 1);
    key.limit = Limit::fixed_window(1_000, Window::Every(Micros::HOUR)).unwrap();
    let receipt = key.hit(NOON + 40 * SECOND, 400).receipt(&key.limit).unwrap();
    // Also when the new window is emptied again by a refund of its own.
    let own = key.hit(NOON + 60 * SECOND, 5).receipt(&key.limit).unwrap();
    assert_eq!(key.refund(NOON + 60 * SECOND, &own).remaining, 1_000);
    assert_eq!(key.take(NOON + 60 * SECOND, u64::MAX), 1_000);
    assert_eq!(key.refund(NOON + 60 * SECOND, &receipt).remaining, 0);
}

/// A debt whose units in the new period need more than 64 bits is waited for as exactly as any other.
#[test]
fn a_debt_beyond_64_bits_has_an_honest_retry() {
    let mut key = Key::new(Limit::gcra(300_000_000, 1, Micros::new(1)).unwrap());
    key.take(NOON, u64::MAX);
    let quota = tollgate_algorithms::Quota::new(50_000, 86_399_999_999, Micros::DAY).unwrap();
    key.limit = Limit::Gcra(quota);
    let refused = key.peek(NOON, 1);
    let retry = NOON + wait(&refused);
    assert!(
        wait(&refused) < 300 * SECOND
            && key.peek(retry, 1).is_granted()
            && !key.peek(retry - 1, 1).is_granted()
    );
    let Some(tollgate_algorithms::State::Gcra(debt)) = &key.state else { panic!("{:?}", key.state) };
    let arrival = tollgate_algorithms::algorithm::gcra::arrival(&quota, debt);
    assert_eq!(arrival, Micros::new(NOON).saturating_add(refused.reset_after));
}

/// A key that once held a long list, and is quiet since, does not keep the memory of it.
#[test]
fn a_list_gives_memory_back() {
    let mut key = Key::new(Limit::sliding_window_log(Limit::LOG_MAX, Micros::SECOND).unwrap());
    for at in 0..Limit::LOG_MAX {
        assert!(key.hit(NOON + at, 1).is_granted());
    }
    let heap = |key: &Key| match &key.state {
        Some(tollgate_algorithms::State::SlidingWindowLog(list)) => list.heap_bytes(),
        other => panic!("{other:?}"),
    };
    assert_eq!(heap(&key), 1 << 20);
    key.hit(NOON + 2 * SECOND, 1);
    assert!(heap(&key) <= 32 * 16, "{} bytes", heap(&key));
}
