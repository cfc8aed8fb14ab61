//! A key that is met under other numbers than it was charged by: what was refused stays refused, and nothing comes back twice.

use tollgate::{FailureRule, Kind, Limit, Limiter, Micros, NamedLimit, Window};

use crate::support::{World, many};

/// Asks the server's clock until it has gone on by so much.
fn let_pass(world: &World, time: Micros) {
    let mut connection = world.connect();
    let mut now = || {
        let [seconds, micros]: [u64; 2] = redis::cmd("TIME").query(&mut connection).expect("the time");
        seconds * 1_000_000 + micros
    };
    let end = now() + time.get();
    while now() < end {}
}

fn left(limiter: &Limiter, limit: &NamedLimit, key: &str) -> u64 {
    limiter.try_inspect(limit, key).expect("it stands somehow").decision.remaining
}

/// A hundred a second, and a hundred a day.
fn lowered() -> Vec<[Limit; 2]> {
    let both = |limit: fn(u64, Micros) -> Limit| [Micros::SECOND, Micros::DAY].map(|time| limit(100, time));
    vec![
        both(|most, time| Limit::token_bucket(most, most, time).expect("a limit")),
        both(|most, time| Limit::leaky_bucket(most, most, time).expect("a limit")),
        both(|most, time| Limit::gcra(most, most, time).expect("a limit")),
        both(|most, time| Limit::sliding_window(most, time).expect("a limit")),
        both(|most, time| Limit::sliding_window_buckets(most, time, 4).expect("a limit")),
        both(|most, time| Limit::sliding_window_log(most, time).expect("a limit")),
    ]
}

#[test]
fn what_a_lowered_limit_has_refused_is_not_granted_when_the_time_of_the_old_numbers_is_over() {
    let world = World::new();
    let limiter = world.limiter();
    let mut lower = Vec::new();
    for [old, new] in lowered() {
        let name = new.to_string();
        let (old, new) = (limiter.limit(&name, old), limiter.limit(&name, new));
        assert!(limiter.try_charge(&[old.hit("alone").cost(100)]).unwrap().is_granted(), "{name}");
        assert!(limiter.try_charge(&[old.hit("of two").cost(100)]).unwrap().is_granted(), "{name}");
        assert!(limiter.try_charge(&[old.hit("in part").cost(100)]).unwrap().is_granted(), "{name}");
        lower.push(new);
    }
    let other = limiter.limit("other", many(5));
    let refused = |limit: &NamedLimit| {
        let alone = limiter.try_charge(&[limit.hit("alone").cost(50)]).unwrap();
        let two = limiter.try_charge(&[other.hit("k"), limit.hit("of two").cost(50)]).unwrap();
        let part = limiter.try_charge_up_to(&limit.hit("in part").cost(50)).unwrap();
        assert!(!alone.is_granted() && !two.is_granted() && !part.is_granted(), "{limit:?}");
    };
    lower.iter().for_each(refused);
    // By the old numbers nothing is left of it after two seconds, and the server has had time to forget it.
    let_pass(&world, Micros::from_millis(2_300));
    lower.iter().for_each(refused);
}

#[test]
fn a_cost_that_is_known_late_does_not_bring_the_old_numbers_back() {
    let world = World::new();
    let limiter = world.limiter();
    let mut changed = Vec::new();
    for [old, new] in lowered() {
        let name = new.to_string();
        let (old, new) = (limiter.limit(&name, old), limiter.limit(&name, new));
        let (_, receipt) = limiter.try_charge_for_receipt(&[old.hit("k")]).unwrap();
        let _ = limiter.try_charge_up_to(&new.hit("k").cost(100)).unwrap();
        assert_eq!(left(&limiter, &new, "k"), 0, "{name}");
        changed.push((new, receipt.expect("a receipt")));
    }
    let_pass(&world, Micros::from_millis(2_300));
    for (new, receipt) in changed {
        limiter.try_settle(receipt, 51).unwrap();
        assert_eq!(left(&limiter, &new, "k"), 0, "{new:?}: the old numbers have emptied it");
        let retry = limiter.try_peek(&[new.hit("k")]).unwrap().retry();
        let none_late = limiter.limit("none late", new.limit());
        let _ = limiter.try_charge(&[none_late.hit("k").cost(100)]).unwrap();
        let retry_without = limiter.try_peek(&[none_late.hit("k")]).unwrap().retry();
        let waits = |retry: Option<tollgate::Retry>| match retry {
            Some(tollgate::Retry::After(wait)) => wait,
            other => panic!("{new:?}: {other:?}"),
        };
        // Half a day more, for buckets and for what counts until its window has passed; both windows pass together otherwise.
        let is_bucket = matches!(new.limit(), Limit::TokenBucket(_) | Limit::LeakyBucket(_) | Limit::Gcra(_));
        let more = waits(retry).saturating_sub(waits(retry_without));
        assert_eq!(is_bucket, more > Micros::from_secs(40_000), "{new:?}: {more}");
    }
}

#[test]
fn a_receipt_is_void_once_its_key_was_charged_by_other_numbers_though_the_old_ones_came_back() {
    let world = World::new();
    let limiter = world.limiter();
    // Of one period in lowest terms, and of another.
    let slow = Limit::token_bucket(10, 1, Micros::DAY).unwrap();
    for (name, fast) in [
        ("one period", Limit::token_bucket(10, 86_400_000, Micros::DAY).unwrap()),
        ("one period, in units", Limit::token_bucket(10, 86_399_999, Micros::DAY).unwrap()),
        ("two periods", Limit::token_bucket(10, 3, Micros::from_millis(7)).unwrap()),
    ] {
        let (slow, fast) = (limiter.limit(name, slow), limiter.limit(name, fast));
        let (_, receipt) = limiter.try_charge_for_receipt(&[slow.hit("k").cost(5)]).unwrap();
        // By these, all of it has drained.
        let_pass(&world, Micros::from_millis(50));
        assert!(limiter.try_charge(&[fast.hit("k").cost(8)]).unwrap().is_granted(), "{name}");
        assert!(limiter.try_charge(&[slow.hit("k")]).unwrap().is_granted(), "{name}");
        let before = left(&limiter, &slow, "k");
        limiter.try_refund(receipt.expect("a receipt")).unwrap();
        assert_eq!(left(&limiter, &slow, "k"), before, "{name}: what others have spent since came back");
    }
}

#[test]
fn a_receipt_of_what_the_server_has_lost_gives_nothing_back() {
    let world = World::new();
    let limiter = world.limiter();
    let limits = [
        many(10),
        Limit::fixed_window(10, Window::Every(Limit::WINDOW_MAX)).unwrap(),
        Limit::sliding_window(10, Limit::WINDOW_MAX).unwrap(),
        Limit::sliding_window_buckets(10, Limit::WINDOW_MAX, 1).unwrap(),
        Limit::sliding_window_log(10, Limit::WINDOW_MAX).unwrap(),
    ];
    for limit in limits {
        let limit = limiter.limit(&limit.to_string(), limit);
        let (_, receipt) = limiter.try_charge_for_receipt(&[limit.hit("k").cost(5)]).unwrap();
        // A state says since when it is there in steps of four milliseconds.
        let_pass(&world, Micros::from_millis(5));
        redis::cmd("FLUSHALL").exec(&mut world.connect()).unwrap();
        assert!(limiter.try_charge(&[limit.hit("k").cost(7)]).unwrap().is_granted());
        limiter.try_refund(receipt.expect("a receipt")).unwrap();
        assert_eq!(left(&limiter, &limit, "k"), 3, "{limit:?}: somebody else's charge was given back");
    }
}

#[test]
fn a_receipt_is_good_as_long_as_nobody_has_met_its_key_under_other_numbers() {
    let world = World::new();
    let limiter = world.limiter();
    let old = limiter.limit("tokens", many(10));
    let (_, receipt) = limiter.try_charge_for_receipt(&[old.hit("ada").cost(5)]).unwrap();
    let new = limiter.limit("tokens", many(9));
    assert!(limiter.try_charge(&[new.hit("grace")]).unwrap().is_granted());
    limiter.try_refund(receipt.expect("a receipt")).unwrap();
    assert_eq!(left(&limiter, &old, "ada"), 10);
}

#[test]
fn a_cost_that_joins_a_log_counts_for_as_long_as_those_count_who_share_it() {
    let world = World::new();
    let limiter = world.limiter();
    let long = limiter.limit("log", Limit::sliding_window_log(10, Micros::from_millis(1_500)).unwrap());
    let short = limiter.limit("log", Limit::sliding_window_log(10, Micros::from_millis(100)).unwrap());
    let (_, receipt) = limiter.try_charge_for_receipt(&[short.hit("k")]).unwrap();
    assert!(limiter.try_charge(&[long.hit("k").cost(4)]).unwrap().is_granted());
    let_pass(&world, Micros::from_millis(1_200));
    limiter.try_settle(receipt.expect("a receipt"), 6).unwrap();
    // What was charged at first is over, and so is the time to live that it had.
    let_pass(&world, Micros::from_millis(600));
    assert_eq!(left(&limiter, &long, "k"), 5, "the five that came late still count");
}

#[test]
fn a_server_without_memory_grants_nothing_to_a_key_that_is_met_under_other_numbers() {
    let world = World::new();
    let limiter = world.limiter();
    for [old, new] in lowered() {
        let name = new.to_string();
        let limit = |numbers| limiter.shared_limit(&name, numbers, FailureRule::Deny);
        assert!(limiter.try_charge(&[limit(old).hit("k")]).unwrap().is_granted(), "{name}");
        let mut connection = world.connect();
        redis::cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec(&mut connection).unwrap();
        let verdict = limiter.try_charge(&[limit(new).hit("k")]).unwrap();
        assert!(matches!(verdict.kind(), Kind::Unavailable(_)), "{name}: {verdict:?}");
        redis::cmd("CONFIG").arg(&["SET", "maxmemory", "0"]).exec(&mut connection).unwrap();
    }
}
