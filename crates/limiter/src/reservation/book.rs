//! The reservations of a limiter: open ones, and those that ended recently.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::PoisonError;
use std::time::Duration;

use tollgate_algorithms::Micros;

use super::{ReservationError, ReservationId, ReservationOutcome};
use crate::error::HitError;
use crate::limiter::Inner;
use crate::receipt::Receipt;
use crate::verdict::{Unavailable, Verdict};

/// All reservations that are open, and the latest of those that have ended, until they expire.
#[derive(Debug)]
pub(crate) struct ReservationTable {
    entries: HashMap<ReservationId, Entry>,
    /// When those that are open expire, and those that have ended: apart, so that none of the ones that take a place waits for the others.
    expiries: Expiries,
    ended_expiries: Expiries,
    /// Those that have ended, in the order in which they did, and whether or not they have expired since.
    ended: VecDeque<ReservationId>,
    /// How many have not ended.
    open: usize,
    most: usize,
}

type Expiries = BTreeSet<(Micros, u128)>;

#[derive(Debug)]
struct Entry {
    expires: Micros,
    state: State,
}

#[derive(Debug)]
enum State {
    Open(Option<Receipt>),
    Ended(ReservationOutcome),
}

/// So many expired reservations of either kind are forgotten whenever a new one is made: more come than go only while they are alive.
const FORGOTTEN_PER_RESERVATION: usize = 2;
/// Of those that have ended so many times as many are remembered as may be open; of more, the ones that ended first are forgotten.
const ENDED_PER_OPEN: usize = 15;

impl ReservationTable {
    pub(crate) fn new(most: usize) -> Self {
        let (expiries, ended_expiries) = (BTreeSet::new(), BTreeSet::new());
        Self { entries: HashMap::new(), expiries, ended_expiries, ended: VecDeque::new(), open: 0, most }
    }

    /// Writes down that one has ended. It is remembered until it expires, so that to end it once more is no error; but not any
    /// number of them.
    fn note_end(&mut self, id: ReservationId, expires: Micros) {
        self.open -= 1;
        self.expiries.remove(&(expires, id.0));
        self.ended_expiries.insert((expires, id.0));
        self.ended.push_back(id);
        if self.ended.len() > self.most.saturating_mul(ENDED_PER_OPEN)
            && let Some(first) = self.ended.pop_front()
            && let Some(entry) = self.entries.remove(&first)
        {
            self.ended_expiries.remove(&(entry.expires, first.0));
        }
    }

    fn forget_expired(&mut self, now: Micros) {
        for _ in 0..FORGOTTEN_PER_RESERVATION {
            if let Some(id) = expired(&mut self.expiries, now) {
                self.entries.remove(&id);
                self.open -= 1;
            }
            if let Some(id) = expired(&mut self.ended_expiries, now) {
                self.entries.remove(&id);
            }
        }
    }

    /// A reservation that has not expired.
    fn get(&mut self, id: ReservationId, now: Micros) -> Result<&mut Entry, ReservationError> {
        self.entries.get_mut(&id).filter(|entry| entry.expires > now).ok_or(ReservationError::Gone)
    }
}

/// Takes out the first that has expired.
fn expired(expiries: &mut Expiries, now: Micros) -> Option<ReservationId> {
    expiries.first().filter(|(expires, _)| *expires <= now)?;
    expiries.pop_first().map(|(_, id)| ReservationId(id))
}

/// Room for a reservation that is being made. Dropped before it is written down, the room is given back.
pub(crate) struct ReservationSlot<'a> {
    inner: &'a Inner,
    id: ReservationId,
    kept: bool,
}

impl ReservationSlot<'_> {
    /// Writes the reservation down, if it was granted.
    pub(crate) fn reserved(
        mut self,
        charged: Result<(Verdict, Option<Receipt>), HitError>,
        within: Duration,
    ) -> Result<(Verdict, Option<ReservationId>), HitError> {
        let (verdict, receipt) = charged?;
        if !verdict.is_granted() {
            return Ok((verdict, None));
        }
        let mut book = self.inner.book.lock().unwrap_or_else(PoisonError::into_inner);
        let expires = self.inner.clock.now().saturating_add(Micros::from_duration(within));
        book.entries.insert(self.id, Entry { expires, state: State::Open(receipt) });
        book.expiries.insert((expires, self.id.0));
        drop(book);
        self.kept = true;
        Ok((verdict, Some(self.id)))
    }
}

impl Drop for ReservationSlot<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.inner.book.lock().unwrap_or_else(PoisonError::into_inner).open -= 1;
        }
    }
}

impl Inner {
    /// Makes room for a reservation, before anything is charged.
    pub(crate) fn open_reservation(&self) -> Result<ReservationSlot<'_>, Unavailable> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| Unavailable::NoRandomness)?;
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.forget_expired(self.clock.now());
        if book.open >= book.most {
            return Err(Unavailable::TooManyReservations);
        }
        book.open += 1;
        drop(book);
        Ok(ReservationSlot { inner: self, id: ReservationId(u128::from_le_bytes(random)), kept: false })
    }

    /// Whether the thread may be blocked for what the end of a reservation needs.
    pub(super) fn check_may_end(&self, id: ReservationId) -> Result<(), ReservationError> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        match &book.get(id, self.clock.now())?.state {
            State::Open(Some(receipt)) => {
                self.check_may_block(receipt).map_err(|_| ReservationError::WouldBlock)
            }
            State::Open(None) | State::Ended(_) => Ok(()),
        }
    }

    /// Ends a reservation, and gives its receipt to whoever ends it first.
    pub(crate) fn end(
        &self,
        id: ReservationId,
        as_this: ReservationOutcome,
    ) -> Result<(ReservationOutcome, Option<Receipt>), ReservationError> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let Entry { expires, state } = book.get(id, self.clock.now())?;
        let receipt = match (&mut *state, as_this) {
            (State::Open(receipt), _) => receipt.take(),
            (State::Ended(first @ ReservationOutcome::Committed(_)), ReservationOutcome::Committed(_))
            | (State::Ended(first @ ReservationOutcome::Cancelled), ReservationOutcome::Cancelled) => {
                return Ok((*first, None));
            }
            (State::Ended(first), _) => return Err(ReservationError::Ended(*first)),
        };
        *state = State::Ended(as_this);
        let expires = *expires;
        book.note_end(id, expires);
        Ok((as_this, receipt))
    }
}
