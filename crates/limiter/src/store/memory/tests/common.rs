//! Overflow buckets: which keys share one, and what each is charged.

use tollgate_algorithms::{Limit, Micros, Mode, Window};

use super::super::batch::Charge;
use super::super::test_engine::registered;
use super::super::{KeyRequest, Memory};
use crate::clock::Clock;
use crate::limit::LimitInner;

/// Two keys that have a cell in common, and one that has another.
const J: u64 = 1 << 40;
const K: u64 = (1 << 40) + 16;
const OTHER: u64 = (1 << 40) + 3;

pub(super) struct Full {
    pub(super) store: Memory,
    pub(super) clock: Clock,
    pub(super) now: Micros,
}

/// A limit of one an hour that is kept in a word, and one that takes a cell.
fn in_a_word(burst: u64) -> Limit {
    Limit::token_bucket(burst, 1, Micros::HOUR).unwrap()
}

fn in_a_cell(burst: u64) -> Limit {
    Limit::token_bucket(burst, 65_537, Micros::new(65_537 * 3_600_000_000 + 1)).unwrap()
}

impl Full {
    /// A store without a cell.
    pub(super) fn new() -> Self {
        let (mut store, clock) =
            (Memory::new(4 << 20, Micros::ZERO).unwrap(), Clock::manual(Micros::ZERO).clock());
        store.budget = 0;
        Self { store, clock, now: Micros::DAY }
    }

    pub(super) fn limit(&self, limit: Limit, number: u32) -> LimitInner {
        registered(&self.store, limit, number)
    }

    pub(super) fn charge(&self, limit: &LimitInner, id: u64, cost: u64) -> bool {
        let given = self.store.act(limit, id, KeyRequest::Charge(cost), (&self.clock, self.now)).unwrap();
        given.decision.is_granted()
    }

    pub(super) fn left(&self, limit: &LimitInner, id: u64) -> u64 {
        let given = self.store.act(limit, id, KeyRequest::Peek(0), (&self.clock, self.now)).unwrap();
        given.decision.remaining
    }

    pub(super) fn charge_all(&self, hits: &[(&LimitInner, u64, u64)]) -> bool {
        let mode = Mode::Enforced;
        let charges = hits.iter().map(|&(limit, id, cost)| Charge { limit, id, cost, mode });
        let charges: Vec<_> = charges.collect();
        self.store.charge_all::<4>(&charges, (&self.clock, self.now)).unwrap().granted
    }
}

/// A batch that is refused, or that costs nothing, leaves a key as it was that is kept under another algorithm.
#[test]
fn a_refused_batch_leaves_a_key_of_another_algorithm_as_it_was() {
    let mut full = Full::new();
    full.store.budget = 1 << 30;
    let words = full.limit(in_a_word(3), 1);
    let window = full.limit(Limit::fixed_window(3, Window::Every(Micros::DAY)).unwrap(), 2);
    assert!(full.charge(&words, K, 3) && full.charge(&words, OTHER, 3));
    assert!(!full.charge_all(&[(&window, K, 1), (&words, OTHER, 1)]), "the other one is exhausted");
    assert!(full.charge_all(&[(&window, K, 0), (&words, OTHER, 0)]));
    assert_eq!((full.left(&words, K), full.charge(&words, K, 1)), (0, false));
    // If it is granted it starts afresh, as it does alone.
    assert!(full.charge_all(&[(&window, K, 1), (&words, J, 1)]));
    assert_eq!(full.left(&window, K), 2);
}

/// One of two keys with a cell in common has drained in its own slot: what the batch charged is not forgotten with that.
#[test]
fn a_batch_charges_the_cell_in_common_whoever_else_has_drained() {
    let mut full = Full::new();
    let (old, new) = (full.limit(in_a_word(3), 1), full.limit(in_a_cell(3), 2));
    assert!(full.charge(&old, K, 1));
    full.now = Micros::from_secs(2 * 86_400);
    assert!(full.charge_all(&[(&new, J, 2), (&new, K, 1)]));
    assert_eq!(full.left(&new, J), 0);
    assert!(!full.charge(&new, J, 1) && !full.charge(&new, K, 1));
    assert_eq!(full.left(&old, K), 2, "and in its slot, only what was its own");
}

/// A key without a place is met under several numbers of one name: what it was charged under one counts under all, and when it gets a place.
#[test]
fn what_is_spent_in_common_counts_under_all_numbers_of_a_name() {
    let mut full = Full::new();
    let (few, more) = (full.limit(in_a_cell(3), 1), full.limit(in_a_cell(10), 2));
    assert!(full.charge(&few, J, 3) && !full.charge(&few, J, 1));
    assert_eq!(full.left(&more, J), 7, "a raise gives what is more, and nothing again");
    assert!(full.charge(&more, J, 2));
    assert_eq!((full.left(&few, J), full.left(&more, J)), (0, 5));
    // Another key of another cell is not in it.
    assert_eq!((full.left(&few, OTHER), full.left(&more, OTHER)), (3, 10));
    // There comes to be room. Wherever it is met first, it has spent five.
    full.store.budget = 1 << 30;
    assert!(full.charge(&more, J, 1));
    assert_eq!((full.left(&more, J), full.left(&few, J)), (4, 0));
    assert!(!full.charge(&few, J, 1));
    // A rate that is the same, and fits in a word, is no way around either.
    let word = full.limit(in_a_word(3), 3);
    assert!(!full.charge(&word, J, 1));
}

/// Lists and windows too: what is charged under one limit of a name is charged under the others, as far as that tells.
#[test]
fn windows_of_one_name_know_of_each_other() {
    let hour = Micros::HOUR;
    let pairs = [
        [Limit::sliding_window_log(100, hour), Limit::sliding_window_log(10, hour)],
        [Limit::sliding_window_buckets(100, hour, 6), Limit::sliding_window_buckets(10, hour, 6)],
        [Limit::sliding_window(100, hour), Limit::sliding_window(10, hour)],
        [Limit::fixed_window(100, Window::Every(hour)), Limit::fixed_window(10, Window::Every(hour))],
    ];
    for pair in pairs {
        let mut full = Full::new();
        let [many, few] = pair.map(|limit| limit.unwrap());
        let [many, few] = [(many, 1), (few, 2)].map(|(limit, number)| full.limit(limit, number));
        assert!(full.charge(&few, J, 6), "{:?}", few.limit);
        full.now = full.now.saturating_add(Micros::from_secs(3_598));
        assert!(full.charge(&many, J, 3), "{:?}", many.limit);
        assert!(full.charge(&few, J, 1));
        // Half a second later none of the last four is over, whatever has become of the first six.
        full.now = full.now.saturating_add(Micros::from_millis(500));
        let (left_of_few, left_of_many) = (full.left(&few, J), full.left(&many, J));
        assert!(left_of_few <= 6 && left_of_many <= 96, "{:?}: {left_of_few}, {left_of_many}", few.limit);
        full.store.budget = 1 << 30;
        assert!(full.left(&few, J) <= 6 && full.left(&many, J) <= 96, "{:?}", few.limit);
    }
}

/// However many limits are met while the store is full, what keys have in common stays within the part of the budget that is set aside for it.
#[test]
fn cells_in_common_stay_within_the_budget() {
    let (clock, now) = (Clock::manual(Micros::ZERO).clock(), Micros::DAY);
    let store = Memory::new(4 << 20, Micros::ZERO).unwrap();
    let window = Limit::fixed_window(3, Window::Every(Micros::DAY)).unwrap();
    let flood = registered(&store, window, 1);
    for id in 0..400_000_u64 {
        store.charge(&flood, id << 20, 1, (&clock, now)).unwrap();
    }
    let mut untold = 0;
    for limit in 1..600_u64 {
        let log = registered(&store, Limit::sliding_window_log(limit, Micros::DAY).unwrap(), 2);
        let log = LimitInner { space: limit, ..log };
        for id in 0..64 {
            untold += u32::from(store.charge(&log, id + (limit << 40), 1, (&clock, now)).is_err());
        }
        assert!(store.bytes() <= 4 << 20, "{} bytes with {limit} limits", store.bytes());
    }
    assert!(untold > 0, "there are more than have room, and then it cannot be told");
}
