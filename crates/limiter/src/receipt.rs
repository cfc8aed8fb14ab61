//! Proof of a verdict's charges, without which nothing is given back. What is given back is the core's to say.

use smallvec::SmallVec;
use tollgate_core::Micros;

use crate::error::HitError;
use crate::limit::{Hit, NamedLimit};
use crate::limiter::{Inner, Limiter};
use crate::store::memory::Ask;
use crate::verdict::Verdict;

/// Proof of what one verdict charged: see [`Limiter::charge_for_receipt`]. It cannot be copied, and a refund takes it.
///
/// It is void, and gives nothing back, once the key has been [reset](Limiter::reset), or keys of the limit's name have been
/// met under other numbers, or the wall clock was set right in between (fixed windows), or if there was no room for the key.
#[derive(Debug)]
#[must_use = "without it nothing can be given back"]
pub struct Receipt {
    pub(crate) parts: SmallVec<[Part; 2]>,
}

/// The charge of one hit.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) limit: NamedLimit,
    pub(crate) id: u64,
    pub(crate) charge: tollgate_core::Receipt,
    /// Whether its cost was a guess.
    pub(crate) estimated: bool,
    /// Which of the hits it was, in their order.
    pub(crate) hit: usize,
}

impl Receipt {
    /// Parts the receipt in two: of the hits for which `first` holds, and of the others. A hit is told by its place among
    /// those that were charged together.
    pub fn part(self, first: impl Fn(usize) -> bool) -> (Self, Self) {
        let (first, rest) = self.parts.into_iter().partition(|part| first(part.hit));
        (Self { parts: first }, Self { parts: rest })
    }

    /// Whether there is nothing on it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl Limiter {
    /// Gives back what the receipt's charges still weigh: never more, possibly less.
    ///
    /// # Errors
    /// When the receipt is another limiter's.
    pub fn refund(&self, receipt: Receipt) -> Result<(), HitError> {
        if let Some(part) = receipt.parts.iter().find(|part| part.limit.0.limiter != self.0.number) {
            return Err(HitError::ForeignLimit { limit: part.limit.name().to_string() });
        }
        let now = self.0.clock.now();
        for part in &receipt.parts {
            self.0.give_back(part, part.charge.cost, now);
        }
        Ok(())
    }

    /// Brings every charge of a receipt to what it turned out to cost: what was charged too much is given back, and what
    /// was charged too little is charged on top, by at most one capacity (see [`tollgate_core::settle`]).
    ///
    /// # Errors
    /// When the receipt is another limiter's.
    pub fn settle(&self, receipt: Receipt, actual: u64) -> Result<(), HitError> {
        if let Some(part) = receipt.parts.iter().find(|part| part.limit.0.limiter != self.0.number) {
            return Err(HitError::ForeignLimit { limit: part.limit.name().to_string() });
        }
        let now = self.0.clock.now();
        for part in &receipt.parts {
            self.0.settle_part(part, actual, now);
        }
        Ok(())
    }
}

impl Inner {
    /// Charges, and writes down what was charged.
    pub(crate) fn charge_for_receipt(
        &self,
        hits: &[Hit<'_>],
    ) -> Result<(Verdict, Option<Receipt>, Micros), HitError> {
        let before = self.clock.now();
        let ahead = self.memory.calendar_ahead(&self.clock, before);
        let (verdict, at) = self.charge(hits)?;
        let mut parts = SmallVec::new();
        let same_calendar = ahead == self.memory.calendar_ahead(&self.clock, at);
        let answered = hits.iter().zip(&verdict.answers).enumerate();
        for (place, (hit, answer)) in answered.filter(|_| verdict.granted() && same_calendar) {
            let limit = hit.limit.limit.with_calendar_ahead(ahead);
            let decision = answer.decision();
            let nothing = tollgate_core::Receipt { at: decision.at, cost: 0, limit };
            // A guess of nothing can still be committed with something.
            let charge = decision.receipt(&limit).or(hit.estimated.then_some(nothing));
            let Some(charge) = charge.filter(|_| !answer.shared()) else { continue };
            let limit = NamedLimit(hit.limit.clone());
            parts.push(Part { limit, id: self.id_of(hit)?, charge, estimated: hit.estimated, hit: place });
        }
        let receipt = (!parts.is_empty()).then_some(Receipt { parts });
        Ok((verdict, receipt, at))
    }

    /// Gives a part of a charge back, unless its receipt is void.
    pub(crate) fn give_back(&self, part: &Part, amount: u64, now: Micros) {
        if !part.limit.0.is_void(part.charge.at) {
            let ask = Ask::Refund(&part.charge, amount);
            // If there is no room for the key, there is nothing to give back.
            let _ = self.memory.act(&part.limit.0, part.id, ask, (&self.clock, now));
        }
    }
}
