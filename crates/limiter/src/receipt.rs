//! Proof of a verdict's charges, which a refund requires.
#![cfg_attr(
    not(feature = "redis"),
    expect(clippy::unused_async, reason = "with a shared store the same verbs wait for its answer")
)]

use std::cell::RefCell;
use std::sync::Arc;
use std::thread::LocalKey;

use tollgate_algorithms::{Limit, Micros};

use crate::adjustment::Adjustment;
use crate::error::HitError;
use crate::inline_list::{InlineItem, InlineList, SpareBuffers};
use crate::limit::{Hit, LimitInner};
use crate::limiter::{Inner, Limiter};
use crate::store::memory::{KeyRequest, NoRoom};
use crate::verdict::{HitResult, HitResults, Kind, Unavailable, Verdict};

/// Proof of what one verdict charged: see [`Limiter::charge_for_receipt`]. It cannot be copied, and a refund takes it.
///
/// It is void, and gives nothing back, once its key has been [reset](Limiter::reset) or met under other numbers (in a shared store:
/// charged by other numbers; of a bucket, at another rate), or the wall clock was set right in between (fixed windows), or if there
/// was no room for the key. What happens to other keys does not matter, unless thousands of them are reset or met under other
/// numbers: the latest thousand of each limit's name are told apart, and with the older ones all receipts of their age become void.
///
/// In a shared store a reset by another process is noticed by the state's age, which is exact to 4 ms.
#[derive(Debug)]
#[must_use = "without the receipt, the charge cannot be refunded"]
pub struct Receipt {
    pub(crate) parts: InlineList<ChargePart>,
}

/// The charge of one hit.
#[derive(Debug)]
pub(crate) struct ChargePart {
    pub(crate) limit: Arc<LimitInner>,
    pub(crate) place: ChargeLocation,
    pub(crate) charge: tollgate_algorithms::Receipt,
    /// Whether its cost was a guess.
    pub(crate) estimated: bool,
    /// Which of the hits it was, in their order.
    pub(crate) hit: usize,
}

thread_local! {
    static PARTS: SpareBuffers<ChargePart> = const { RefCell::new(Vec::new()) };
}

impl InlineItem for ChargePart {
    type Few = [Self; 1];

    fn kept() -> &'static LocalKey<SpareBuffers<Self>> {
        &PARTS
    }
}

/// Where it was charged.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChargeLocation {
    /// In this process, under this number.
    Here(u64),
    /// In a cell that keys have in common, because there was no room for the key of this number: what was charged to others too
    /// is not given back, but a cost that turns out to be higher is charged all the same.
    InCommon(u64),
    /// In the shared store, under this name, with the [stamp](crate::voided::Resets::stamp) of the charge.
    #[cfg(feature = "redis")]
    Store(tollgate_redis::Name, u64),
}

impl Receipt {
    /// Splits the receipt in two: the hits for which `first` returns true, and the others. Hits are identified by their position
    /// in the batch.
    pub fn part(self, first: impl Fn(usize) -> bool) -> (Self, Self) {
        let (mut its, mut rest) = (self, Self { parts: InlineList::new() });
        if !its.parts.iter().all(|part| first(part.hit)) {
            let mut all = std::mem::take(&mut its.parts);
            (its.parts, rest.parts) =
                (InlineList::for_as_many(all.len()), InlineList::for_as_many(all.len()));
            for part in all.take_all() {
                let list = if first(part.hit) { &mut its.parts } else { &mut rest.parts };
                list.push(part);
            }
        }
        (its, rest)
    }

    /// Returns true if the receipt includes the hit at this position of the batch.
    #[must_use]
    pub fn holds(&self, hit: usize) -> bool {
        self.parts.iter().any(|part| part.hit == hit)
    }

    /// Returns true if the receipt includes no charge.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

/// What is done to a charge afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AdjustmentKind {
    /// So much of it is given back.
    Back(u64),
    /// So much is charged on top, whether it fits or not.
    More(u64),
}

impl ChargePart {
    /// What gives all of it back.
    pub(crate) const fn all(&self) -> AdjustmentKind {
        AdjustmentKind::Back(self.charge.cost)
    }

    /// Whether it was charged in the shared store.
    #[cfg(feature = "redis")]
    pub(crate) const fn is_in_store(&self) -> bool {
        matches!(self.place, ChargeLocation::Store(..))
    }

    /// What brings it to its actual cost, or gives all of it back if there is none.
    pub(crate) const fn adjustment(&self, actual: Option<u64>) -> AdjustmentKind {
        match actual {
            Some(actual) => self.to(actual),
            None => self.all(),
        }
    }

    /// What brings it to its actual cost.
    pub(crate) const fn to(&self, actual: u64) -> AdjustmentKind {
        match actual.checked_sub(self.charge.cost) {
            Some(more) => AdjustmentKind::More(more),
            None => AdjustmentKind::Back(self.charge.cost.saturating_sub(actual)),
        }
    }
}

impl Limiter {
    /// Gives back what the receipt's charges still weigh: never more, possibly less. If a shared store does not answer, what was
    /// charged stays charged, and [`Adjustment::unsettled`] counts it.
    ///
    /// # Errors
    /// If another limiter made the receipt.
    pub async fn refund(&self, receipt: Receipt) -> Result<Adjustment, HitError> {
        self.0.is_ours(&receipt)?;
        Ok(self.adjust(receipt, None).await)
    }

    /// Like [`refund`](Self::refund), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`refund`](Self::refund), and [`HitError::WouldBlock`] if it would block a thread of a runtime: then what was charged
    /// stays charged.
    pub fn try_refund(&self, receipt: Receipt) -> Result<Adjustment, HitError> {
        self.0.is_ours(&receipt)?;
        self.0.check_may_block(&receipt)?;
        Ok(self.0.adjust_all(&receipt, None))
    }

    /// Corrects every charge of a receipt to its actual cost: gives back what was charged too much, or charges what is missing,
    /// at most one capacity beyond the limit (see [`tollgate_algorithms::settle`]). If a shared store does not answer, what was
    /// charged stays charged, and [`Adjustment::unsettled`] counts it.
    ///
    /// # Errors
    /// If another limiter made the receipt.
    pub async fn settle(&self, receipt: Receipt, actual: u64) -> Result<Adjustment, HitError> {
        self.0.is_ours(&receipt)?;
        Ok(self.adjust(receipt, Some(actual)).await)
    }

    /// Like [`settle`](Self::settle), for callers without a runtime.
    ///
    /// # Errors
    /// Like [`settle`](Self::settle), and [`HitError::WouldBlock`] if it would block a thread of a runtime: then what was charged
    /// stays charged.
    pub fn try_settle(&self, receipt: Receipt, actual: u64) -> Result<Adjustment, HitError> {
        self.0.is_ours(&receipt)?;
        self.0.check_may_block(&receipt)?;
        Ok(self.0.adjust_all(&receipt, Some(actual)))
    }

    /// Like [`settle`](Self::settle), or as [`refund`](Self::refund) if there is no actual cost, without waiting: charges in a
    /// shared store are corrected in the background.
    ///
    /// # Errors
    /// If another limiter made the receipt.
    pub fn settle_in_background(&self, receipt: Receipt, actual: Option<u64>) -> Result<(), HitError> {
        self.0.is_ours(&receipt)?;
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.remote()
            && receipt.parts.iter().any(ChargePart::is_in_store)
        {
            drop(shared.store().spawn(self.clone().adjusting(receipt, actual)));
            return Ok(());
        }
        self.0.adjust_all(&receipt, actual);
        Ok(())
    }

    /// Brings charges to an actual cost, or gives them back if there is none. Once started it completes even if the caller is
    /// cancelled: otherwise a reservation could end without its charge being corrected.
    pub(crate) async fn adjust(&self, receipt: Receipt, actual: Option<u64>) -> Adjustment {
        #[cfg(feature = "redis")]
        if let Some(shared) = self.0.remote()
            && receipt.parts.iter().any(ChargePart::is_in_store)
        {
            let nothing_known = Adjustment { unsettled: receipt.parts.len(), ..Adjustment::NONE };
            let adjusted = shared.store().spawn(self.clone().adjusting(receipt, actual)).await;
            return adjusted.unwrap_or(nothing_known);
        }
        self.0.adjust_all(&receipt, actual)
    }

    #[cfg(feature = "redis")]
    async fn adjusting(self, receipt: Receipt, actual: Option<u64>) -> Adjustment {
        let mut sum = Adjustment::NONE;
        for part in receipt.parts.iter() {
            let adjust = part.adjustment(actual);
            let adjusted = match self.0.remote() {
                Some(shared) if part.is_in_store() => shared.adjust(part, adjust).await,
                _ => self.0.adjust(part, adjust, self.0.clock.now()),
            };
            sum = sum.and(adjusted);
        }
        sum
    }
}

impl Inner {
    /// Charges, and writes down what was charged.
    pub(crate) fn charge_for_receipt(
        &self,
        hits: &[Hit<'_>],
    ) -> Result<(Verdict, Option<Receipt>, Micros), HitError> {
        let mut verdict = None;
        let (receipt, at) = self.charge_for_receipt_into(hits, &mut verdict)?;
        // It is always written; were it not, nothing would be known.
        let nothing = Verdict { kind: Kind::Unavailable(Unavailable::NoRoom), answers: HitResults::new() };
        Ok((verdict.unwrap_or(nothing), receipt, at))
    }

    /// The same, with the verdict where it is wanted.
    #[inline]
    pub(crate) fn charge_for_receipt_into(
        &self,
        hits: &[Hit<'_>],
        into: &mut Option<Verdict>,
    ) -> Result<(Option<Receipt>, Micros), HitError> {
        // The numbers of windows that follow the calendar hold only as long as it is not set right.
        let calendar = hits.iter().any(|hit| matches!(hit.limit.limit, Limit::FixedWindow(_)));
        let read = calendar.then(|| self.clock.now());
        let ahead = || read.map_or(0, |now| self.memory.calendar_ahead(&self.clock, now));
        let before = ahead();
        // `None` if it was set right meanwhile.
        let held = || Some(before).filter(|before| *before == ahead());
        if let [hit] = hits {
            let id = self.id_of(hit)?;
            let spot = self.memory.spot(id);
            spot.prefetch();
            let now = read.unwrap_or_else(|| self.clock.now());
            match self.charge_word(hit, (id, spot), now) {
                Some(weighed) => Verdict::write_weighed(into, weighed, now),
                None => *into = Some(self.charge_further(hit, id, now)),
            }
            let answer = granted(into).and_then(<[HitResult]>::first);
            let part = answer.and_then(|answer| part((0, hit), id, answer, held()));
            return Ok((part.map(|part| Receipt { parts: InlineList::of(part) }), now));
        }
        // Its memory is there for the one that comes.
        *into = None;
        let (verdict, at) = self.charge(hits, read)?;
        *into = Some(verdict);
        let (answers, held) = (granted(into), held());
        let mut parts = InlineList::for_as_many(hits.iter().filter(|hit| !hit.non_refundable).count());
        for (place, (hit, answer)) in hits.iter().zip(answers.unwrap_or_default()).enumerate() {
            parts.extend(part((place, hit), self.id_of(hit)?, answer, held));
        }
        Ok(((!parts.is_empty()).then_some(Receipt { parts }), at))
    }

    /// Whether a receipt is of this limiter.
    pub(crate) fn is_ours(&self, receipt: &Receipt) -> Result<(), HitError> {
        match receipt.parts.iter().find(|part| part.limit.limiter != self.number) {
            None => Ok(()),
            Some(part) => Err(HitError::ForeignLimit { limit: part.limit.name.to_string() }),
        }
    }

    /// Whether the thread may be blocked for what the receipt's charges need.
    pub(crate) fn check_may_block(&self, receipt: &Receipt) -> Result<(), HitError> {
        #[cfg(feature = "redis")]
        if let Some(part) = receipt.parts.iter().find(|part| part.is_in_store())
            && self.remote().is_some_and(|shared| !shared.store().may_block())
        {
            return Err(HitError::WouldBlock { limit: part.limit.name.to_string() });
        }
        #[cfg(not(feature = "redis"))]
        let _ = receipt;
        Ok(())
    }

    /// Brings all charges of a receipt to an actual cost, or gives them back if there is none.
    pub(crate) fn adjust_all(&self, receipt: &Receipt, actual: Option<u64>) -> Adjustment {
        let now = self.clock.now();
        let adjusted = receipt.parts.iter().map(|part| self.adjust(part, part.adjustment(actual), now));
        adjusted.fold(Adjustment::NONE, Adjustment::and)
    }

    /// Changes a charge afterwards. Nothing is given back by a receipt that is void.
    #[cfg_attr(
        not(feature = "redis"),
        allow(clippy::infallible_destructuring_match, reason = "with a store there are more places")
    )]
    pub(crate) fn adjust(&self, part: &ChargePart, adjust: AdjustmentKind, now: Micros) -> Adjustment {
        let id = match part.place {
            ChargeLocation::Here(id) | ChargeLocation::InCommon(id) => id,
            #[cfg(feature = "redis")]
            ChargeLocation::Store(..) => {
                let Some(shared) = self.remote() else { return Adjustment::UNSETTLED };
                let adjusted = shared.store().block_on(shared.adjust(part, adjust));
                return adjusted.unwrap_or(Adjustment::UNSETTLED);
            }
        };
        let ask = match adjust {
            AdjustmentKind::Back(0) | AdjustmentKind::More(0) => return Adjustment::NONE,
            AdjustmentKind::Back(_) if matches!(part.place, ChargeLocation::InCommon(_)) => {
                return Adjustment::NONE;
            }
            AdjustmentKind::Back(_) if part.limit.is_void(id, part.charge.at) => return Adjustment::NONE,
            AdjustmentKind::Back(amount) => KeyRequest::Refund(&part.charge, amount),
            AdjustmentKind::More(cost) => KeyRequest::Settle(cost),
        };
        match self.memory.act(&part.limit, id, ask, (&self.clock, now)) {
            Ok(given) => {
                Adjustment { charged: given.decision.charged, ..Adjustment::refunded(given.refunded) }
            }
            // There is not even a cell in common for the key, and so nobody to charge.
            Err(NoRoom(_)) => Adjustment::UNSETTLED,
        }
    }
}

/// The answers of a verdict that was granted.
fn granted(verdict: &Option<Verdict>) -> Option<&[HitResult]> {
    verdict.as_ref().filter(|verdict| verdict.is_granted()).map(Verdict::results)
}

/// What is written down of one hit's charge; `None` if there is nothing to give back or to charge on top.
#[inline]
fn part((at, hit): (usize, &Hit<'_>), id: u64, answer: &HitResult, held: Option<i64>) -> Option<ChargePart> {
    let cost = answer.charged(hit.cost);
    // A guess of nothing can still be committed with something.
    if hit.non_refundable || (cost == 0 && !hit.estimated) {
        return None;
    }
    let ahead = if matches!(hit.limit.limit, Limit::FixedWindow(_)) { held? } else { 0 };
    let limit = hit.limit.limit.with_calendar_ahead(ahead);
    let charge = tollgate_algorithms::Receipt { at: answer.at(), cost, limit };
    let place = if answer.is_overflow() { ChargeLocation::InCommon(id) } else { ChargeLocation::Here(id) };
    Some(ChargePart { limit: Arc::clone(hit.limit), place, charge, estimated: hit.estimated, hit: at })
}
