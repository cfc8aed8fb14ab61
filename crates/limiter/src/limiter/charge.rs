//! The verbs that charge. Each has an asynchronous form, and a `try_` form for callers without a runtime.
#![cfg_attr(
    not(feature = "redis"),
    expect(clippy::unused_async, reason = "with a shared store the same verbs wait for its answer")
)]

use crate::error::HitError;
use crate::event::Verb;
use crate::limit::Hit;
use crate::limiter::Limiter;
use crate::receipt::Receipt;
use crate::store::memory::map::Probe;
use crate::store::memory::prefetch::prefetch;
use crate::verdict::Verdict;

/// Hits of [`Limiter::try_charge_each`] whose memory is fetched ahead; a longer list is decided in groups of this size.
const PIPELINE: usize = 32;

impl Limiter {
    /// Charges hits at one instant: if every enforced hit fits, all of them and each shadow hit that fits; otherwise none.
    ///
    /// The future is ready at once unless a hit is counted in a shared store.
    ///
    /// # Errors
    /// If a hit is invalid: see [`HitError`]. Nothing is charged then.
    pub async fn charge(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.charge(&self.0, hits, Verb::Charge).await.map(|(verdict, _)| verdict);
        }
        self.try_charge(hits)
    }

    /// Like [`charge`](Self::charge), for callers without a runtime. It blocks the thread while a shared store is asked.
    ///
    /// # Errors
    /// Like [`charge`](Self::charge), and [`HitError::WouldBlock`] if it would block a thread of a runtime.
    #[inline(always)]
    pub fn try_charge(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.charge_blocking(&self.0, hits, Verb::Charge).map(|(verdict, _)| verdict);
        }
        if let [hit] = hits {
            return self.0.charge_one(hit);
        }
        self.0.charge_several(hits)
    }

    /// Like [`charge`](Self::charge), with a receipt by which the charge can be [refunded](Self::refund) or
    /// [settled](Self::settle); `None` if nothing was charged.
    ///
    /// # Errors
    /// Like [`charge`](Self::charge).
    pub async fn charge_for_receipt(&self, hits: &[Hit<'_>]) -> Result<(Verdict, Option<Receipt>), HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.charge(&self.0, hits, Verb::Charge).await;
        }
        self.try_charge_for_receipt(hits)
    }

    /// Like [`charge_for_receipt`](Self::charge_for_receipt), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`try_charge`](Self::try_charge).
    pub fn try_charge_for_receipt(&self, hits: &[Hit<'_>]) -> Result<(Verdict, Option<Receipt>), HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            return shared.charge_blocking(&self.0, hits, Verb::Charge);
        }
        let (verdict, receipt, at) = self.0.charge_for_receipt(hits)?;
        self.0.tell(Verb::Charge, hits, &verdict, at);
        Ok((verdict, receipt))
    }

    /// Like [`try_charge_for_receipt`](Self::try_charge_for_receipt), but writes the verdict into `verdict`, so that a caller
    /// can reuse the memory. The previous value is dropped even on error.
    ///
    /// # Errors
    /// Like [`try_charge`](Self::try_charge).
    pub fn try_charge_into(
        &self,
        hits: &[Hit<'_>],
        verdict: &mut Option<Verdict>,
    ) -> Result<Option<Receipt>, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(hits) {
            *verdict = None;
            let (said, receipt) = shared.charge_blocking(&self.0, hits, Verb::Charge)?;
            *verdict = Some(said);
            return Ok(receipt);
        }
        let charged = self.0.charge_for_receipt_into(hits, verdict);
        if charged.is_err() {
            *verdict = None;
        }
        let (receipt, at) = charged?;
        if let Some(verdict) = verdict {
            self.0.tell(Verb::Charge, hits, verdict, at);
        }
        Ok(receipt)
    }

    /// Charges as much of one hit's cost as fits: [`Decision::charged`](crate::Decision::charged) is the amount. Refused only
    /// if not even a cost of 1 fits.
    ///
    /// # Errors
    /// Like [`charge`](Self::charge).
    pub async fn charge_up_to(&self, hit: &Hit<'_>) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            return shared.charge_up_to(&self.0, hit).await;
        }
        self.try_charge_up_to(hit)
    }

    /// Like [`charge_up_to`](Self::charge_up_to), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`try_charge`](Self::try_charge).
    pub fn try_charge_up_to(&self, hit: &Hit<'_>) -> Result<Verdict, HitError> {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.far(std::slice::from_ref(hit)) {
            return shared.block_on(hit, shared.charge_up_to(&self.0, hit))?;
        }
        let (verdict, at) = self.0.charged_up_to(hit)?;
        self.0.tell(Verb::Charge, std::slice::from_ref(hit), &verdict, at);
        Ok(verdict)
    }

    /// Decides independent hits, and calls `each` with the position and the verdict of each. All are decided at the same
    /// instant. While one hit is decided the memory of the next ones is fetched, so that a hit takes a fraction of the time of
    /// a [`try_charge`](Self::try_charge).
    ///
    /// # Errors
    /// If a hit is invalid; then none is charged. [`HitError::WouldBlock`] as in [`try_charge`](Self::try_charge).
    #[inline]
    pub fn try_charge_each(
        &self,
        hits: &[Hit<'_>],
        mut each: impl FnMut(usize, Verdict),
    ) -> Result<(), HitError> {
        for hit in hits {
            self.0.check(hit)?;
        }
        #[cfg(feature = "redis")]
        if self.0.far(hits).is_some() {
            for (position, hit) in hits.iter().enumerate() {
                each(position, self.try_charge(&[*hit])?);
            }
            return Ok(());
        }
        let now = self.0.clock.now();
        let (all, mut spots) = (hits, [(0, Probe::default()); PIPELINE]);
        hits.iter().take(PIPELINE).for_each(|hit| prefetch(hit.key));
        for (start, hits) in (0..).step_by(PIPELINE).zip(hits.chunks(PIPELINE)) {
            let later = all.get(start + PIPELINE..).unwrap_or(&[]);
            for ((id, spot), hit) in spots.iter_mut().zip(hits) {
                *id = self.0.memory.id(hit.limit.hash.of(hit.key));
                *spot = self.0.memory.spot(*id);
                spot.prefetch();
            }
            // The next keys come while these are decided.
            later.iter().take(PIPELINE).for_each(|hit| prefetch(hit.key));
            for (position, ((id, spot), hit)) in (start..).zip(spots.iter().zip(hits)) {
                each(position, self.0.charge_at(hit, (*id, *spot), now));
            }
        }
        Ok(())
    }
}
