//! Counts of permits: never more than the limit, none lost, also for keys that have no room.

use std::sync::Arc;

use super::{both, three};
use crate::store::memory::in_flight::{InFlight, Overflow, PermitLocation, PermitMode};

/// A key in the first line, and others that fill it.
const KEY: u64 = 1;
const OTHERS: [u64; 2] = [2, 3];

#[derive(Debug)]
struct Permits {
    table: InFlight,
    overflow: Overflow,
}

/// One line for two keys, or for more.
fn permits(homes_max: usize) -> Arc<Permits> {
    let table = InFlight::new(1, homes_max).expect("there is memory");
    Arc::new(Permits { table, overflow: Overflow::default() })
}

impl Permits {
    fn take(&self, id: u64, limit: u32) -> Option<PermitLocation> {
        self.table.take(id, PermitMode::Enforced, limit, &self.overflow).ok().map(|(counted, _)| counted)
    }

    fn give_back(&self, id: u64, counted: PermitLocation) {
        assert!(self.table.give_back(id, PermitMode::Enforced, counted, &self.overflow), "nobody waits");
    }

    /// Takes a permit and gives it back.
    fn work(&self, id: u64, limit: u32) {
        if let Some(counted) = self.take(id, limit) {
            self.give_back(id, counted);
        }
    }

    /// How many permits of the key there are in all, with those of other keys without room.
    fn in_all(&self) -> u32 {
        self.table.counts(KEY).enforced + self.overflow.enforced()
    }
}

/// Two threads want the last permit: one gets it.
pub(super) fn the_last_one() {
    let permits = permits(1);
    let (one, other) = both(&permits, |permits| permits.take(KEY, 1), |permits| permits.take(KEY, 1));
    assert_eq!(u32::from(one.is_some()) + u32::from(other.is_some()), 1);
    assert_eq!(permits.in_all(), 1);
}

/// One thread gives the only permit back, and another one wants it: afterwards the count is what was granted.
pub(super) fn given_back() {
    let permits = permits(1);
    let counted = permits.take(KEY, 1).expect("it is free");
    let ((), taken) =
        both(&permits, move |permits| permits.give_back(KEY, counted), |permits| permits.take(KEY, 1));
    assert_eq!(permits.in_all(), u32::from(taken.is_some()));
}

/// Two threads want the last permit of a key without room, and one of them is there when another key goes.
pub(super) fn room_comes() {
    let permits = permits(1);
    let others = OTHERS.map(|id| permits.take(id, 1).expect("there is room"));
    let (one, ((), other)) = both(
        &permits,
        |permits| permits.take(KEY, 1),
        move |permits| {
            permits.give_back(OTHERS[0], others[0]);
            ((), permits.take(KEY, 1))
        },
    );
    assert!(u32::from(one.is_some()) + u32::from(other.is_some()) <= 1, "{one:?} and {other:?}");
    assert_eq!(permits.in_all(), u32::from(one.is_some()) + u32::from(other.is_some()));
}

/// Permits come and go while new keys make the table grow.
pub(super) fn while_moving() {
    let permits = permits(4);
    let kept = permits.take(OTHERS[0], 1).expect("there is room");
    three(
        &permits,
        |permits| permits.work(KEY, 1),
        |permits| permits.work(KEY, 1),
        |permits| permits.take(u64::MAX >> 8, 1),
    );
    assert_eq!(permits.in_all(), 0, "every permit was given back");
    assert_eq!(permits.table.counts(OTHERS[0]).enforced, 1);
    permits.give_back(OTHERS[0], kept);
    assert_eq!(permits.table.counts(OTHERS[0]).enforced, 0);
}
