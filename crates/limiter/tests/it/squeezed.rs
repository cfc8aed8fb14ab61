//! Threads with batches on a store that is full, and then is not: all or none, and nobody gets around a limit by having no room, or by
//! getting some in the middle of it. One thread by itself is `flood.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, ManualClock, Micros, NamedLimit, Window};

const THREADS: usize = 6;
const KEYS: usize = 24;
/// What each key may have in all that time.
const BURST: u64 = 40;

/// A full store with a key that is known: most of the others are gone in two seconds, the rest in hours.
fn full() -> (Limiter, ManualClock, NamedLimit) {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).max_memory(4 << 20).build().unwrap();
    let counter = limiter.limit("counter", Limit::token_bucket(50_000, 1, Micros::DAY).unwrap());
    assert!(limiter.try_charge(&[counter.hit("all")]).unwrap().is_granted());
    let short = limiter.limit("short", Limit::token_bucket(2, 1, Micros::from_secs(2)).unwrap());
    let long = limiter.limit("long", Limit::fixed_window(2, Window::Every(Micros::DAY)).unwrap());
    let mut shared = 0;
    for key in 0..400_000_u32 {
        let limit = if key % 4 == 0 { &long } else { &short };
        shared += u32::from(limiter.try_charge(&[limit.hit(&key.to_le_bytes())]).unwrap().is_overflow());
    }
    assert!(shared > 1_000, "it is full: {:?}", limiter.stats());
    (limiter, clock, counter)
}

/// Limits of every kind of state, for keys that have all they may have for hours.
fn limits() -> [Limit; 4] {
    let hour = Micros::HOUR;
    [
        Limit::token_bucket(BURST, 1, hour),
        Limit::gcra(BURST, 10_007, Micros::from_secs(36_000_000)),
        Limit::fixed_window(BURST, Window::Every(Micros::DAY)),
        Limit::sliding_window_log(BURST, hour),
    ]
    .map(Result::unwrap)
}

#[test]
fn batches_of_many_threads_on_a_full_store_are_all_or_none() {
    for limit in limits() {
        // Of the counter there is enough for everybody: it counts the batches that were granted.
        let (limiter, clock, counter) = full();
        let named = limiter.limit("squeezed", limit);
        let keys: Vec<String> = (0..KEYS).map(|key| format!("key {key}")).collect();
        let granted: Vec<AtomicU64> = keys.iter().map(|_| AtomicU64::new(0)).collect();
        let (batches, shared) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = |thread: usize| {
            for turn in 0..600_usize {
                let (first, second) = ((turn + thread) % KEYS, (turn * 7 + thread * 5 + 1) % KEYS);
                let hits = [named.hit(&keys[first]), counter.hit("all"), named.hit(&keys[second])];
                // Alone, in a batch with the counter, or two with the counter, in both orders.
                let hits = match turn % 3 {
                    0 => &hits[..1],
                    1 => &hits[..2],
                    _ if first == second => &hits[..2],
                    _ => &hits[..],
                };
                let mut ordered = hits.to_vec();
                if thread % 2 == 1 {
                    ordered.reverse();
                }
                let verdict = limiter.try_charge(&ordered).unwrap();
                shared.fetch_add(u64::from(verdict.is_overflow()), Ordering::Relaxed);
                if verdict.is_granted() {
                    batches.fetch_add(u64::from(hits.len() > 1), Ordering::Relaxed);
                    granted[first].fetch_add(1, Ordering::Relaxed);
                    if hits.len() == 3 {
                        granted[second].fetch_add(1, Ordering::Relaxed);
                    }
                }
                // One of them lets time go by, and most of the others' keys with it: there comes to be room.
                if thread == 0 && turn == 300 {
                    clock.advance(Duration::from_secs(5));
                }
            }
        };
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let work = &work;
                scope.spawn(move || work(thread));
            }
        });
        let left = limiter.try_inspect(&counter, "all").unwrap().decision.remaining;
        let batches = batches.into_inner();
        // The first charge of it is the only other one.
        assert_eq!(
            left,
            50_000 - 1 - batches,
            "{limit}: the counter was charged with the rest, or not at all"
        );
        assert!(shared.into_inner() > 0 && batches > 0, "{limit}: it was full, and something was granted");
        for (key, granted) in keys.iter().zip(granted) {
            let granted = granted.into_inner();
            assert!(granted <= BURST, "{limit}: {key} was granted {granted} of {BURST}");
            // What it was granted is on record somewhere: its own place, or the cell it has in common.
            let left = limiter.try_peek(&[named.hit(key)]).unwrap().remaining().unwrap();
            assert!(left <= BURST - granted, "{limit}: {key} was granted {granted}, and has {left} left");
        }
    }
}
