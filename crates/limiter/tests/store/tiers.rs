//! Hot keys on which refusals are remembered, with several numbers, several costs, or none that fit: they hardly cost the store a call
//! beyond what is granted, and the answers are those of the server.

use std::time::Duration;

use tokio::time::Instant;
use tollgate::{Limit, Limiter, Micros, NamedLimit, Retry, Source, Window};

use crate::remembered::{Storm, answered, storm};
use crate::support::World;

/// Asks until so many were granted, and prints what it cost.
#[expect(clippy::print_stdout, reason = "the shares are what one wants to see")]
fn costs_little(world: &World, limiter: &Limiter, asks: &[(&NamedLimit, u64)], grants: u64) -> Storm {
    let before = answered(limiter);
    let storm = world.runtime.block_on(storm(limiter, asks, grants));
    let calls = answered(limiter) - before;
    let Storm { asked, granted, took } = &storm;
    let numbers: Vec<_> = asks.iter().map(|(limit, cost)| format!("{cost} of {}", limit.limit())).collect();
    println!("{numbers:?}: {asked} asked in {took:?}, {calls} calls to the store, {granted} grants");
    assert!(calls >= *granted, "{numbers:?}: what is granted is charged in the store");
    assert!((calls - granted) * 100 <= *asked, "{numbers:?}: {calls} calls, {granted} of {asked} granted");
    storm
}

/// For each algorithm, numbers that are mostly refused, and larger ones that take what there is.
fn tiers() -> Vec<[Limit; 2]> {
    let span = Micros::from_millis(500);
    vec![
        [(2, 10), (8, 20)].map(|(burst, count)| Limit::token_bucket(burst, count, span).expect("a limit")),
        [(2, 10), (8, 20)].map(|(burst, count)| Limit::leaky_bucket(burst, count, span).expect("a limit")),
        [(2, 10), (8, 20)].map(|(burst, count)| Limit::gcra(burst, count, span).expect("a limit")),
        [5, 20].map(|limit| Limit::fixed_window(limit, Window::Every(span)).expect("a limit")),
        [5, 20].map(|limit| Limit::sliding_window(limit, span).expect("a limit")),
        [(5, 10), (20, 20)].map(|(limit, n)| Limit::sliding_window_buckets(limit, span, n).expect("a limit")),
        [(5, 600), (20, 500)]
            .map(|(limit, ms)| Limit::sliding_window_log(limit, Micros::from_millis(ms)).expect("a limit")),
    ]
}

#[test]
fn a_hot_key_with_two_tiers_costs_the_store_hardly_a_call_beyond_its_grants() {
    let world = World::new();
    let limiter = world.limiter();
    for (number, tiers) in tiers().into_iter().enumerate() {
        let name = format!("tiers {number}");
        let [free, paid] = tiers.map(|limit| limiter.limit(&name, limit));
        let Storm { granted, took, .. } = costs_little(&world, &limiter, &[(&free, 1), (&paid, 1)], 40);
        // Whoever asks, no more is granted than the larger of them grants: at most twice in a window, and 20 in each after that.
        let windows = u64::try_from(took.as_millis()).unwrap() / 500 + 2;
        assert!(granted <= 20 * windows, "{}: {granted} in {took:?}", tiers[1]);
    }
    // Both are refused.
    for (number, tiers) in tiers().into_iter().enumerate() {
        let name = format!("full {number}");
        let day = |limit: Limit| match limit {
            Limit::TokenBucket(quota) => Limit::token_bucket(quota.burst(), 1, Micros::DAY).unwrap(),
            Limit::LeakyBucket(quota) => Limit::leaky_bucket(quota.burst(), 1, Micros::DAY).unwrap(),
            Limit::Gcra(quota) => Limit::gcra(quota.burst(), 1, Micros::DAY).unwrap(),
            Limit::FixedWindow(rule) => {
                Limit::fixed_window(rule.limit(), Window::Every(Micros::HOUR)).unwrap()
            }
            Limit::SlidingWindow(rule) => Limit::sliding_window(rule.limit(), Micros::DAY).unwrap(),
            Limit::SlidingWindowBuckets(rule) => {
                Limit::sliding_window_buckets(rule.limit(), Micros::DAY, rule.buckets()).unwrap()
            }
            Limit::SlidingWindowLog(rule) => Limit::sliding_window_log(rule.limit(), Micros::DAY).unwrap(),
            Limit::Unlimited => limit,
        };
        let [free, paid] = tiers.map(|limit| limiter.limit(&name, day(limit)));
        costs_little(&world, &limiter, &[(&free, 1), (&paid, 1)], 0);
    }
}

#[test]
fn several_costs_on_a_hot_key_cost_the_store_hardly_a_call_beyond_its_grants() {
    let world = World::new();
    let limiter = world.limiter();
    for (number, [_, limit]) in tiers().into_iter().enumerate() {
        let limit = limiter.limit(&format!("costs {number}"), limit);
        costs_little(&world, &limiter, &[(&limit, 1), (&limit, 2), (&limit, 5)], 20);
    }
}

#[test]
fn what_never_fits_on_a_key_that_is_not_there_costs_the_store_hardly_a_call() {
    let world = World::new();
    let limiter = world.limiter();
    let span = Micros::SECOND;
    for (number, (limit, cost)) in [
        (Limit::token_bucket(0, 1, span).unwrap(), 1),
        (Limit::fixed_window(0, Window::Every(span)).unwrap(), 1),
        (Limit::sliding_window_log(0, span).unwrap(), 1),
        (Limit::token_bucket(5, 1, span).unwrap(), 6),
        (Limit::sliding_window(5, span).unwrap(), 6),
        (Limit::sliding_window_buckets(5, span, 5).unwrap(), 6),
    ]
    .into_iter()
    .enumerate()
    {
        let named = limiter.limit(&format!("never {number}"), limit);
        let storm = costs_little(&world, &limiter, &[(&named, cost)], 0);
        assert_eq!(storm.granted, 0);
        let verdict = limiter.try_charge(&[named.hit("hot").cost(cost).non_refundable()]).unwrap();
        assert_eq!(verdict.retry(), Some(Retry::Never));
        assert_eq!(verdict.results()[0].decision().remaining, limit.capacity());
        if limit.capacity() > 0 {
            assert!(
                limiter.try_charge(&[named.hit("hot").non_refundable()]).unwrap().is_granted(),
                "one that fits"
            );
        }
    }
}

/// Nobody else charges: who would be granted a moment before is granted.
#[test]
fn who_would_be_granted_under_any_numbers_is_never_refused_from_memory() {
    let world = World::new();
    let limiter = world.limiter();
    let ms = Micros::from_millis;
    let mut mixed = 7_u64;
    for (number, tiers) in [
        [(5, 20), (9, 3)].map(|(burst, each)| Limit::token_bucket(burst, 1, ms(each)).unwrap()),
        [(5, 3), (9, 20)].map(|(burst, each)| Limit::gcra(burst, 1, ms(each)).unwrap()),
        [(5, 40), (9, 15)].map(|(limit, each)| Limit::fixed_window(limit, Window::Every(ms(each))).unwrap()),
        [(5, 40), (9, 15)].map(|(limit, each)| Limit::sliding_window(limit, ms(each)).unwrap()),
        [(5, 40), (9, 15)].map(|(limit, each)| Limit::sliding_window_buckets(limit, ms(each), 5).unwrap()),
        [(5, 40), (9, 15)].map(|(limit, each)| Limit::sliding_window_log(limit, ms(each)).unwrap()),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("right {number}");
        let named = tiers.map(|limit| limiter.limit(&name, limit));
        let (before, mut granted, mut step) = (limiter.refused_from_memory(), 0, 0);
        while step < 2_000 || granted < 20 {
            step += 1;
            mixed = mixed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (which, cost) = (mixed >> 33 & 1, [1, 2, 5, 7][usize::try_from(mixed >> 40 & 3).unwrap()]);
            let hit = || named[usize::try_from(which).unwrap()].hit("hot").cost(cost);
            let fits = limiter.try_peek(&[hit()]).unwrap().is_granted();
            let verdict = limiter.try_charge(&[hit().non_refundable()]).unwrap();
            assert!(verdict.is_granted() || !fits, "{tiers:?}, step {step}, cost {cost}: {verdict:?}");
            granted += u32::from(verdict.is_granted());
        }
        let told = limiter.refused_from_memory() - before;
        println!("{} and {}: {told} of {step} told from memory, {granted} granted", tiers[0], tiers[1]);
        assert!(told > 100, "{tiers:?}: {told} told, {granted} granted");
    }
}

/// A charge that gives room to others is heeded, though nothing is remembered of it.
#[test]
fn what_is_charged_under_other_numbers_and_may_be_given_back_is_heeded() {
    let world = World::new();
    let limiter = world.limiter();
    for (number, charge) in [
        |limiter: &Limiter, quick: &NamedLimit| limiter.try_charge(&[quick.hit("hot")]).unwrap().is_granted(),
        |limiter: &Limiter, quick: &NamedLimit| {
            limiter.try_charge(&[quick.hit("hot").shadow()]).unwrap().is_granted()
        },
        |limiter: &Limiter, quick: &NamedLimit| {
            limiter.try_charge_up_to(&quick.hit("hot")).unwrap().is_granted()
        },
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("otherwise {number}");
        let slow = limiter.limit(&name, Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
        let quick = limiter.limit(&name, Limit::token_bucket(9, 10_000, Micros::SECOND).unwrap());
        let ask = || limiter.try_charge(&[slow.hit("hot").non_refundable()]).unwrap();
        assert!((0..3).all(|_| ask().is_granted()));
        // Remembered for a second: on a busy machine that may be over.
        assert!((0..5).any(|_| ask().results()[0].source() == Source::Remembered));
        // By its numbers all that is owed drains in less than a millisecond.
        let end = Instant::now() + Duration::from_millis(1);
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        assert!(charge(&limiter, &quick));
        assert!(ask().is_granted(), "{name}: one is owed, and not three");
    }
}
