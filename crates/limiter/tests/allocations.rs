//! A decision on a known key allocates nothing: an allocator that counts says so.
#![cfg(test)]

use std::time::Duration;

use tollgate::{Clock, HITS_MAX, Hit, Limit, Limiter, Micros, Verdict, Window};
use tollgate_testing::allocations::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_decision_on_a_known_key_allocates_nothing() {
    assert!(allocations(|| drop(vec![1])) > 0, "it counts");
    let limiter = Limiter::new().unwrap();
    let limits = [
        Limit::token_bucket(50, 1, Micros::HOUR),
        Limit::gcra(50, 1_000_003, Micros::DAY),
        Limit::fixed_window(50, Window::Every(Micros::HOUR)),
        Limit::sliding_window(50, Micros::HOUR),
        // Entries of one bucket merge; a log of few keeps its room.
        Limit::sliding_window_buckets(50, Micros::HOUR, 4),
        Limit::sliding_window_log(50, Micros::HOUR),
    ];
    for limit in limits.map(Result::unwrap) {
        let named = limiter.limit(&limit.to_string(), limit);
        // Grown to its full length once.
        let is_refused = |_| !limiter.try_charge(&[named.hit("ada")]).unwrap().is_granted();
        assert!((0..1_000).any(is_refused), "it is refused in the end");
        let count = allocations(|| {
            for _ in 0..100 {
                assert!(!limiter.try_charge(&[named.hit("ada")]).unwrap().is_granted());
                assert!(!limiter.try_peek(&[named.hit("ada")]).unwrap().is_granted());
            }
        });
        assert_eq!(count, 0, "refused by {limit}");
    }
    let granting = [
        Limit::token_bucket(1_000_000, 1, Micros::HOUR),
        Limit::fixed_window(1_000_000, Window::Every(Micros::DAY)),
        Limit::sliding_window(1_000_000, Micros::DAY),
        Limit::sliding_window_buckets(1_000_000, Micros::DAY, 4),
    ];
    for limit in granting.map(Result::unwrap) {
        let named = limiter.limit(&format!("granted {limit}"), limit);
        assert!(limiter.try_charge(&[named.hit("ada")]).unwrap().is_granted());
        let count = allocations(|| {
            for _ in 0..100 {
                assert!(limiter.try_charge(&[named.hit("ada")]).unwrap().is_granted());
            }
        });
        assert_eq!(count, 0, "granted by {limit}");
    }
}

#[test]
fn several_limits_at_once_and_a_pipeline_allocate_nothing() {
    let limiter = Limiter::new().unwrap();
    let limit = Limit::token_bucket(1_000_000, 1, Micros::HOUR).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| limiter.limit(name, limit));
    let hits = [a.hit("ada"), b.hit("ada"), c.hit("ada")];
    assert!(limiter.try_charge(&hits).unwrap().is_granted());
    let count = allocations(|| {
        for _ in 0..100 {
            assert!(limiter.try_charge(&hits).unwrap().is_granted());
            limiter.try_charge_each(&hits, |_, verdict| assert!(verdict.is_granted())).unwrap();
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn limits_of_several_kinds_at_once_allocate_nothing() {
    let limiter = Limiter::new().unwrap();
    let limits = [
        Limit::token_bucket(1_000_000, 1, Micros::HOUR),
        Limit::fixed_window(1_000_000, Window::Every(Micros::DAY)),
        Limit::sliding_window(1_000_000, Micros::DAY),
        Limit::sliding_window_buckets(1_000_000, Micros::DAY, 4),
    ];
    let limits = limits.map(|limit| limiter.limit(&format!("{limit:?}"), limit.unwrap()));
    let hits = limits.each_ref().map(|limit| limit.hit("ada"));
    let shadowed = [hits[0], hits[1].shadow(), hits[2]];
    let too_much = [hits[0], hits[1].cost(2_000_000), hits[3]];
    let ask = || {
        assert!(limiter.try_charge(&hits).unwrap().is_granted());
        assert!(limiter.try_charge(&shadowed).unwrap().is_granted());
        assert!(!limiter.try_charge(&too_much).unwrap().is_granted());
    };
    ask();
    assert_eq!(allocations(|| (0..100).for_each(|_| ask())), 0);
}

#[test]
fn as_many_limits_as_there_may_be_allocate_nothing() {
    let limiter = Limiter::new().unwrap();
    let kinds = [
        Limit::token_bucket(1_000_000, 1, Micros::HOUR),
        Limit::fixed_window(1_000_000, Window::Every(Micros::DAY)),
        Limit::sliding_window(1_000_000, Micros::DAY),
        Limit::sliding_window_buckets(1_000_000, Micros::DAY, 4),
    ];
    let kinds = kinds.map(Result::unwrap);
    let limits: Vec<_> =
        (0..HITS_MAX).map(|number| limiter.limit(&number.to_string(), kinds[number % kinds.len()])).collect();
    let hits: Vec<_> = limits.iter().map(|limit| limit.hit("ada").non_refundable()).collect();
    let mut too_much = hits.clone();
    too_much[7] = too_much[7].cost(2_000_000).shadow();
    too_much[9] = too_much[9].cost(2_000_000);
    // A peek at several keys copies those that are lists: they are decided together, and not locked together.
    let no_lists: Vec<_> =
        (0..).zip(&hits).filter(|(place, _)| place % kinds.len() != 3).map(|(_, hit)| *hit).collect();
    for many in [5, 8, 17, HITS_MAX] {
        let mut into = None;
        let mut ask = |hits: &[Hit<'_>], granted: bool| {
            let said = |verdict: &Verdict| verdict.is_granted() == granted && verdict.results().len() == many;
            assert!(
                limiter.try_charge_into(hits, &mut into).unwrap().is_none(),
                "there is nothing to give back"
            );
            assert!(into.as_ref().is_some_and(said));
        };
        ask(&hits[..many], true);
        ask(&hits[..many], true);
        let count = allocations(|| {
            for _ in 0..100 {
                ask(&hits[..many], true);
                ask(&too_much[..many], many <= 9);
            }
        });
        assert_eq!(count, 0, "{many} hits");
        // A verdict of its own has the room of the one before.
        let ask = || {
            assert!(limiter.try_charge(&hits[..many]).unwrap().is_granted());
            assert!(limiter.try_peek(&no_lists[..many.min(no_lists.len())]).unwrap().is_granted());
            let both =
                [limiter.try_charge(&too_much[..many]).unwrap(), limiter.try_charge(&hits[..many]).unwrap()];
            assert_eq!(both.each_ref().map(Verdict::is_granted), [many <= 9, true]);
            assert!(both.iter().all(|verdict| verdict.clone().results().len() == many));
        };
        ask();
        assert_eq!(
            allocations(|| (0..100).for_each(|_| ask())),
            0,
            "{many} hits, with verdicts of their own"
        );
    }
}

#[test]
fn receipts_of_several_hits_allocate_nothing() {
    let limiter = Limiter::new().unwrap();
    let limit = Limit::token_bucket(1_000_000, 1, Micros::HOUR).unwrap();
    let limits: Vec<_> = (0..HITS_MAX).map(|number| limiter.limit(&number.to_string(), limit)).collect();
    let hits: Vec<_> = limits.iter().map(|limit| limit.hit("ada")).collect();
    for many in [1, 2, 3, 4, 5, 8, 17, HITS_MAX] {
        let hits = &hits[..many];
        let left = || limiter.try_peek(hits).unwrap().remaining().unwrap();
        let ask = || {
            let before = left();
            let (_, receipt) = limiter.try_charge_for_receipt(hits).unwrap();
            limiter.try_refund(receipt.unwrap()).unwrap();
            let (_, receipt) = limiter.try_charge_for_receipt(hits).unwrap();
            let (first, rest) = receipt.unwrap().part(|place| place == 0);
            limiter.try_settle(first, 2).unwrap();
            limiter.try_settle(rest, 2).unwrap();
            assert_eq!(left(), before - 2);
        };
        ask();
        assert_eq!(allocations(|| (0..100).for_each(|_| ask())), 0, "{many} hits");
    }
}

/// A log has an entry for each charge that counts, so it grows; but by doubling, and it keeps its room. What it allocates in its life
/// is a number of digits, and not of charges.
#[test]
fn a_log_allocates_when_it_doubles_and_not_again() {
    const LIMIT: u64 = 4_096;
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).build().unwrap();
    let log = limiter.limit("log", Limit::sliding_window_log(LIMIT, Micros::HOUR).unwrap());
    let charge = || {
        clock.advance(Duration::from_micros(3_600_000_000_u64.div_ceil(LIMIT)));
        assert!(limiter.try_charge(&[log.hit("ada")]).unwrap().is_granted());
    };
    charge();
    let count = allocations(|| (1..LIMIT).for_each(|_| charge()));
    assert!(count <= u64::from(LIMIT.ilog2()), "{count} for {LIMIT} entries");
    // From then on one goes for each that comes.
    let count = allocations(|| (0..3 * LIMIT).for_each(|_| charge()));
    assert_eq!(count, 0, "it has grown once");
}
