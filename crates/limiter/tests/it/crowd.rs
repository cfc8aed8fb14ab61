//! Many threads at once: exactly what the limit says is granted, and no interval admits more than its bound.

use std::sync::Barrier;
use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, Micros, NamedLimit, Window};

use crate::with_clock;

/// Every algorithm with a limit of 50 that lasts longer than the test.
fn fifties() -> Vec<Limit> {
    let hour = Micros::HOUR;
    let all = [
        Limit::token_bucket(50, 1, hour),
        Limit::leaky_bucket(50, 1, hour),
        Limit::gcra(50, 1, hour),
        // A rate that does not fit in a word.
        Limit::gcra(50, 1_000_003, Micros::DAY),
        Limit::fixed_window(50, Window::Every(hour)),
        Limit::sliding_window(50, hour),
        Limit::sliding_window_buckets(50, hour, 10),
        Limit::sliding_window_log(50, hour),
    ];
    all.into_iter().map(Result::unwrap).collect()
}

/// How many of 64 threads, four tries each, are granted.
fn granted(threads: usize, try_once: impl Fn(usize) -> bool + Sync) -> usize {
    let barrier = Barrier::new(threads);
    std::thread::scope(|scope| {
        let run = |thread| {
            let (barrier, try_once) = (&barrier, &try_once);
            scope.spawn(move || {
                barrier.wait();
                (0..4).filter(|_| try_once(thread)).count()
            })
        };
        let running: Vec<_> = (0..threads).map(run).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn sixty_four_threads_on_a_cold_key_are_granted_exactly_fifty() {
    for limit in fifties() {
        let (limiter, _clock) = with_clock();
        let named = limiter.limit("cold", limit);
        for run in 0..8 {
            let key = format!("key {run}");
            let count = granted(64, |_| limiter.try_charge(&[named.hit(&key)]).unwrap().is_granted());
            assert_eq!(count, 50, "{limit}");
        }
    }
}

/// Two keys in opposite order, new ones: all or none, so both are used up together.
#[test]
fn batches_in_opposite_order_charge_all_or_none() {
    for limit in fifties() {
        let (limiter, _clock) = with_clock();
        let named = limiter.limit("pairs", limit);
        for run in 0..4 {
            let (a, b) = (format!("a {run}"), format!("b {run}"));
            let count = granted(32, |thread| {
                let hits = if thread % 2 == 0 { [&a, &b] } else { [&b, &a] };
                limiter.try_charge(&hits.map(|key| named.hit(key))).unwrap().is_granted()
            });
            assert_eq!(count, 50, "{limit}");
            let used = |key: &String| 50 - limiter.try_inspect(&named, key).unwrap().decision.remaining;
            assert_eq!((used(&a), used(&b)), (50, 50), "{limit}");
        }
    }
}

/// Charges that are given back, committed with less, cancelled, or granted in part, by all threads at one instant: what stays
/// charged is what was kept, and nothing was ever granted beyond the limit.
#[test]
fn what_is_given_back_among_threads_is_given_back_once() {
    let minute = Duration::from_secs(60);
    for limit in fifties() {
        let (limiter, _clock) = with_clock();
        let named = limiter.limit("given back", limit);
        let hit = named.hit("ada");
        let kept = granted(16, |thread| {
            let _ = limiter.try_peek(&[hit]).unwrap();
            match thread % 4 {
                0 => {
                    let (_, receipt) = limiter.try_charge_for_receipt(&[hit.cost(3)]).unwrap();
                    receipt
                        .into_iter()
                        .for_each(|receipt| assert_eq!(limiter.try_refund(receipt).unwrap().refunded, 3));
                    false
                }
                1 => {
                    let (verdict, reservation) = limiter.try_reserve(&[hit.estimate(2)], minute).unwrap();
                    if let Some(reservation) = reservation {
                        reservation.try_commit(1).unwrap();
                    }
                    verdict.is_granted()
                }
                2 => {
                    // Dropped, it is cancelled.
                    let _ = limiter.try_reserve(&[hit.estimate(2)], minute).unwrap();
                    false
                }
                _ => limiter.try_charge_up_to(&hit).unwrap().is_granted(),
            }
        });
        let used = || 50 - limiter.try_inspect(&named, "ada").unwrap().decision.remaining;
        assert_eq!(used(), kept as u64, "{limit}");
        // One reservation that all of them end: it is given back once.
        let reservation = limiter.try_reserve(&[hit.estimate(10)], minute).unwrap().1.unwrap();
        let is_committed =
            |_| reservation.try_commit(4).unwrap().ended == tollgate::ReservationOutcome::Committed(4);
        let ended = granted(16, is_committed);
        assert_eq!((ended, used()), (64, kept as u64 + 4), "{limit}");
    }
}

/// Keys come, and the table grows, while others are charged: nobody's charge is lost.
#[test]
fn charges_are_not_lost_while_the_table_grows() {
    let (limiter, _clock) = with_clock();
    let named = limiter.limit("growing", Limit::token_bucket(10, 1, Micros::DAY).unwrap());
    let keys: Vec<String> = (0..20_000).map(|key| format!("key {key}")).collect();
    let total: usize = std::thread::scope(|scope| {
        let run = |start: usize| {
            let (limiter, named, keys) = (&limiter, &named, &keys);
            // Each thread goes round all keys from another place, four times.
            scope.spawn(move || {
                let order = keys.iter().cycle().skip(start).take(4 * keys.len());
                order.filter(|key| limiter.try_charge(&[named.hit(*key)]).unwrap().is_granted()).count()
            })
        };
        let running: Vec<_> = [0, 5_000, 10_000, 15_000].map(run).into();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(total, 10 * keys.len());
    assert_eq!(limiter.stats().overflowed, 0);
}

/// One admission: when and how much.
type Admitted = (u64, u64);

/// No interval admits more than the burst and what comes back in it. In units of a cell over `period`.
fn within_bound(mut log: Vec<Admitted>, burst: u64, count: u64, period: u64) {
    log.sort_unstable();
    let (mut owed, mut last) = (0_u128, 0);
    for (at, cost) in log {
        owed = owed.saturating_sub(u128::from(at - last) * u128::from(count));
        owed += u128::from(cost) * u128::from(period);
        let most = u128::from(burst) * u128::from(period);
        assert!(owed <= most, "{cost} at {at}: {owed} owed, {most} at the most ({count} per {period})");
        last = at;
    }
}

/// All threads on a few keys, by a clock that goes: every admission is logged with its instant, and every interval checked.
#[test]
fn no_interval_admits_more_than_the_bound() {
    const OPERATIONS: usize = 200_000;
    for clock in [Clock::monotonic(), Clock::coarse(), Clock::ticked(Duration::from_micros(100))] {
        let limiter = Limiter::builder().clock(clock).build().unwrap();
        let limits = [(3, 1_000, Micros::SECOND), (10, 7, Micros::MILLISECOND), (5, 100_003, Micros::SECOND)];
        let named: Vec<NamedLimit> = limits
            .iter()
            .enumerate()
            .map(|(number, (burst, count, period))| {
                let limit = Limit::token_bucket(*burst, *count, *period).unwrap();
                limiter.limit(&format!("limit {number}"), limit)
            })
            .collect();
        let logs: Vec<Vec<(usize, Admitted)>> = std::thread::scope(|scope| {
            let run = |thread: usize| {
                let (limiter, named) = (&limiter, &named);
                scope.spawn(move || {
                    let mut log = Vec::new();
                    for operation in 0..OPERATIONS {
                        let which = (thread + operation) % named.len();
                        let verdict = limiter.try_charge(&[named[which].hit("few")]).unwrap();
                        if verdict.is_granted() {
                            log.push((which, (verdict.results()[0].decision().at.get(), 1)));
                        }
                    }
                    log
                })
            };
            let running: Vec<_> = (0..4).map(run).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (which, (burst, count, period)) in limits.into_iter().enumerate() {
            let log: Vec<_> =
                logs.iter().flatten().filter(|entry| entry.0 == which).map(|entry| entry.1).collect();
            assert!(log.len() > 10, "something was granted");
            within_bound(log, burst, count, period.get());
        }
    }
}
