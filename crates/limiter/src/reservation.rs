//! Reserve, then commit or cancel, for a cost that is known only afterwards. A reservation charges at once; a commit gives back
//! or charges the difference.
#![cfg_attr(
    not(feature = "redis"),
    expect(clippy::unused_async, reason = "with a shared store the same verbs wait for its answer")
)]

mod book;
mod guard;
mod id;

use std::fmt;
use std::time::Duration;

pub(crate) use book::ReservationTable;
pub use guard::Reservation;
pub use id::{ParseIdError, ReservationId};

use crate::adjustment::Adjustment;
use crate::error::HitError;
use crate::event::Verb;
use crate::limit::Hit;
use crate::limiter::{HITS_MAX, Inner, Limiter};
use crate::receipt::Receipt;
use crate::verdict::{HitResults, Kind, Unavailable, Verdict};

/// The outcome of a reservation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReservationOutcome {
    /// Committed, with this actual cost.
    Committed(u64),
    /// Cancelled: what was left of the charge was refunded.
    Cancelled,
}

/// What came of a [commit](Limiter::commit) or a [cancellation](Limiter::cancel).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ClosedReservation {
    /// How the reservation ended. If it had ended before in the same way: how it ended then.
    pub ended: ReservationOutcome,
    /// What this call gave back or charged on top: nothing if the reservation had ended before.
    pub adjustment: Adjustment,
}

/// Why a reservation cannot be committed or cancelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReservationError {
    /// There is no reservation with this ID, or it has expired. Its charge stays.
    Gone,
    /// It has ended with another outcome.
    Ended(ReservationOutcome),
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
            Self::Ended(ReservationOutcome::Committed(actual)) => {
                write!(f, "the reservation is already committed, with a cost of {actual}, and cannot be cancelled")
            }
            Self::Ended(ReservationOutcome::Cancelled) => {
                f.write_str("the reservation is already cancelled and cannot be committed: charge the cost instead")
            }
        }
    }
}

impl std::error::Error for ReservationError {}

impl Limiter {
    /// Charges hits with estimated costs ([`Hit::estimate`]), to be [committed](Self::commit) with the actual cost or
    /// [cancelled](Self::cancel) before the time-out. After that, the charge stays.
    ///
    /// The [`Reservation`] cancels when it is dropped, so that an error or a panic on the way gives everything back. For a protocol
    /// that commits by id, take [`Reservation::into_id`].
    ///
    /// If it is refused or unavailable, nothing is charged and there is nothing to commit.
    ///
    /// # Errors
    /// Like [`charge`](Self::charge).
    pub async fn reserve(
        &self,
        hits: &[Hit<'_>],
        within: Duration,
    ) -> Result<(Verdict, Option<Reservation>), HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            let opening = match self.0.open_reservation() {
                Ok(opening) => opening,
                Err(why) => return self.0.not_reserved(hits, why),
            };
            let charged = shared.charge(&self.0, hits, Verb::Reserve).await;
            return opening.reserved(charged, within).map(|reserved| self.guarded(reserved));
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
    /// let (verdict, reservation) = limiter.try_reserve(&hits, Duration::from_secs(60))?;
    /// assert!(verdict.is_granted());
    /// let closed = reservation.unwrap().try_commit(1_500)?; // it was less, after all
    /// assert_eq!(closed.adjustment.refunded, 2_500);
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
    ) -> Result<(Verdict, Option<Reservation>), HitError> {
        let opening = match self.0.open_reservation() {
            Ok(opening) => opening,
            Err(why) => return self.0.not_reserved(hits, why),
        };
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            let charged = shared.charge_blocking(&self.0, hits, Verb::Reserve);
            return opening.reserved(charged, within).map(|reserved| self.guarded(reserved));
        }
        let charged = self.0.charge_for_receipt(hits);
        if let Ok((verdict, _, at)) = &charged {
            self.0.tell(Verb::Reserve, hits, verdict, *at);
        }
        let charged = charged.map(|(verdict, receipt, _)| (verdict, receipt));
        opening.reserved(charged, within).map(|reserved| self.guarded(reserved))
    }

    fn guarded(&self, (verdict, id): (Verdict, Option<ReservationId>)) -> (Verdict, Option<Reservation>) {
        (verdict, id.map(|id| Reservation::new(self.clone(), id)))
    }

    /// Ends a reservation with its actual cost. For each hit with an estimated cost, refunds the difference,
    /// or charges it, up to one capacity beyond the limit (see [`tollgate_algorithms::settle`]).
    ///
    /// Committing again changes nothing and returns the outcome, as long as that is remembered: until the reservation expires, or many others
    /// have ended since (15 times [the maximum of open ones](crate::Builder::reservations_max)).
    ///
    /// # Errors
    /// If it has expired, was cancelled, or is no longer remembered.
    pub async fn commit(
        &self,
        id: ReservationId,
        actual: u64,
    ) -> Result<ClosedReservation, ReservationError> {
        let (ended, receipt) = self.0.end(id, ReservationOutcome::Committed(actual))?;
        let adjustment = match guessed(receipt) {
            Some(receipt) => self.adjust(receipt, Some(actual)).await,
            None => Adjustment::NONE,
        };
        Ok(ClosedReservation { ended, adjustment })
    }

    /// Like [`commit`](Self::commit), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`commit`](Self::commit), and [`ReservationError::WouldBlock`] if it would block a thread of a runtime: then the
    /// reservation is still open.
    pub fn try_commit(&self, id: ReservationId, actual: u64) -> Result<ClosedReservation, ReservationError> {
        self.0.check_may_end(id)?;
        let (ended, receipt) = self.0.end(id, ReservationOutcome::Committed(actual))?;
        let adjusted = guessed(receipt).map(|receipt| self.0.adjust_all(&receipt, Some(actual)));
        Ok(ClosedReservation { ended, adjustment: adjusted.unwrap_or_default() })
    }

    /// Ends a reservation without any cost: refunds what is left of its charge.
    ///
    /// Cancelling again changes nothing.
    ///
    /// # Errors
    /// If it has expired or was committed.
    pub async fn cancel(&self, id: ReservationId) -> Result<ClosedReservation, ReservationError> {
        let (ended, receipt) = self.0.end(id, ReservationOutcome::Cancelled)?;
        let adjustment = match receipt {
            Some(receipt) => self.adjust(receipt, None).await,
            None => Adjustment::NONE,
        };
        Ok(ClosedReservation { ended, adjustment })
    }

    /// Like [`cancel`](Self::cancel), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`cancel`](Self::cancel), and [`ReservationError::WouldBlock`] if it would block a thread of a runtime: then the
    /// reservation is still open.
    pub fn try_cancel(&self, id: ReservationId) -> Result<ClosedReservation, ReservationError> {
        self.0.check_may_end(id)?;
        let (ended, receipt) = self.0.end(id, ReservationOutcome::Cancelled)?;
        let adjusted = receipt.map(|receipt| self.0.adjust_all(&receipt, None));
        Ok(ClosedReservation { ended, adjustment: adjusted.unwrap_or_default() })
    }
}

/// Of a reservation's charges, those that were guesses.
fn guessed(receipt: Option<Receipt>) -> Option<Receipt> {
    receipt.map(|mut receipt| {
        receipt.parts.retain(|part| part.estimated);
        receipt
    })
}

impl Inner {
    /// What is said when no reservation can be made.
    pub(crate) fn not_reserved(
        &self,
        hits: &[Hit<'_>],
        why: Unavailable,
    ) -> Result<(Verdict, Option<Reservation>), HitError> {
        // A wrong question is wrong all the same.
        self.charges::<HITS_MAX>(hits)?;
        let verdict = Verdict { kind: Kind::Unavailable(why), answers: HitResults::new() };
        self.tell(Verb::Reserve, hits, &verdict, self.clock.now());
        Ok((verdict, None))
    }
}
