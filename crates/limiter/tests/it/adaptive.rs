//! Adaptive limits on permits: the limit follows a service that collapses, and every permit is released and recorded once.

use std::collections::VecDeque;
use std::time::Duration;

use tollgate::adaptive::{
    ADAPTIVE_KEYS_MAX, AdaptiveConcurrency, AdaptiveConfig, AdaptivePermit, Method, Outcome, Priority,
};

use crate::with_clock;

/// A service that can work on 20 requests at once, 20 ms each, and takes longer for each the more there are.
struct Server {
    working: VecDeque<(u64, AdaptivePermit)>,
    done: u64,
}

impl Server {
    /// A step of 1 ms: three requests arrive, 3 × what the service can do.
    fn step(&mut self, now: u64, limit: &AdaptiveConcurrency) {
        while self.working.front().is_some_and(|(until, _)| *until <= now) {
            let (_, mut permit) = self.working.pop_front().unwrap();
            permit.record(Outcome::Success);
            self.done += 1;
        }
        for _ in 0..3 {
            if let Ok(permit) = limit.try_acquire() {
                let load = u64::try_from(self.working.len()).unwrap();
                let slower = load.saturating_sub(20);
                self.working.push_back((now + 20 + slower + slower * slower / 20, permit));
            }
        }
    }
}

#[test]
fn the_limit_finds_what_the_service_can_do() {
    let (limiter, clock) = with_clock();
    let limit = limiter.adaptive("upstream", AdaptiveConfig::default());
    assert_eq!(limit.limit(), 8);
    let mut server = Server { working: VecDeque::new(), done: 0 };
    for now in 0..20_000 {
        clock.advance(Duration::from_millis(1));
        server.step(now, &limit);
        assert!(usize::try_from(limit.in_flight()).unwrap() == server.working.len());
    }
    assert!((15..=30).contains(&limit.limit()), "{limit:?}");
    let before = server.done;
    for now in 20_000..40_000 {
        clock.advance(Duration::from_millis(1));
        server.step(now, &limit);
        assert!(limit.limit() <= 40, "{limit:?}");
    }
    // One request per millisecond is what it can do.
    assert!(server.done - before >= 17_000, "{} of 20,000", server.done - before);
    assert!(limit.baseline().is_some_and(|base| base <= Duration::from_millis(25)), "{:?}", limit.baseline());
    server.working.clear();
    assert_eq!(limit.in_flight(), 0);
}

#[test]
fn lower_priorities_are_refused_first() {
    let (limiter, _clock) = with_clock();
    let config = AdaptiveConfig::default().with_range(40, 40, 40).unwrap();
    let limit = limiter.adaptive("upstream", config);
    let mut held = Vec::new();
    for (priority, share) in
        [(Priority::Low, 34), (Priority::Normal, 36), (Priority::High, 38), (Priority::Critical, 40)]
    {
        while let Ok(permit) = limit.try_acquire_with(priority) {
            held.push(permit);
        }
        assert_eq!(held.len(), share, "{priority:?}");
    }
    drop(held);
    assert_eq!(limit.in_flight(), 0);
}

#[test]
fn a_permit_without_a_report_teaches_nothing_and_two_reports_count_once() {
    let (limiter, clock) = with_clock();
    let limit = limiter.adaptive("upstream", AdaptiveConfig::default());
    for _ in 0..5_000 {
        let mut permit = limit.try_acquire().unwrap();
        clock.advance(Duration::from_millis(1));
        if permit.since().get() % 2 == 0 {
            drop(permit);
        } else {
            permit.record(Outcome::Ignored);
            permit.record(Outcome::Dropped);
        }
    }
    assert_eq!((limit.limit(), limit.in_flight(), limit.baseline()), (8, 0, None));
}

#[test]
fn each_key_has_a_limit_of_its_own_and_a_flood_of_keys_shares_one() {
    let (limiter, clock) = with_clock();
    let config = AdaptiveConfig::default().with_range(1, 1, 1).unwrap();
    let limits = limiter.adaptive_by_key("shards", config);
    let first = limits.of("a").try_acquire().unwrap();
    limits.of("a").try_acquire().expect_err("its limit is 1");
    let second = limits.of("b").try_acquire().unwrap();
    assert_eq!((limits.keys(), limits.in_flight(), limits.limit()), (2, 2, 2));
    for key in 0..ADAPTIVE_KEYS_MAX as u64 {
        drop(limits.of(key).try_acquire().unwrap());
    }
    assert_eq!(limits.keys(), ADAPTIVE_KEYS_MAX);
    // New keys have no room: they share one limit.
    let third = limits.of("c").try_acquire().unwrap();
    limits.of("d").try_acquire().expect_err("it shares the limit of `c`");
    clock.advance(Duration::from_secs(20));
    drop(limits.of("e").try_acquire().unwrap());
    // Those that hold a permit were kept.
    assert_eq!(limits.keys(), 3);
    limits.of("a").try_acquire().expect_err("its permit is held");
    drop((first, second, third));
    assert_eq!(limits.in_flight(), 0);
}

#[test]
fn limits_of_one_name_and_configuration_share_what_they_learn() {
    let (limiter, _clock) = with_clock();
    let one = limiter.adaptive("upstream", AdaptiveConfig::default());
    let permit = one.try_acquire().unwrap();
    let same = limiter.adaptive("upstream", AdaptiveConfig::default());
    assert_eq!(same.in_flight(), 1);
    // Another method learns for itself, and counts the same permits.
    let other = limiter.adaptive("upstream", AdaptiveConfig::new(Method::Vegas));
    assert_eq!((other.in_flight(), other.limit()), (1, 8));
    drop(permit);
}

#[test]
fn a_fixed_limit_refuses_lower_priorities_first_too() {
    let (limiter, _clock) = with_clock();
    let limit = limiter.concurrency("reports", 40);
    let mut held = Vec::new();
    for (priority, share) in [(Priority::Low, 34), (Priority::Critical, 40)] {
        while let Ok(permit) = limit.try_acquire_with("ada", priority) {
            held.push(permit);
        }
        assert_eq!(held.len(), share, "{priority:?}");
    }
    assert_eq!((limit.total_in_flight(), limit.total_waiting()), (40, 0));
    drop(held);
    assert_eq!(limit.total_in_flight(), 0);
}
