//! A guard for a reservation, which cancels it on drop.

use std::fmt;

use super::{ClosedReservation, ReservationError, ReservationId, ReservationOutcome};
use crate::limiter::Limiter;

/// An open reservation, made by [`Limiter::reserve`]. Dropping it cancels the reservation: all that it still weighs is given back.
///
/// [Commit](Self::commit) it with the actual cost when the work is done. What is counted in a shared store is given back in the
/// background, in the runtime of the store; the thread that drops it does not wait, and needs no runtime.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limit, Limiter};
/// let limiter = Limiter::new()?;
/// let tokens = limiter.limit("tokens", Limit::per_hour(10_000).burst(10_000)?);
/// let left = || limiter.try_inspect(&tokens, "ada").map(|standing| standing.decision.remaining);
/// let (_, reservation) = limiter.try_reserve(&[tokens.hit("ada").estimate(4_000)], Duration::from_secs(60))?;
/// assert_eq!(left()?, 6_000);
/// drop(reservation); // as when the work fails
/// assert_eq!(left()?, 10_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping it cancels the reservation"]
pub struct Reservation {
    limiter: Limiter,
    id: ReservationId,
    cancels: bool,
}

impl Reservation {
    pub(super) const fn new(limiter: Limiter, id: ReservationId) -> Self {
        Self { limiter, id, cancels: true }
    }

    /// Its name: it can be committed and cancelled by that, too.
    #[must_use]
    pub const fn id(&self) -> ReservationId {
        self.id
    }

    /// Gives up the guard and returns the id: the reservation stays open until it is [committed](Limiter::commit) or
    /// [cancelled](Limiter::cancel) by id, or expires.
    #[must_use = "without its id the reservation cannot be ended"]
    pub fn into_id(mut self) -> ReservationId {
        self.cancels = false;
        self.id
    }

    /// Ends it with its actual cost: see [`Limiter::commit`].
    ///
    /// # Errors
    /// Like [`Limiter::commit`].
    pub async fn commit(&self, actual: u64) -> Result<ClosedReservation, ReservationError> {
        self.limiter.commit(self.id, actual).await
    }

    /// Like [`commit`](Self::commit), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`Limiter::try_commit`].
    pub fn try_commit(&self, actual: u64) -> Result<ClosedReservation, ReservationError> {
        self.limiter.try_commit(self.id, actual)
    }

    /// Ends it without any cost, and says what was given back: see [`Limiter::cancel`].
    ///
    /// # Errors
    /// Like [`Limiter::cancel`].
    pub async fn cancel(&self) -> Result<ClosedReservation, ReservationError> {
        self.limiter.cancel(self.id).await
    }

    /// Like [`cancel`](Self::cancel), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`Limiter::try_cancel`].
    pub fn try_cancel(&self) -> Result<ClosedReservation, ReservationError> {
        self.limiter.try_cancel(self.id)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.cancels
            // It may have ended already, or expired.
            && let Ok((_, Some(receipt))) = self.limiter.0.end(self.id, ReservationOutcome::Cancelled)
        {
            // The receipt is of this limiter.
            let _ = self.limiter.settle_in_background(receipt, None);
        }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reservation({})", self.id)
    }
}
