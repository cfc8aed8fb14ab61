//! Many and unusual rates: their debts are packed words like all others, and take no more memory.

use tollgate_algorithms::{Algorithm, Limit, Micros, State};

use super::super::packed_rates::{RATES_MAX, Rate, Rates};
use super::super::test_engine::registered;
use super::super::{KeyRequest, Memory};
use crate::clock::Clock;

const BUDGET: usize = 256 << 20;

/// Numbers that no other tenant has, and that do not reduce.
fn of_tenant(tenant: u64) -> Limit {
    Limit::token_bucket(1_000, 10_007, Micros::new(86_400_000_000 + tenant)).unwrap()
}

fn rate(number: u64) -> Rate {
    let algorithm = [Algorithm::TokenBucket, Algorithm::LeakyBucket, Algorithm::Gcra]
        [usize::try_from(number % 3).unwrap()];
    Rate { algorithm, count: 1 + number % 65_535, period: 1 + number / 7 }
}

/// A number that is as good as a hash.
const fn spread(key: u64) -> u64 {
    let mixed = (key + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
fn every_rate_has_a_number_of_its_own() {
    let rates = Rates::new();
    for number in 0..u64::from(RATES_MAX) {
        let kind = rates.number(rate(number), |_| true).unwrap();
        assert_eq!(u64::from(kind), number + 1);
    }
    assert_eq!(rates.number(rate(1 << 20), |_| true), None, "there are as many as there can be");
    for number in 0..u64::from(RATES_MAX) {
        let kind = rates.number(rate(number), |_| false).unwrap();
        assert_eq!((u64::from(kind), rates.get(kind)), (number + 1, Some(rate(number))));
    }
    assert!(rates.bytes() <= Rates::BYTES_MAX);
    assert_eq!(Rates::new().number(Rate { count: 65_536, ..rate(1) }, |_| true), None);
}

#[test]
fn fifty_thousand_tenants_with_their_own_numbers_take_no_more_than_32_bytes_a_key() {
    for (keys, most) in [(1, 40), (2, 32), (10, 27)] {
        let (tenants, now) = (50_000, Micros::DAY);
        let store = Memory::new(BUDGET, Micros::ZERO).unwrap();
        let (clock, before) = (Clock::manual(now).clock(), store.bytes());
        for tenant in 0..tenants {
            let limit = registered(&store, of_tenant(tenant), 1);
            assert!(limit.narrow.is_some());
            for key in 0..keys {
                let id = store.id(spread(tenant * keys + key));
                store.charge(&limit, id, 1, (&clock, now)).unwrap();
            }
        }
        let each = (store.bytes() - before) as u64 / (tenants * keys);
        assert!(each <= most, "{each} bytes for each of {keys} keys a tenant");
    }
}

#[test]
fn rates_stay_within_the_budget() {
    let (budget, now) = (4 << 20, Micros::DAY);
    let store = Memory::new(budget, Micros::ZERO).unwrap();
    let clock = Clock::manual(now).clock();
    let mut words = 0;
    for tenant in 0..u64::from(RATES_MAX) {
        let limit = registered(&store, of_tenant(tenant), 1);
        words += u32::from(limit.narrow.is_some());
        for key in 0..4 {
            // When there is no room it cannot be told, which is no business of this test.
            let _ = store.charge(&limit, store.id(spread(tenant * 4 + key)), 1, (&clock, now));
        }
        assert!(store.bytes() <= budget, "{} bytes with {tenant} tenants", store.bytes());
    }
    assert!(words >= 4_096, "{words} sets of numbers have room in any budget");
}

/// Debts at a large count stop fitting in a word some years after the start: from then on they take a cell, and nothing changes.
#[test]
fn when_words_do_not_last_any_longer_decisions_are_the_same() {
    let limit = Limit::token_bucket(5, 65_535, Micros::new(86_400_000_001)).unwrap();
    let store = Memory::new(crate::MAX_MEMORY_BYTES_MIN, Micros::ZERO).unwrap();
    let (limited, clock) = (registered(&store, limit, 1), Clock::manual(Micros::ZERO).clock());
    let end = limited.narrow.unwrap().until;
    assert!(end > 4 * 365 * 86_400 * 1_000_000, "more than four years");
    let (id, mut state) = (store.id(spread(7)), None::<State>);
    for step in 0..4_000_u64 {
        let now = Micros::new(end - 1_000_000_000 + step * 500_000);
        let given = store.charge(&limited, id, 1, (&clock, now)).unwrap().given(now);
        let (change, decision) = tollgate_algorithms::decide(&limit, state.as_ref(), now, 1);
        change.apply(&mut state);
        assert_eq!(given.decision, decision, "{now:?}, which is step {step}");
    }
    // Long after, when not even the time fits.
    let now = Micros::INSTANT_MAX;
    let given = store.act(&limited, id, KeyRequest::Charge(5), (&clock, now)).unwrap();
    assert!(given.decision.is_granted());
    assert!(!store.charge(&limited, id, 1, (&clock, now)).unwrap().given(now).decision.is_granted());
}
