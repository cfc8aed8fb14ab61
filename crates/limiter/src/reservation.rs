//! Reserve, then commit or cancel, for a cost that is known only afterwards. A reservation charges at once; a commit gives back
//! or charges the difference.
#![cfg_attr(
    not(feature = "redis"),
    expect(clippy::unused_async, reason = "with a shared store the same verbs wait for its answer")
)]

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::PoisonError;
use std::time::Duration;

use tollgate_algorithms::Micros;

use crate::error::HitError;
use crate::event::Verb;
use crate::limit::Hit;
use crate::limiter::{HITS_MAX, Inner, Limiter};
use crate::receipt::Receipt;
use crate::verdict::{Answers, Kind, Unavailable, Verdict};

/// The ID of a reservation: 128 random bits, formatted as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReservationId(u128);

/// The outcome of a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Committed, with this actual cost.
    Committed(u64),
    /// Cancelled: what was left of the charge was refunded.
    Cancelled,
}

/// Why a reservation cannot be committed or cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservationError {
    /// There is no reservation with this ID, or it has expired. Its charge stays.
    Gone,
    /// It has ended with another outcome.
    Ended(Ended),
    /// It holds a charge in a shared store, and the call would block a thread of a runtime: await
    /// [`commit`](Limiter::commit) or [`cancel`](Limiter::cancel). The reservation is still open.
    WouldBlock,
}

impl fmt::Display for ReservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone => f.write_str(
                "the reservation does not exist or has expired; its charge stays: reserve for longer",
            ),
            Self::WouldBlock => f.write_str(
                "the reservation holds a charge in a shared store, and this thread belongs to a Tokio runtime, which must not be \
                 blocked: await `commit` or `cancel` instead",
            ),
            Self::Ended(Ended::Committed(actual)) => {
                write!(f, "the reservation is already committed, with a cost of {actual}, and cannot be cancelled")
            }
            Self::Ended(Ended::Cancelled) => {
                f.write_str("the reservation is already cancelled and cannot be committed: charge the cost instead")
            }
        }
    }
}

impl std::error::Error for ReservationError {}

/// All reservations that are open, and the latest of those that have ended, until they expire.
#[derive(Debug)]
pub(crate) struct Book {
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
    Ended(Ended),
}

/// So many expired reservations of either kind are forgotten whenever a new one is made: more come than go only while they are alive.
const FORGOTTEN_PER_RESERVATION: usize = 2;
/// Of those that have ended so many times as many are remembered as may be open; of more, the ones that ended first are forgotten.
const ENDED_PER_OPEN: usize = 15;

impl Book {
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

impl Limiter {
    /// Charges hits with estimated costs ([`Hit::estimate`]), to be [committed](Self::commit) with the actual cost or
    /// [cancelled](Self::cancel) before the time-out. After that, the charge stays.
    ///
    /// If the verdict is refused or unavailable, nothing is charged and there is no reservation.
    ///
    /// # Errors
    /// Like [`charge`](Self::charge).
    pub async fn reserve(
        &self,
        hits: &[Hit<'_>],
        within: Duration,
    ) -> Result<(Verdict, Option<ReservationId>), HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return match self.0.open_reservation() {
                Ok(opening) => {
                    let charged = shared.charge(&self.0, hits, Verb::Reserve).await;
                    opening.reserved(charged, within)
                }
                Err(why) => self.0.not_reserved(hits, why),
            };
        }
        self.try_reserve(hits, within)
    }

    /// Like [`reserve`](Self::reserve), for callers without a runtime.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Limit, Limiter, Micros};
    /// let limiter = Limiter::new()?;
    /// let tokens = limiter.limit("tokens", Limit::token_bucket(10_000, 1, Micros::SECOND)?);
    /// let hits = [tokens.hit("ada").estimate(4_000)];
    /// let (verdict, id) = limiter.try_reserve(&hits, Duration::from_secs(60))?;
    /// assert!(verdict.granted());
    /// limiter.try_commit(id.unwrap(), 1_500)?; // it was less, after all
    /// assert_eq!(limiter.try_inspect(&tokens, "ada")?.decision.remaining, 8_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Like [`try_charge`](Self::try_charge).
    pub fn try_reserve(
        &self,
        hits: &[Hit<'_>],
        within: Duration,
    ) -> Result<(Verdict, Option<ReservationId>), HitError> {
        let opening = match self.0.open_reservation() {
            Ok(opening) => opening,
            Err(why) => return self.0.not_reserved(hits, why),
        };
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return opening.reserved(shared.charge_blocking(&self.0, hits, Verb::Reserve), within);
        }
        let charged = self.0.charge_for_receipt(hits);
        if let Ok((verdict, _, at)) = &charged {
            self.0.tell(Verb::Reserve, hits, verdict, *at);
        }
        opening.reserved(charged.map(|(verdict, receipt, _)| (verdict, receipt)), within)
    }

    /// Ends a reservation with its actual cost. For each hit with an estimated cost, refunds the difference,
    /// or charges it, up to one capacity beyond the limit (see [`tollgate_algorithms::settle`]).
    ///
    /// Committing again changes nothing and returns the outcome, as long as that is remembered: until the reservation expires, or many others
    /// have ended since (15 times [the maximum of open ones](crate::Builder::reservations_max)).
    ///
    /// # Errors
    /// If the reservation has expired, was cancelled, or is no longer remembered.
    pub async fn commit(&self, id: ReservationId, actual: u64) -> Result<Ended, ReservationError> {
        let (ended, receipt) = self.0.end(id, Ended::Committed(actual))?;
        if let Some(receipt) = guessed(receipt) {
            self.adjust(receipt, Some(actual)).await;
        }
        Ok(ended)
    }

    /// Like [`commit`](Self::commit), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`commit`](Self::commit), and [`ReservationError::WouldBlock`] if it would block a thread of a runtime: then the
    /// reservation is still open.
    pub fn try_commit(&self, id: ReservationId, actual: u64) -> Result<Ended, ReservationError> {
        self.0.check_may_end(id)?;
        let (ended, receipt) = self.0.end(id, Ended::Committed(actual))?;
        let now = self.0.clock.now();
        for part in guessed(receipt).iter().flat_map(|receipt| receipt.parts.iter()) {
            self.0.adjust(part, part.to(actual), now);
        }
        Ok(ended)
    }

    /// Ends a reservation without any cost: refunds what is left of its charge.
    ///
    /// Cancelling again changes nothing.
    ///
    /// # Errors
    /// If the reservation has expired or was committed.
    pub async fn cancel(&self, id: ReservationId) -> Result<Ended, ReservationError> {
        let (ended, receipt) = self.0.end(id, Ended::Cancelled)?;
        if let Some(receipt) = receipt {
            self.adjust(receipt, None).await;
        }
        Ok(ended)
    }

    /// Like [`cancel`](Self::cancel), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`cancel`](Self::cancel), and [`ReservationError::WouldBlock`] if it would block a thread of a runtime: then the
    /// reservation is still open.
    pub fn try_cancel(&self, id: ReservationId) -> Result<Ended, ReservationError> {
        self.0.check_may_end(id)?;
        let (ended, receipt) = self.0.end(id, Ended::Cancelled)?;
        self.0.give_all_back(receipt);
        Ok(ended)
    }
}

/// Of a reservation's charges, those that were guesses.
pub(crate) fn guessed(receipt: Option<Receipt>) -> Option<Receipt> {
    receipt.map(|mut receipt| {
        receipt.parts.retain(|part| part.estimated);
        receipt
    })
}

/// Room for a reservation that is being made. Dropped before it is written down, the room is given back.
pub(crate) struct Opening<'a> {
    inner: &'a Inner,
    id: ReservationId,
    kept: bool,
}

impl Opening<'_> {
    /// Writes the reservation down, if it was granted.
    pub(crate) fn reserved(
        mut self,
        charged: Result<(Verdict, Option<Receipt>), HitError>,
        within: Duration,
    ) -> Result<(Verdict, Option<ReservationId>), HitError> {
        let (verdict, receipt) = charged?;
        if !verdict.granted() {
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

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.inner.book.lock().unwrap_or_else(PoisonError::into_inner).open -= 1;
        }
    }
}

impl Inner {
    /// Makes room for a reservation, before anything is charged.
    pub(crate) fn open_reservation(&self) -> Result<Opening<'_>, Unavailable> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|_| Unavailable::NoRandomness)?;
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.forget_expired(self.clock.now());
        if book.open >= book.most {
            return Err(Unavailable::TooManyReservations);
        }
        book.open += 1;
        drop(book);
        Ok(Opening { inner: self, id: ReservationId(u128::from_le_bytes(random)), kept: false })
    }

    /// What is said when no reservation can be made.
    pub(crate) fn not_reserved(
        &self,
        hits: &[Hit<'_>],
        why: Unavailable,
    ) -> Result<(Verdict, Option<ReservationId>), HitError> {
        // A wrong question is wrong all the same.
        self.charges::<HITS_MAX>(hits)?;
        let verdict = Verdict { kind: Kind::Unavailable(why), answers: Answers::new() };
        self.tell(Verb::Reserve, hits, &verdict, self.clock.now());
        Ok((verdict, None))
    }

    /// Whether the thread may be blocked for what the end of a reservation needs.
    fn check_may_end(&self, id: ReservationId) -> Result<(), ReservationError> {
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
        as_this: Ended,
    ) -> Result<(Ended, Option<Receipt>), ReservationError> {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let Entry { expires, state } = book.get(id, self.clock.now())?;
        let receipt = match (&mut *state, as_this) {
            (State::Open(receipt), _) => receipt.take(),
            (State::Ended(first @ Ended::Committed(_)), Ended::Committed(_))
            | (State::Ended(first @ Ended::Cancelled), Ended::Cancelled) => return Ok((*first, None)),
            (State::Ended(first), _) => return Err(ReservationError::Ended(*first)),
        };
        *state = State::Ended(as_this);
        let expires = *expires;
        book.note_end(id, expires);
        Ok((as_this, receipt))
    }
}

impl fmt::Display for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReservationId({self})")
    }
}

/// The text is not the ID of a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotAnId;

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a reservation ID has 32 lower-case hexadecimal digits")
    }
}

impl std::error::Error for NotAnId {}

impl FromStr for ReservationId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let digits = text.len() == 32 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits);
        number.map(Self).ok_or(NotAnId)
    }
}
