//! Drained keys keep their slots if keys tend to return, and release them otherwise.

use tollgate_algorithms::{Limit, Micros};

use super::super::test_engine::registered;
use super::super::{ChargeResult, Memory};
use crate::clock::Clock;
use crate::limit::LimitInner;

/// A hit drains in so long.
const DRAIN: Micros = Micros::new(1_000);
/// So many hits come in that time, so that all but these keys have drained at any moment.
const HITS_PER_DRAIN: u64 = 2_000;

struct Busy {
    store: Memory,
    limit: LimitInner,
    now: Micros,
    hits: u64,
}

impl Busy {
    fn new(budget: usize) -> Self {
        let store = Memory::new(budget, Micros::ZERO).unwrap();
        let limit = registered(&store, Limit::gcra(1_000, 1, DRAIN).unwrap(), 1);
        Self { store, limit, now: Micros::SECOND, hits: 0 }
    }

    /// Charges each key once, and says how many of them had to be put in.
    fn charge(&mut self, keys: std::ops::Range<u64>) -> u64 {
        let clock = Clock::manual(Micros::ZERO).clock();
        let mut new = 0;
        for key in keys {
            let id = self.store.id(spread(key));
            let charged = self.store.charge(&self.limit, id, 1, (&clock, self.now)).unwrap();
            let is_new = match charged {
                ChargeResult::Word(..) => false,
                ChargeResult::Given(given) => !given.known,
            };
            assert!(charged.given(self.now).decision.is_granted(), "everything is granted here");
            new += u64::from(is_new);
            self.hits += 1;
            if self.hits.is_multiple_of(HITS_PER_DRAIN) {
                self.now = self.now.saturating_add(DRAIN);
            }
        }
        new
    }
}

/// A number that is as good as a hash.
const fn spread(key: u64) -> u64 {
    let mixed = (key ^ (key >> 30)).wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[test]
fn drained_keys_that_come_back_are_found_where_they_stand() {
    for keys in [2_000, 20_000, 100_000, 300_000] {
        let mut busy = Busy::new(256 << 20);
        for _ in 0..6 {
            busy.charge(0..keys);
        }
        let new = busy.charge(0..keys);
        assert!(new <= keys / 100, "{new} of {keys} keys had to be put in again");
        assert!(busy.store.bytes() as u64 <= 200_000 + keys * 27, "{} bytes", busy.store.bytes());
    }
}

#[test]
fn keys_that_do_not_come_back_take_no_more_room_than_those_that_owe_something() {
    let mut busy = Busy::new(256 << 20);
    busy.charge(0..2_000_000);
    assert!(busy.store.bytes() < 640 << 10, "{} bytes", busy.store.bytes());
}

#[test]
fn drained_keys_give_up_their_slots_when_the_budget_is_spent() {
    let budget = 4 << 20;
    let mut busy = Busy::new(budget);
    for _ in 0..4 {
        busy.charge(0..500_000);
        assert!(busy.store.bytes() <= budget, "{} bytes", busy.store.bytes());
    }
    assert_eq!(busy.store.overflowed(), 0, "nobody shared a cell with others");
}

#[test]
fn keys_that_stop_coming_back_give_up_their_slots() {
    let mut busy = Busy::new(256 << 20);
    for _ in 0..6 {
        busy.charge(0..200_000);
    }
    let full = busy.store.bytes();
    // Later than idle keys are kept, others come, and too many of them to be left in what room there is.
    busy.now = busy.now.saturating_add(Micros::MINUTE);
    busy.charge(1_000_000..3_000_000);
    assert!(busy.store.bytes() <= full, "{full} bytes have become {}", busy.store.bytes());
}
