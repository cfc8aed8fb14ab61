//! Refusals that are remembered: a hot key that is refused hardly costs the store a call, and nobody is refused for it wrongly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tollgate::{FailureRule, Kind, Limit, Limiter, Micros, NamedLimit, Retry, Source, Window};

use crate::support::{World, many};

pub(crate) fn answered(limiter: &Limiter) -> u64 {
    limiter.store_health().expect("there is a store").answered
}

const ASKED_MIN: u64 = 60_000;

/// What came of a storm.
pub(crate) struct Storm {
    pub(crate) asked: u64,
    pub(crate) granted: u64,
    pub(crate) took: Duration,
}

/// Callers that ask as fast as they can, each for one limit and cost after the other, until so many have asked and so many were granted.
pub(crate) async fn storm(limiter: &Limiter, asks: &[(&NamedLimit, u64)], grants: u64) -> Storm {
    let (asked, granted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let start = Instant::now();
    let caller = |number: usize| {
        let limiter = limiter.clone();
        let asks: Vec<_> = asks.iter().map(|(limit, cost)| ((*limit).clone(), *cost)).collect();
        let (asked, granted) = (Arc::clone(&asked), Arc::clone(&granted));
        tokio::spawn(async move {
            let mut asks = asks.iter().cycle().skip(number);
            while granted.load(Ordering::Relaxed) < grants || asked.load(Ordering::Relaxed) < ASKED_MIN {
                let (limit, cost) = asks.next().expect("it goes round");
                let verdict = limiter.charge(&[limit.hit("hot").cost(*cost).non_refundable()]).await;
                let verdict = verdict.expect("the question is right");
                asked.fetch_add(1, Ordering::Relaxed);
                assert!(
                    !matches!(verdict.kind(), Kind::Unavailable(_)) && !verdict.is_degraded(),
                    "{verdict:?}"
                );
                if verdict.is_granted() {
                    granted.fetch_add(1, Ordering::Relaxed);
                } else {
                    tokio::task::yield_now().await;
                }
            }
        })
    };
    let callers: Vec<_> = (0..64).map(caller).collect();
    for caller in callers {
        caller.await.expect("it does not panic");
    }
    let [asked, granted] = [asked, granted].map(|count| count.load(Ordering::Relaxed));
    Storm { asked, granted, took: start.elapsed() }
}

#[test]
fn one_refused_hot_key_at_full_load_costs_the_store_at_most_one_call_in_a_hundred() {
    let world = World::new();
    let limiter = world.limiter();
    // Ten of them in half a second, one way or another.
    let span = Micros::from_millis(500);
    let limits = [
        Limit::token_bucket(2, 10, span).unwrap(),
        Limit::leaky_bucket(2, 10, span).unwrap(),
        Limit::gcra(2, 10, span).unwrap(),
        Limit::fixed_window(10, Window::Every(span)).unwrap(),
        Limit::sliding_window(10, span).unwrap(),
        Limit::sliding_window_buckets(10, span, 10).unwrap(),
        Limit::sliding_window_log(10, span).unwrap(),
    ];
    for (number, limit) in limits.into_iter().enumerate() {
        let named = limiter.limit(&format!("limit {number}"), limit);
        let before = answered(&limiter);
        let Storm { asked, took, .. } = world.runtime.block_on(storm(&limiter, &[(&named, 1)], 13));
        let calls = answered(&limiter) - before;
        println!("{limit}: {asked} asked in {took:?}, {calls} calls to the store");
        assert!(calls >= 13, "{limit}: what is granted is charged in the store");
        assert!(calls * 100 <= asked, "{limit}: {calls} calls for {asked} charges");
    }
    assert!(limiter.refused_from_memory() > 0);
}

#[test]
fn who_is_told_when_to_come_back_is_granted_then() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("slow", Limit::token_bucket(1, 2, Micros::SECOND).unwrap());
    let charge = || limiter.try_charge(&[limit.hit("ada").non_refundable()]).unwrap();
    for _ in 0..3 {
        assert!(charge().is_granted());
        let told: Vec<_> = (0..100).map(|_| charge()).collect();
        let last = told.last().unwrap();
        assert_eq!(last.results()[0].source(), Source::Remembered);
        assert!(!last.is_degraded());
        let Some(Retry::After(wait)) = last.retry() else { panic!("{last:?}") };
        let end = Instant::now() + Duration::from_micros(wait.get());
        while Instant::now() < end {
            std::hint::spin_loop();
        }
    }
}

#[test]
fn only_hits_for_good_are_remembered_and_only_until_the_key_is_reset() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("few", many(1));
    let charge = |non_refundable: bool| {
        let hit = limit.hit("ada");
        let verdict = limiter.try_charge(&[if non_refundable { hit.non_refundable() } else { hit }]).unwrap();
        (verdict.is_granted(), verdict.results()[0].source())
    };
    assert_eq!(charge(true), (true, Source::Own));
    // The grant has told that there is no room for another. (For a second: on a busy machine that may be over.)
    assert!((0..5).any(|_| charge(true) == (false, Source::Remembered)));
    assert_eq!(charge(false), (false, Source::Own));
    assert!(limiter.try_reset(&limit, "ada").unwrap());
    assert_eq!(charge(true), (true, Source::Own));
    // There is no receipt for what is never given back.
    let (verdict, receipt) = limiter.try_charge_for_receipt(&[limit.hit("grace").non_refundable()]).unwrap();
    assert!(verdict.is_granted() && receipt.is_none());
}

#[test]
fn a_remembered_refusal_refuses_the_whole_request_and_charges_nothing() {
    let world = World::new();
    let limiter = world.limiter();
    let (near, far) = (limiter.local_limit("near", many(9)), limiter.limit("far", many(9)));
    let narrow = limiter.limit("narrow", many(1));
    let charge =
        || limiter.try_charge(&[near.hit("k"), narrow.hit("k").non_refundable(), far.hit("k")]).unwrap();
    assert!(charge().is_granted());
    let calls = answered(&limiter);
    for _ in 0..10 {
        let verdict = charge();
        assert_eq!((verdict.is_granted(), verdict.refused_by()), (false, Some(1)));
        let sources: Vec<_> = verdict.results().iter().map(tollgate::HitResult::source).collect();
        assert_eq!(sources, [Source::Own, Source::Remembered, Source::Unasked]);
        assert_eq!(verdict.results()[0].decision().remaining, 8);
    }
    assert_eq!(answered(&limiter), calls, "nobody asked the store");
    assert_eq!(limiter.try_inspect(&far, "k").unwrap().decision.remaining, 8);
}

#[test]
fn what_is_remembered_holds_while_the_store_is_gone() {
    let world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(200));
    let limit = limiter.limit("few", Limit::token_bucket(1, 1, Micros::DAY).unwrap());
    assert!(limiter.try_charge(&[limit.hit("ada").non_refundable()]).unwrap().is_granted());
    world.server.signal("STOP").unwrap();
    let verdict = limiter.try_charge(&[limit.hit("ada").non_refundable()]).unwrap();
    world.server.signal("CONT").unwrap();
    assert!(!verdict.is_granted() && !verdict.is_degraded());
}

/// Limits of this process are given back as ever if the store refuses or cannot tell, though they are for good too.
#[test]
fn what_is_non_refundable_here_is_given_back_if_the_store_does_not_grant() {
    let world = World::new();
    let limiter = world.limiter_within(Duration::from_millis(200));
    let near = limiter.local_limit("near", many(9));
    let far = limiter.shared_limit("far", many(1), FailureRule::Deny);
    let ask = || {
        limiter
            .try_charge_for_receipt(&[near.hit("k").non_refundable(), far.hit("k").non_refundable()])
            .unwrap()
    };
    let left = || limiter.try_inspect(&near, "k").unwrap().decision.remaining;
    let (verdict, receipt) = ask();
    assert!(verdict.is_granted() && receipt.is_none() && left() == 8);
    assert!(limiter.try_reset(&far, "k").unwrap());
    // Asked and refused, by another's charge.
    let other = world.limiter();
    assert!(other.try_charge(&[other.limit("far", many(1)).hit("k")]).unwrap().is_granted());
    assert_eq!((ask().0.kind(), left()), (Kind::Refused, 8));
    limiter.try_reset(&far, "k").unwrap();
    world.server.signal("STOP").unwrap();
    assert!(matches!(ask().0.kind(), Kind::Unavailable(_)));
    world.server.signal("CONT").unwrap();
    assert_eq!(left(), 8);
}

/// Two hits on one key do not wait for each other.
#[test]
fn two_hits_on_one_key_are_asked_at_once() {
    let world = World::new();
    let limiter = world.limiter();
    let limit = limiter.limit("pairs", many(3));
    let pair =
        || limiter.try_charge(&[limit.hit("k").non_refundable(), limit.hit("k").non_refundable()]).unwrap();
    assert!(pair().is_granted());
    let start = Instant::now();
    assert_eq!(pair().kind(), Kind::Refused);
    assert_eq!(pair().kind(), Kind::Refused);
    // The budget is ten seconds.
    assert!(start.elapsed() < Duration::from_secs(5));
}
