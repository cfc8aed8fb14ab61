//! Hands permits to waiters in order of arrival, so that none is idle while somebody waits.

use std::sync::{Arc, PoisonError};
use std::task::Waker;

use smallvec::SmallVec;

use super::in_flight::{InFlight, Overflow, PermitLocation, PermitMode};
use super::queue::{Place, Queues, Ticket};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Those who wait for permits of one limit.
///
/// A key's slot says whether somebody waits for it, and changes that only under the lock of the queues. As long as it says so, a permit
/// that is given back stays counted until it was handed on here, and nobody else is granted one.
#[derive(Debug, Default)]
pub(crate) struct PermitQueue {
    queues: Mutex<Queues<Waiter>>,
    /// How many wait: who hands permits on looks here first.
    waiting: AtomicU64,
}

/// Somebody who waits, or has got a permit and does not know it yet.
#[derive(Debug)]
struct Waiter {
    /// How many permits its key may have, which may change meanwhile.
    limit: Arc<AtomicU64>,
    /// Where its permit is counted, and how many there were before, as soon as it has one.
    granted: Option<(PermitLocation, u32)>,
}

/// The counts of one limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PermitCounters<'a> {
    pub(crate) table: &'a InFlight,
    pub(crate) overflow: &'a Overflow,
}

/// What came of joining a line.
#[derive(Debug)]
pub(crate) enum JoinResult {
    /// There is a permit: where it is counted, and how many there were before.
    Granted(PermitLocation, u32),
    /// There is none, and this is the place in the line.
    Waits(Place),
    /// There is none, and no room to wait.
    NoRoom,
}

/// Who is to be woken when the lock is free.
type Wakers = SmallVec<[Waker; 4]>;

impl PermitQueue {
    /// Takes a permit, or a place behind all who wait for the same member of the key.
    pub(crate) fn join(
        &self,
        books: PermitCounters<'_>,
        (id, member): (u64, u64),
        limit: &Arc<AtomicU64>,
        waker: &Waker,
    ) -> JoinResult {
        let mut queues = self.lock();
        if queues.first(id).is_none() {
            if !books.table.note_waiters(id, true) {
                return JoinResult::NoRoom;
            }
            // From here on whoever gives a permit back sees that somebody waits. One may have been given back just before.
            if let Ok((counted, before)) = take(books, id, limit) {
                books.table.note_waiters(id, false);
                return JoinResult::Granted(counted, before);
            }
        }
        let waiter = Waiter { limit: Arc::clone(limit), granted: None };
        match queues.push(Ticket { key: id, member, weight: 1 }, waiter, waker.clone()) {
            Some(place) => {
                self.waiting.fetch_add(1, Ordering::Relaxed);
                JoinResult::Waits(place)
            }
            None => JoinResult::NoRoom,
        }
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether a waiter has got a permit; then the place is gone. If not, this waker is woken when it has.
    pub(crate) fn poll(&self, place: Place, waker: &Waker) -> Option<(PermitLocation, u32)> {
        let mut queues = self.lock();
        let granted = queues.get(place).and_then(|waiter| waiter.granted);
        match granted {
            Some(_) => drop(queues.free(place)),
            None => queues.set_waker(place, waker),
        }
        granted
    }

    /// Leaves the line. A permit that was granted meanwhile is handed on. Those behind move up.
    pub(crate) fn leave(&self, books: PermitCounters<'_>, id: u64, place: Place) {
        let wakers = {
            let mut queues = self.lock();
            let granted = queues.get(place).and_then(|waiter| waiter.granted);
            if granted.is_none() {
                queues.unlink(place, false);
                self.waiting.fetch_add(u64::MAX, Ordering::Relaxed);
            }
            queues.free(place);
            match granted {
                // Nobody can wait for a permit that its key has no slot for.
                Some((counted @ PermitLocation::Overflow, _)) => {
                    books.table.give_back(id, PermitMode::Enforced, counted, books.overflow);
                }
                Some((PermitLocation::Slot, _)) => books.table.give_back_for_good(id),
                None => {}
            }
            // Whoever is first now may have had to wait for this one only.
            self.hand_on(&mut queues, books, id)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// A permit of a key is given back that somebody waits for.
    pub(crate) fn pass_on(&self, books: PermitCounters<'_>, id: u64) {
        let wakers = {
            let mut queues = self.lock();
            books.table.give_back_for_good(id);
            self.hand_on(&mut queues, books, id)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// There may be permits for any key: a limit was raised, or keys without room hold fewer.
    pub(crate) fn pass_on_all(&self, books: PermitCounters<'_>) {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return;
        }
        let wakers: Wakers = {
            let mut queues = self.lock();
            let keys = queues.keys();
            keys.into_iter().flat_map(|id| self.hand_on(&mut queues, books, id)).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// How many wait for a key.
    pub(crate) fn length(&self, id: u64) -> u32 {
        if self.waiting.load(Ordering::Acquire) == 0 { 0 } else { self.lock().length(id) }
    }

    /// Grants permits to the first in line, one after the other, as long as there are any.
    fn hand_on(&self, queues: &mut Queues<Waiter>, books: PermitCounters<'_>, id: u64) -> Wakers {
        let mut wakers = Wakers::new();
        while let Some(first) = queues.first(id) {
            let Some(waiter) = queues.get_mut(first) else { break };
            let Ok(granted) = take(books, id, &waiter.limit) else { return wakers };
            waiter.granted = Some(granted);
            queues.unlink(first, true);
            self.waiting.fetch_add(u64::MAX, Ordering::Relaxed);
            wakers.extend(queues.take_waker(first));
        }
        books.table.note_waiters(id, false);
        wakers
    }

    fn lock(&self) -> MutexGuard<'_, Queues<Waiter>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a permit for whoever is first.
fn take(books: PermitCounters<'_>, id: u64, limit: &AtomicU64) -> Result<(PermitLocation, u32), u32> {
    let limit = u32::try_from(limit.load(Ordering::Acquire)).unwrap_or(u32::MAX);
    books.table.take(id, PermitMode::FirstInLine, limit, books.overflow)
}
