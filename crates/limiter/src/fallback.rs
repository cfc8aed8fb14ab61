//! Decides hits on shared limits without the shared store: by their failure rule, by a local fraction, or because a local limit
//! refused first.

use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_algorithms::{Decision, Micros, Mode, Retry};

use crate::error::HitError;
use crate::limit::{FailureRule, Hit, LimitInner};
use crate::limiter::Inner;
use crate::remote::{Answered, Hits, RemoteStore, granted, unavailable};
use crate::verdict::{HitResult, HitResults, Kind, Source, Verdict};

impl RemoteStore {
    /// What is said when the store need not be asked: it would refuse.
    pub(crate) fn remembered(&self, inner: &Inner, hits: &Hits<'_>, known: &[Option<Decision>]) -> Answered {
        let (here, now) = (self.here(inner, hits)?, inner.clock.now());
        let far = hits.all.iter().filter(|hit| hit.limit.far.is_some()).zip(known);
        let far = far.map(|(hit, known)| match known {
            Some(decision) => HitResult::new(*decision, hit.mode, Source::Remembered),
            None => HitResult::unknown(hit, now, Source::Unasked),
        });
        let far: HitResults = far.collect();
        Ok((Verdict { kind: Kind::Refused, answers: hits.merged(&here, &far) }, None))
    }

    /// How the keys of this process stand, uncharged.
    pub(crate) fn here(&self, inner: &Inner, hits: &Hits<'_>) -> Result<HitResults, HitError> {
        let near = hits.near();
        let (peeked, now) = inner.peeked(&near)?;
        if let Kind::Unavailable(_) = peeked.kind {
            return Ok(near.iter().map(|hit| HitResult::unknown(hit, now, Source::Unasked)).collect());
        }
        Ok(peeked.answers)
    }

    /// What is said of keys in the store about which it was not asked.
    pub(crate) fn unasked(&self, hits: &Hits<'_>, now: Micros) -> HitResults {
        let far = hits.all.iter().filter(|hit| hit.limit.far.is_some());
        far.map(|hit| HitResult::unknown(hit, now, Source::Unasked)).collect()
    }

    /// What is said while the store gives no decision: each limit's own rule. Nothing is charged anywhere yet.
    pub(crate) fn alone(&self, inner: &Inner, hits: &Hits<'_>, why: &'static str) -> Answered {
        let denies = |hit: &Hit<'_>| {
            hit.mode == Mode::Enforced
                && hit.limit.far.as_ref().is_some_and(|far| far.fails == FailureRule::Deny)
        };
        if hits.all.iter().any(denies) {
            return Ok((unavailable(why), None));
        }
        // Where each hit is counted instead; `None` if nowhere.
        let instead = |hit: &Hit<'_>| -> Option<Arc<LimitInner>> {
            match &hit.limit.far {
                None => Some(Arc::clone(hit.limit)),
                Some(far) => far.share.clone(),
            }
        };
        let limits: SmallVec<[Option<Arc<LimitInner>>; 4]> = hits.all.iter().map(instead).collect();
        let counted = hits.all.iter().zip(&limits);
        let counted: SmallVec<[Hit<'_>; 4]> =
            counted.filter_map(|(hit, limit)| Some(Hit { limit: limit.as_ref()?, ..*hit })).collect();
        let now = inner.clock.now();
        let (here, mut receipt, _) =
            if counted.is_empty() { (granted(), None, now) } else { inner.charge_for_receipt(&counted)? };
        // A part is told by its place among all hits.
        let places: SmallVec<[usize; 4]> =
            (0..).zip(&limits).filter_map(|(place, limit)| limit.as_ref().map(|_| place)).collect();
        for part in receipt.iter_mut().flat_map(|receipt| receipt.parts.iter_mut()) {
            part.hit = places.get(part.hit).copied().unwrap_or(part.hit);
        }
        if let Kind::Unavailable(_) = here.kind {
            return Ok((here, None));
        }
        let mut said = here.answers.iter();
        let answers = hits.all.iter().zip(&limits).filter_map(|(hit, limit)| {
            let answer =
                if limit.is_some() { *said.next()? } else { HitResult::unknown(hit, now, Source::Nothing) };
            let is_share = hit.limit.far.is_some() && limit.is_some();
            Some(if is_share { of_share(hit, &answer, now) } else { answer })
        });
        let answers: HitResults = answers.collect();
        // Refused by nothing but shares that are too small: nobody knows.
        let refuses = |answer: &HitResult| answer.mode() == Mode::Enforced && !answer.is_granted();
        if here.kind == Kind::Refused && !answers.iter().any(refuses) {
            return Ok((unavailable(why), None));
        }
        Ok((Verdict { kind: here.kind, answers }, receipt))
    }

    /// The same of one hit of which as much is charged as fits.
    pub(crate) fn up_to_alone(
        &self,
        inner: &Inner,
        hit: &Hit<'_>,
        why: &'static str,
    ) -> Result<Verdict, HitError> {
        let Some(share) = hit.limit.far.as_ref().and_then(|far| far.share.clone()) else {
            return Ok(self.alone(inner, &self.hits(inner, &[*hit])?, why)?.0);
        };
        let (mut verdict, _) = inner.charged_up_to(&Hit { limit: &share, ..*hit })?;
        // Of a share of nothing, not even a part of the cost can be charged.
        let part = Hit { cost: hit.cost.min(1), ..*hit };
        verdict.answers.iter_mut().for_each(|answer| *answer = of_share(&part, answer, answer.at()));
        let is_known = verdict.answers.iter().all(|answer| answer.source() == Source::Share);
        Ok(if is_known || verdict.is_granted() { verdict } else { unavailable(why) })
    }
}

/// What a share says to a hit. If it is smaller than the hit's cost, which the whole limit could grant, it says nothing: waiting
/// does not help, but the store's return does.
fn of_share(hit: &Hit<'_>, answer: &HitResult, now: Micros) -> HitResult {
    let decision = answer.decision();
    let whole = || tollgate_algorithms::peek(&hit.limit.limit, None, now, hit.cost).retry();
    if decision.retry() == Some(Retry::Never) && whole() != Some(Retry::Never) {
        return HitResult::unknown(hit, now, Source::Nothing);
    }
    HitResult::new(decision, hit.mode, Source::Share)
}
