//! The verbs for callers in asynchronous code: the same meaning, without blocking a thread. The store in memory never yields.
#![cfg_attr(
    not(feature = "redis"),
    expect(clippy::unused_async, reason = "the same meaning for stores that do not answer at once")
)]

use std::time::Duration;

use crate::error::HitError;
use crate::limit::{Hit, NamedLimit};
use crate::limiter::{Limiter, Standing};
use crate::receipt::Receipt;
use crate::reservation::{Ended, ReservationError, ReservationId};
use crate::verdict::Verdict;

#[cfg(feature = "redis")]
use crate::event::Verb;
#[cfg(feature = "redis")]
use crate::receipt::Part;
#[cfg(feature = "redis")]
use crate::reservation::guessed;

impl Limiter {
    /// As [`charge`](Self::charge), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub async fn charge_async(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.charge(&self.0, hits, Verb::Charge).await.map(|(verdict, _)| verdict);
        }
        self.charge(hits)
    }

    /// As [`charge_for_receipt`](Self::charge_for_receipt), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub async fn charge_for_receipt_async(
        &self,
        hits: &[Hit<'_>],
    ) -> Result<(Verdict, Option<Receipt>), HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.charge(&self.0, hits, Verb::Charge).await;
        }
        self.charge_for_receipt(hits)
    }

    /// As [`charge_up_to`](Self::charge_up_to), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub async fn charge_up_to_async(&self, hit: &Hit<'_>) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            return shared.charge_up_to(&self.0, hit).await;
        }
        self.charge_up_to(hit)
    }

    /// As [`peek`](Self::peek), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub async fn peek_async(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.peek(&self.0, hits).await;
        }
        self.peek(hits)
    }

    /// As [`refund`](Self::refund), for callers in asynchronous code. If the shared store gives no answer, what was charged
    /// stays charged.
    ///
    /// # Errors
    /// When the receipt is another limiter's.
    pub async fn refund_async(&self, receipt: Receipt) -> Result<(), HitError> {
        self.0.is_ours(&receipt)?;
        #[cfg(feature = "redis")]
        {
            self.adjust(receipt, None).await;
            Ok(())
        }
        #[cfg(not(feature = "redis"))]
        self.refund(receipt)
    }

    /// As [`settle`](Self::settle), for callers in asynchronous code. If the shared store gives no answer, what was charged
    /// stays charged.
    ///
    /// # Errors
    /// When the receipt is another limiter's.
    pub async fn settle_async(&self, receipt: Receipt, actual: u64) -> Result<(), HitError> {
        self.0.is_ours(&receipt)?;
        #[cfg(feature = "redis")]
        {
            self.adjust(receipt, Some(actual)).await;
            Ok(())
        }
        #[cfg(not(feature = "redis"))]
        self.settle(receipt, actual)
    }

    /// As [`settle`](Self::settle), or as [`refund`](Self::refund) if there is no actual cost, without waiting for it: what is
    /// charged in a shared store is changed in the background.
    ///
    /// # Errors
    /// When the receipt is another limiter's.
    pub fn settle_soon(&self, receipt: Receipt, actual: Option<u64>) -> Result<(), HitError> {
        self.0.is_ours(&receipt)?;
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.shared()
            && receipt.parts.iter().any(Part::is_in_store)
        {
            drop(shared.store().spawn(self.clone().adjusting(receipt, actual)));
            return Ok(());
        }
        match actual {
            Some(actual) => self.settle(receipt, actual),
            None => self.refund(receipt),
        }
    }

    /// As [`reserve`](Self::reserve), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub async fn reserve_async(
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
        self.reserve(hits, within)
    }

    /// As [`commit`](Self::commit), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn commit_async(&self, id: ReservationId, actual: u64) -> Result<Ended, ReservationError> {
        #[cfg(feature = "redis")]
        {
            let (ended, receipt) = self.0.end(id, Ended::Committed(actual))?;
            if let Some(receipt) = guessed(receipt) {
                self.adjust(receipt, Some(actual)).await;
            }
            Ok(ended)
        }
        #[cfg(not(feature = "redis"))]
        self.commit(id, actual)
    }

    /// As [`cancel`](Self::cancel), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`cancel`](Self::cancel).
    pub async fn cancel_async(&self, id: ReservationId) -> Result<Ended, ReservationError> {
        #[cfg(feature = "redis")]
        {
            let (ended, receipt) = self.0.end(id, Ended::Cancelled)?;
            if let Some(receipt) = receipt {
                self.adjust(receipt, None).await;
            }
            Ok(ended)
        }
        #[cfg(not(feature = "redis"))]
        self.cancel(id)
    }

    /// As [`reset`](Self::reset), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`reset`](Self::reset).
    pub async fn reset_async(
        &self,
        limit: &NamedLimit,
        key: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<bool, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(&[limit.hit(key)]) {
            self.0.check(&limit.hit(key))?;
            return shared.reset(&self.0, &limit.hit(key)).await;
        }
        self.reset(limit, key)
    }

    /// As [`inspect`](Self::inspect), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`inspect`](Self::inspect).
    pub async fn inspect_async(
        &self,
        limit: &NamedLimit,
        key: &(impl AsRef<[u8]> + ?Sized),
    ) -> Result<Standing, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(&[limit.hit(key)]) {
            self.0.check(&limit.hit(key))?;
            return shared.inspect(&limit.hit(key)).await;
        }
        self.inspect(limit, key)
    }

    /// Brings charges to an actual cost, or gives them back if there is none. What is begun is done, also if nobody waits for it
    /// any more: else a reservation would be ended and its charge not be changed.
    #[cfg(feature = "redis")]
    async fn adjust(&self, receipt: Receipt, actual: Option<u64>) {
        match self.0.shared() {
            Some(shared) if receipt.parts.iter().any(Part::is_in_store) => {
                shared.store().spawn(self.clone().adjusting(receipt, actual)).await;
            }
            _ => self.clone().adjusting(receipt, actual).await,
        }
    }

    #[cfg(feature = "redis")]
    async fn adjusting(self, receipt: Receipt, actual: Option<u64>) {
        for part in receipt.parts.iter() {
            let to = actual.map_or_else(|| part.all(), |actual| part.to(actual));
            match self.0.shared() {
                Some(shared) if part.is_in_store() => {
                    // If the store gives no decision, what was charged stays charged.
                    let _ = shared.adjust(part, to).await;
                }
                _ => self.0.adjust(part, to, self.0.clock.now()),
            }
        }
    }
}
