//! A flood of new keys: bounded memory, known keys as before, refused keys refused, and nobody gets around a limit.

use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, ManualClock, Micros, Window};

/// A small budget.
const BUDGET: usize = 4 << 20;
/// More new keys than fit in it.
const FLOOD: usize = 400_000;

fn small() -> (Limiter, ManualClock) {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    (Limiter::builder().clock(clock.clock()).max_memory(BUDGET).build().unwrap(), clock)
}

/// Limits of every kind of state, a burst of three that lasts.
fn threes() -> Vec<Limit> {
    let hour = Micros::HOUR;
    let all = [
        Limit::token_bucket(3, 1, hour),
        Limit::fixed_window(3, Window::Every(hour)),
        Limit::sliding_window_log(3, hour),
    ];
    all.into_iter().map(Result::unwrap).collect()
}

#[test]
fn under_a_flood_known_keys_go_on_and_nobody_gets_around_the_limit() {
    for limit in threes() {
        let (limiter, clock) = small();
        let named = limiter.limit("flooded", limit);
        let charge = |key: &str| limiter.try_charge(&[named.hit(key)]).unwrap();
        // One key that is refused, one that has used a little.
        assert!((0..1_000).any(|_| !charge("refused").is_granted()), "it is refused in the end");
        assert!(charge("honest").is_granted());
        let mut granted = 0_usize;
        for key in 0..FLOOD {
            let verdict = charge(&format!("flood {key}"));
            granted += usize::from(verdict.is_granted());
            assert!(limiter.stats().bytes <= BUDGET, "{limit}: {:?}", limiter.stats());
        }
        let stats = limiter.stats();
        assert!(stats.overflowed > 0 && granted < FLOOD, "{limit}: it was a flood, {stats:?}");
        assert!(!charge("refused").is_granted(), "{limit}: refused stays refused");
        let honest = charge("honest");
        assert!(honest.is_granted() && !honest.is_overflow() && honest.remaining() == Some(1), "{limit}");
        // A new key shares what is left for new keys: nothing, by now. It is a refusal like any other.
        let new = (0..100).map(|key| charge(&format!("new {key}"))).find(tollgate::Verdict::is_overflow);
        let Some(new) = new else { panic!("{limit}: there is room, {:?}", limiter.stats()) };
        assert!(!new.is_granted() && new.retry().is_some(), "{limit}");
        // No key of the flood gets more than its three, wherever it is counted.
        let most = (0..2_000)
            .map(|key| (0..5).filter(|_| charge(&format!("flood {key}")).is_granted()).count())
            .max();
        assert!(most <= Some(2), "{limit}: {most:?} and one before");
        // When the flood has drained there is room again for everybody.
        clock.advance(Duration::from_secs(5 * 3_600));
        let room = (0..1_000).filter(|key| charge(&format!("later {key}")).is_granted()).count();
        assert_eq!(room, 1_000, "{limit}");
        let last = charge("later still");
        assert!(last.is_granted() && !last.is_overflow(), "{limit}");
    }
}

/// A key that was charged in a cell it had in common starts from there when it gets a place of its own.
#[test]
fn a_key_is_not_granted_again_when_there_is_room_for_it() {
    let (limiter, clock) = small();
    let long = limiter.limit("long", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
    let short = limiter.limit("short", Limit::token_bucket(3, 1, Micros::SECOND).unwrap());
    // Full of keys that are gone in a second.
    for key in 0..FLOOD {
        let _ = limiter.try_charge(&[short.hit(&format!("flood {key}"))]).unwrap();
    }
    let keys: Vec<String> = (0..200).map(|key| format!("late {key}")).collect();
    let three =
        |key: &String| (0..3).filter(|_| limiter.try_charge(&[long.hit(key)]).unwrap().is_granted()).count();
    let mut granted: Vec<usize> = keys.iter().map(three).collect();
    assert!(limiter.try_peek(&[long.hit(&keys[199])]).unwrap().is_overflow(), "there was no room for it");
    clock.advance(Duration::from_secs(4));
    for (key, granted) in keys.iter().zip(&mut granted) {
        *granted += three(key);
        assert!(*granted <= 3, "{key} was granted {granted} of 3 in four seconds");
    }
}

/// Batches of keys for which there is no room: all or none, and keys that share a cell share it within the batch too.
#[test]
fn batches_without_room_are_all_or_none() {
    for limit in threes() {
        let (limiter, _clock) = small();
        let named = limiter.limit("flooded", limit);
        for key in 0..FLOOD {
            let _ = limiter.try_charge(&[named.hit(&format!("flood {key}"))]).unwrap();
        }
        let fresh = limiter.limit("fresh", limit);
        let keys: Vec<String> = (0..32).map(|key| format!("new {key}")).collect();
        let hits: Vec<_> = keys.iter().map(|key| fresh.hit(key)).collect();
        let mut granted = [0; 32];
        for _ in 0..3 {
            for (position, hit) in hits.iter().enumerate() {
                let both = [hits[0], *hit];
                granted[position] += usize::from(limiter.try_charge(&both).unwrap().is_granted());
            }
        }
        // The first key is in all of them.
        assert!(granted.iter().sum::<usize>() <= 3, "{limit}: {granted:?}");
        let verdict = limiter.try_charge(&hits).unwrap();
        assert!(!verdict.is_granted() && verdict.results().len() == 32, "{limit}");
    }
}

/// A cost that is known only afterwards is charged to the cell in common too: a guess of 1 is no way around the limit.
#[test]
fn late_costs_of_keys_without_room_are_charged() {
    for limit in [Limit::token_bucket(100, 1, Micros::HOUR), Limit::sliding_window_log(100, Micros::HOUR)] {
        let limit = limit.unwrap();
        let (limiter, _clock) = small();
        let flooded = limiter.limit("flooded", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
        for key in 0..FLOOD {
            let _ = limiter.try_charge(&[flooded.hit(&format!("flood {key}"))]).unwrap();
        }
        let tokens = limiter.limit("tokens", limit);
        let left = |key: &str| limiter.try_peek(&[tokens.hit(key)]).unwrap().remaining().unwrap();
        let new = (0..1_000).map(|key| format!("new {key}"));
        let key =
            new.into_iter().find(|key| limiter.try_peek(&[tokens.hit(key)]).unwrap().is_overflow()).unwrap();
        let before = left(&key);
        let (verdict, id) =
            limiter.try_reserve(&[tokens.hit(&key).estimate(1)], Duration::from_secs(60)).unwrap();
        assert!(verdict.is_granted() && verdict.is_overflow(), "{limit}");
        id.unwrap().try_commit(60).unwrap();
        assert_eq!(left(&key), before - 60, "{limit}");
        // By a receipt as well; but what was charged to others too is not given back.
        let (verdict, receipt) = limiter.try_charge_for_receipt(&[tokens.hit(&key)]).unwrap();
        assert!(verdict.is_granted() && verdict.is_overflow(), "{limit}");
        limiter.try_settle(receipt.unwrap(), 30).unwrap();
        assert_eq!(left(&key), before - 90, "{limit}");
        let (verdict, receipt) = limiter.try_charge_for_receipt(&[tokens.hit(&key).cost(5)]).unwrap();
        assert!(verdict.is_granted(), "{limit}");
        limiter.try_refund(receipt.unwrap()).unwrap();
        assert_eq!(left(&key), before - 95, "{limit}");
    }
}

/// Whoever counts events learns that the store is full.
#[test]
fn an_event_says_that_a_key_found_no_room() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let shared = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&shared);
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let builder = Limiter::builder().clock(clock.clock()).max_memory(BUDGET);
    let builder = builder.on_event(move |event| {
        count.fetch_add(u64::from(event.verdict.is_overflow()), Ordering::Relaxed);
    });
    let limiter = builder.build().unwrap();
    let named = limiter.limit("flooded", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
    for key in 0..FLOOD {
        let _ = limiter.try_charge(&[named.hit(&format!("flood {key}"))]).unwrap();
    }
    let told = shared.load(Ordering::Relaxed);
    assert!(told > 0 && told == limiter.stats().overflowed, "{told} of {:?}", limiter.stats());
}

/// A log that could grow beyond the budget counts what it cannot tell apart for longer, and never admits more.
#[test]
fn long_lists_stay_within_the_budget() {
    let (limiter, clock) = small();
    let named = limiter.limit("log", Limit::sliding_window_log(20_000, Micros::MINUTE).unwrap());
    let keys: Vec<String> = (0..64).map(|key| format!("key {key}")).collect();
    for _ in 0..20_000 {
        clock.advance(Duration::from_micros(7));
        for key in &keys {
            assert!(limiter.try_charge(&[named.hit(key)]).unwrap().is_granted());
        }
    }
    assert!(limiter.stats().bytes <= BUDGET, "{:?}", limiter.stats());
    assert!(keys.iter().all(|key| !limiter.try_charge(&[named.hit(key)]).unwrap().is_granted()));
    clock.advance(Duration::from_secs(61));
    assert!(keys.iter().all(|key| limiter.try_charge(&[named.hit(key).cost(20_000)]).unwrap().is_granted()));
}
