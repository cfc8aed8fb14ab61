//! Whoever knows the algorithm gets its bound, and not one hit more. Case 14 of the release gate.

use tollgate_algorithms::{Limit, Micros};

use crate::key::{Key, each, name, of};
use tollgate_algorithms::Algorithm;

/// The most that any span of `window` admitted: (t − window, t], for every t.
fn most_in_a_window(admitted: &[(u64, u64)], window: u64) -> u64 {
    let sum_from = |(index, &(start, _)): (usize, &(u64, u64))| -> u64 {
        admitted[index..].iter().take_while(|(at, _)| at - start < window).map(|(_, cost)| cost).sum()
    };
    admitted.iter().enumerate().map(sum_from).max().unwrap_or(0)
}

/// Takes all it can get in every microsecond of four windows, beginning with each phase of a window.
fn greedy(limit: Limit, window: u64, wait: u64) -> u64 {
    let mut most = 0;
    for phase in 0..window {
        let mut key = Key::new(limit);
        let start = 100 * window + phase;
        let mut admitted = vec![(start, key.take(start, u64::MAX))];
        for at in start + wait..start + wait + 4 * window {
            let taken = key.take(at, u64::MAX);
            if taken > 0 {
                admitted.push((at, taken));
            }
        }
        most = most.max(most_in_a_window(&admitted, window));
    }
    most
}

#[test]
fn the_fixed_window_gives_twice_its_limit_around_a_boundary() {
    for (limit, window) in [(2, 10), (5, 50), (10, 100), (100, 200)] {
        assert_eq!(greedy(of(Algorithm::FixedWindow, limit, window), window, 1), 2 * limit);
    }
}

#[test]
fn the_two_counts_give_twice_their_limit_less_one() {
    for (limit, window) in [(2, 10), (5, 50), (10, 100), (100, 1_000)] {
        let limit_of = of(Algorithm::SlidingWindow, limit, window);
        // All at the last tick of a window, then one by one as the estimate allows.
        let mut key = Key::new(limit_of);
        let last_tick = 100 * window - 1;
        let mut admitted = vec![(last_tick, key.take(last_tick, u64::MAX))];
        for at in last_tick + 1..last_tick + window {
            admitted.push((at, key.take(at, u64::MAX)));
        }
        assert_eq!(most_in_a_window(&admitted, window), 2 * limit - 1, "{limit} per {window}");
        assert!(greedy(limit_of, window, 1) < 2 * limit, "and nobody gets more");
    }
}

#[test]
fn the_log_and_the_buckets_give_exactly_their_limit() {
    for algorithm in [Algorithm::SlidingWindowLog, Algorithm::SlidingWindowBuckets] {
        for (limit, window) in [(2, 10), (5, 50), (10, 100), (100, 200)] {
            let most = greedy(of(algorithm, limit, window), window, 1);
            assert_eq!(most, limit, "{} {limit} per {window}", algorithm.name());
        }
    }
}

#[test]
fn buckets_and_gcra_give_a_burst_and_the_rate() {
    for algorithm in [Algorithm::TokenBucket, Algorithm::LeakyBucket, Algorithm::Gcra] {
        for (limit, window) in [(2, 10), (5, 50), (10, 100), (100, 200)] {
            // In (t − window, t] there are window − 1 ticks after the first: capacity + rate × (window − 1).
            let most = greedy(of(algorithm, limit, window), window, 1);
            assert_eq!(most, limit + limit * (window - 1) / window, "{} {limit}/{window}", algorithm.name());
        }
    }
}

/// The two-count window may also refuse too much: all its hits left the true window, and it still counts them.
#[test]
fn the_two_counts_may_refuse_with_an_empty_true_window() {
    let mut key = Key::new(Limit::sliding_window(10, Micros::new(1_000)).unwrap());
    assert_eq!(key.take(5_000, u64::MAX), 10); // at the first tick of a window
    assert_eq!(key.take(6_000, u64::MAX), 0); // exactly one window later, at the first tick of the next
    let mut log = Key::new(Limit::sliding_window_log(10, Micros::new(1_000)).unwrap());
    log.take(5_000, u64::MAX);
    assert_eq!(log.take(6_000, u64::MAX), 10);
}

/// The conservative buckets hold a hit for less than `window / buckets` too long.
#[test]
fn the_buckets_enforce_a_window_between_one_and_one_and_an_nth() {
    let (window, buckets) = (1_000, 10);
    for first in 0..100 {
        let mut key = Key::new(of(Algorithm::SlidingWindowBuckets, 2, window));
        key.hit(5_000 + first, 1);
        key.hit(5_099, 1); // the last tick of the same bucket
        let back = (0..3_000).find(|after| key.peek(5_000 + first + after, 2).is_granted()).unwrap();
        assert!((window..window + window / buckets).contains(&back), "{first}: {back}");
    }
}

/// A client that idles and then blasts gets at most a capacity at that instant, under every algorithm.
#[test]
fn idling_never_saves_up_more_than_a_capacity() {
    for limit in each(10, 100) {
        for idle in 0..500 {
            let mut key = Key::new(limit);
            key.take(10_000, u64::MAX);
            assert!(key.burst(10_000 + idle, 50) <= 10, "{} after {idle}", name(&limit));
        }
    }
}
