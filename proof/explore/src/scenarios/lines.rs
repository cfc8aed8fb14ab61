//! Those who wait for permits: no permit is idle while somebody waits, none is lost, and nobody overtakes.

use std::sync::Arc;
use std::task::Waker;

use super::both;
use crate::store::memory::in_flight::{InFlight, Overflow, PermitMode};
use crate::store::memory::in_line::{JoinResult, PermitCounters, PermitQueue};
use crate::store::memory::lanes::NO_MEMBER;
use crate::store::memory::queue::Place;
use crate::sync::AtomicU64;

const KEY: u64 = 1;

/// One key that may have one permit.
struct One {
    table: InFlight,
    overflow: Overflow,
    line: PermitQueue,
    limit: Arc<AtomicU64>,
}

impl One {
    /// With the permit taken.
    fn taken() -> Arc<Self> {
        let table = InFlight::new(1, 1).expect("there is memory");
        let (overflow, line) = (Overflow::default(), PermitQueue::default());
        let one = Self { table, overflow, line, limit: Arc::new(AtomicU64::new(1)) };
        assert!(one.try_take(), "it is free");
        Arc::new(one)
    }

    fn books(&self) -> PermitCounters<'_> {
        PermitCounters { table: &self.table, overflow: &self.overflow }
    }

    fn try_take(&self) -> bool {
        self.table.take(KEY, PermitMode::Enforced, 1, &self.overflow).is_ok()
    }

    /// Joins the line; `None` if there is a permit.
    fn join(&self) -> Option<Place> {
        self.join_as(NO_MEMBER)
    }

    /// The same for a member of the key.
    fn join_as(&self, member: u64) -> Option<Place> {
        match self.line.join(self.books(), (KEY, member), &self.limit, Waker::noop()) {
            JoinResult::Waits(place) => Some(place),
            JoinResult::Granted(..) => None,
            JoinResult::NoRoom => unreachable!("there is room"),
        }
    }

    fn is_granted(&self, place: Place) -> bool {
        self.line.poll(place, Waker::noop()).is_some()
    }

    /// As a permit that is dropped.
    fn release(&self) {
        let counted = crate::store::memory::in_flight::PermitLocation::Slot;
        if !self.table.give_back(KEY, PermitMode::Enforced, counted, &self.overflow) {
            self.line.pass_on(self.books(), KEY);
        }
    }

    fn in_flight(&self) -> u32 {
        self.table.counts(KEY).enforced
    }
}

/// The permit is given back while somebody joins the line: it is not idle afterwards.
pub(super) fn join_and_release() {
    let one = One::taken();
    let ((), place) = both(&one, |one| one.release(), |one| one.join());
    if let Some(place) = place {
        assert!(one.is_granted(place), "the permit is idle, and somebody waits");
    }
    assert_eq!(one.in_flight(), 1);
    one.release();
    assert_eq!(one.in_flight(), 0);
}

/// The first in line leaves while the permit is given back: the second gets it.
pub(super) fn leave_and_release() {
    let one = One::taken();
    let [first, second] = [one.join(), one.join()].map(|place| place.expect("the permit is taken"));
    both(&one, |one| one.release(), move |one| one.line.leave(one.books(), KEY, first));
    assert!(one.is_granted(second), "the permit is lost");
    assert_eq!(one.in_flight(), 1);
}

/// Somebody tries to take the permit that is given back while another one waits for it.
pub(super) fn overtake() {
    let one = One::taken();
    let place = one.join().expect("the permit is taken");
    let ((), overtook) = both(&one, |one| one.release(), |one| one.try_take());
    assert!(!overtook && one.is_granted(place), "somebody has overtaken");
    one.release();
    assert!(one.try_take(), "nobody waits any more");
}

/// A member with two in line, and one with one: they take turns, whoever joins while the permit is given back.
pub(super) fn members_take_turns() {
    let one = One::taken();
    let [noisy, again, light] = [1, 1, 2].map(|member| one.join_as(member).expect("the permit is taken"));
    let ((), third) = both(&one, |one| one.release(), |one| one.join_as(3));
    let third = third.expect("others wait");
    assert!(one.is_granted(noisy) && !one.is_granted(light), "the first member has the first turn");
    one.release();
    assert!(one.is_granted(light) && !one.is_granted(again), "it is the turn of the second member");
    one.line.leave(one.books(), KEY, third);
    one.release();
    assert!(one.is_granted(again), "a member that has gone has no turn");
    assert_eq!(one.in_flight(), 1);
}
