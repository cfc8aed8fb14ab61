//! A store that is full, and in which some keys are not needed any more: their room is used again, and what others spend is not theirs.

use std::time::Duration;

use tollgate::{Clock, Kind, Limit, Limiter, ManualClock, Micros, NamedLimit, Source, Unavailable, Window};

/// A small budget.
const BUDGET: usize = 4 << 20;

fn small() -> (Limiter, ManualClock) {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    (Limiter::builder().clock(clock.clock()).max_memory(BUDGET).build().unwrap(), clock)
}

/// Charges new keys until there is no room for one. Returns how many had room.
fn fill(limiter: &Limiter, limits: &[&NamedLimit]) -> usize {
    let is_known = |key: &usize| {
        let name = format!("filling {key}");
        limits.iter().all(|limit| !limiter.try_charge(&[limit.hit(&name)]).unwrap().is_overflow())
    };
    (0..1_000_000).take_while(is_known).count()
}

/// A list whose window has passed is counted off once when its key comes to be kept in a word.
#[test]
fn a_list_that_is_over_is_counted_off_once() {
    let (limiter, clock) = small();
    let log = limiter.limit("x", Limit::sliding_window_log(3, Micros::SECOND).unwrap());
    let bucket = limiter.limit("x", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
    let before = limiter.stats().bytes;
    assert!(limiter.try_charge(&[log.hit("first")]).unwrap().is_granted());
    clock.advance(Duration::from_secs(2));
    assert!(limiter.try_charge(&[bucket.hit("first")]).unwrap().is_granted());
    let without_lists = limiter.stats().bytes;
    assert!(without_lists > before, "cells are made many at a time, and kept");
    for key in 0..100 {
        let key = key.to_string();
        assert!(limiter.try_charge(&[log.hit(&key)]).unwrap().is_granted());
        assert!(limiter.stats().bytes > without_lists);
        clock.advance(Duration::from_secs(2));
        assert!(limiter.try_charge(&[bucket.hit(&key)]).unwrap().is_granted());
        assert_eq!(limiter.stats().bytes, without_lists);
    }
}

/// There is no room for a further list, but half of those that are there are over, in between others that are not.
#[test]
fn cells_that_are_not_needed_any_more_are_used_again_wherever_they_are() {
    let (limiter, clock) = small();
    let short = limiter.limit("short", Limit::sliding_window_log(3, Micros::SECOND).unwrap());
    let long = limiter.limit("long", Limit::sliding_window_log(3, Micros::HOUR).unwrap());
    let pairs = fill(&limiter, &[&short, &long]);
    assert!(pairs > 5_000, "{pairs}");
    clock.advance(Duration::from_secs(2));
    let shared = |key: &usize| limiter.try_charge(&[long.hit(&format!("late {key}"))]).unwrap().is_overflow();
    let without_room = (0..pairs * 9 / 10).filter(shared).count();
    // Each looks through a few lines, so that one in many may have bad luck.
    assert!(
        without_room * 100 < pairs,
        "{without_room} although {pairs} cells are over: {:?}",
        limiter.stats()
    );
    assert!(limiter.stats().bytes <= BUDGET);
}

/// While not even a cell in common can be had for a key, a limit that only counts it stops nobody.
#[test]
fn a_shadow_limit_without_room_stops_nobody() {
    let (limiter, _clock) = small();
    let known = limiter.limit("known", Limit::token_bucket(3, 1, Micros::HOUR).unwrap());
    assert!(limiter.try_charge(&[known.hit("ada")]).unwrap().is_granted());
    let filling = limiter.limit("filling", Limit::fixed_window(3, Window::Every(Micros::DAY)).unwrap());
    fill(&limiter, &[&filling]);
    // Limits that take all that can be had in common.
    let window = Limit::fixed_window(3, Window::Every(Micros::DAY)).unwrap();
    let mut further = (0..1_000).map(|number| limiter.limit(&format!("further {number}"), window));
    let roomless = further
        .find(|limit| {
            let kind = limiter.try_charge(&[limit.hit("bob")]).unwrap().kind();
            kind == Kind::Unavailable(Unavailable::NoRoom)
        })
        .expect("there are more limits than have room");
    let (ada, shadow) = (known.hit("ada"), roomless.hit("bob").shadow());
    for hits in [&[ada, shadow][..], &[shadow, ada], &[shadow, ada, shadow]] {
        let before = limiter.try_inspect(&known, "ada").unwrap().decision.remaining;
        for verdict in [limiter.try_peek(hits).unwrap(), limiter.try_charge(hits).unwrap()] {
            assert!(verdict.is_granted() && verdict.is_degraded() && verdict.results().len() == hits.len());
            let sources = verdict.results().iter().map(tollgate::HitResult::source);
            let nothing = sources.filter(|source| *source == Source::Nothing).count();
            assert_eq!(nothing, hits.len() - 1);
        }
        assert_eq!(limiter.try_inspect(&known, "ada").unwrap().decision.remaining + 1, before);
        limiter.try_reset(&known, "ada").unwrap();
    }
    assert!(limiter.try_charge(&[shadow]).unwrap().is_granted());
    assert!(limiter.try_charge_up_to(&shadow).unwrap().is_granted());
    let enforced = limiter.try_charge(&[ada, roomless.hit("bob")]).unwrap();
    assert_eq!(enforced.kind(), Kind::Unavailable(Unavailable::NoRoom), "one that counts cannot be told");
}

/// What operators watch: the part of its memory that a store takes says whether it is full, whatever its size and its limits.
#[test]
fn a_store_without_room_takes_nine_tenths_of_what_it_can_fill_and_a_half_full_one_does_not() {
    let limits = [
        ("bucket", Limit::token_bucket(3, 1, Micros::DAY)),
        ("window", Limit::fixed_window(3, Window::Every(Micros::DAY))),
        ("log", Limit::sliding_window_log(3, Micros::DAY)),
    ];
    for (name, numbers) in limits {
        for budget in [4 << 20, 9 << 20, 32 << 20] {
            let clock = Clock::manual(Micros::from_secs(1_763_208_000));
            let limiter = Limiter::builder().clock(clock.clock()).max_memory(budget).build().unwrap();
            let limit = limiter.limit(name, numbers.unwrap());
            let part = || {
                let stats = limiter.stats();
                assert!(stats.bytes <= stats.bytes_max && stats.bytes_max <= budget, "{stats:?}");
                stats.bytes * 100 / stats.bytes_max
            };
            // The part at each number of keys.
            let mut parts = Vec::new();
            for key in 0..10_000_000_u32 {
                if limiter.try_charge(&[limit.hit(&key.to_le_bytes())]).unwrap().is_overflow() {
                    break;
                }
                parts.push(part());
            }
            let keys = parts.len();
            println!(
                "{name} {budget}: {keys} keys, {:?}",
                (1..=20).map(|n| parts[keys * n / 20 - 1]).collect::<Vec<_>>()
            );
            assert!(part() >= 90, "{name} in {budget} bytes: full at {} %", part());
            // A table that moves takes both its places.
            let early = parts[..keys / 2].iter().filter(|part| **part >= 90).count();
            assert!(early * 20 < keys, "{name} in {budget} bytes: {early} of {keys} keys");
        }
    }
}
