//! A limit whose algorithm changes while processes with the old policy and with the new one share a store.

use tollgate::{Limit, Limiter, Micros, Window};

use crate::support::World;

/// How much each limit grants. It hardly refills.
const LIMIT: u64 = 5;

/// Every algorithm, each with its kind of state.
fn limits() -> Vec<(&'static str, Limit)> {
    vec![
        ("debt", Limit::token_bucket(LIMIT, 1, Micros::DAY).expect("it is in range")),
        ("debt", Limit::leaky_bucket(LIMIT, 1, Micros::DAY).expect("it is in range")),
        ("debt", Limit::gcra(LIMIT, 1, Micros::DAY).expect("it is in range")),
        ("fixed window", Limit::fixed_window(LIMIT, Window::Every(Micros::DAY)).expect("it is in range")),
        ("sliding window", Limit::sliding_window(LIMIT, Micros::DAY).expect("it is in range")),
        ("buckets", Limit::sliding_window_buckets(LIMIT, Micros::DAY, 24).expect("it is in range")),
        ("log", Limit::sliding_window_log(LIMIT, Micros::DAY).expect("it is in range")),
    ]
}

/// How many of some hits are granted that go to two processes in turn.
fn granted_in_turn([old, new]: [(&Limiter, &Limit); 2], key: &str) -> u64 {
    let mut granted = 0;
    for _ in 0..4 * LIMIT {
        for (limiter, limit) in [old, new] {
            let limit = limiter.limit("login", *limit);
            let verdict = limiter.try_charge(&[limit.hit(key)]).expect("it is in range");
            assert!(!verdict.is_degraded(), "{limit:?}: {verdict:?}");
            granted += u64::from(verdict.is_granted());
        }
    }
    granted
}

#[test]
fn two_algorithms_grant_the_limit_if_they_share_their_state_and_at_most_twice_the_limit_if_not() {
    let world = World::new();
    let (old, new) = (world.limiter(), world.limiter());
    for (place, (kind, before)) in limits().into_iter().enumerate() {
        for (other_place, (other_kind, after)) in limits().into_iter().enumerate() {
            let key = format!("{place} {other_place}");
            let granted = granted_in_turn([(&old, &before), (&new, &after)], &key);
            let due = if kind == other_kind { LIMIT } else { 2 * LIMIT };
            assert_eq!(granted, due, "{before} and {after}");
        }
    }
}

#[test]
fn a_reset_forgets_what_either_algorithm_has_counted() {
    let world = World::new();
    let (old, new) = (world.limiter(), world.limiter());
    let [(_, before), .., (_, after)] = limits()[..] else { panic!("there are several") };
    let spent = [(&old, &before), (&new, &after)];
    assert_eq!(granted_in_turn(spent, "ada"), 2 * LIMIT);
    assert!(new.try_reset(&new.limit("login", after), "ada").unwrap());
    assert_eq!(granted_in_turn(spent, "ada"), 2 * LIMIT);
}
