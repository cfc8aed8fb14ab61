//! Combines what the nodes of a cluster decided, each on its part of a request, with what was charged in this process.

use smallvec::SmallVec;
use tollgate_algorithms::Decision;
use tollgate_redis::InGroups;

use super::{Answered, Hits, LocalChargeGuard, RemoteStore, written};
use crate::inline_list::InlineList;
use crate::limit::Hit;
use crate::limiter::Inner;
use crate::receipt::{ChargePart, Receipt};
use crate::verdict::{HitResult, HitResults, Kind, Source, Verdict};

impl RemoteStore {
    /// The verdict on a request whose limits in the store are in several slots. Limits of which no node decided follow their
    /// own failure rules. Unless all of them grant, everything is given back.
    pub(super) fn decided_in_groups(
        &self,
        inner: &Inner,
        hits: &Hits<'_>,
        (here, mut here_charged): (Verdict, LocalChargeGuard<'_>),
        groups: InGroups,
    ) -> Answered {
        let InGroups { decisions, refused, failed, charge } = groups;
        if refused {
            drop((here_charged, charge));
            let here = self.here(inner, hits)?;
            let now = inner.clock.now();
            let far = combined(hits, &decisions, |hit| HitResult::unknown(hit, now, Source::Unasked));
            return Ok((Verdict { kind: Kind::Refused, answers: hits.merged(&here, &far) }, None));
        }
        let undecided: SmallVec<[usize; 4]> = far_places(hits)
            .zip(&decisions)
            .filter(|(_, decision)| decision.is_none())
            .map(|(place, _)| place)
            .collect();
        let why = failed.as_ref().map_or("disagrees", |error| error.name());
        let alone: SmallVec<[Hit<'_>; 4]> =
            undecided.iter().filter_map(|place| hits.all.get(*place)).copied().collect();
        let (verdict, mut receipt) = if alone.is_empty() {
            (super::granted(), None)
        } else {
            self.alone(inner, &self.hits(inner, &alone)?, why)?
        };
        if let Kind::Unavailable(_) = verdict.kind {
            return Ok((verdict, None));
        }
        let mut said = verdict.answers.iter().copied();
        let now = inner.clock.now();
        let unknown =
            |hit: &Hit<'_>| said.next().unwrap_or_else(|| HitResult::unknown(hit, now, Source::Nothing));
        let far = combined(hits, &decisions, unknown);
        if verdict.kind == Kind::Refused {
            // A share of this process refuses, while other nodes granted.
            drop((here_charged, charge));
            let here = self.here(inner, hits)?;
            return Ok((Verdict { kind: Kind::Refused, answers: hits.merged(&here, &far) }, None));
        }
        charge.keep();
        let answers = hits.merged(&here.answers, &far);
        let stored = written(hits, here_charged.receipt.take(), &answers, &undecided);
        let mut parts: InlineList<ChargePart> = InlineList::for_as_many(hits.all.len());
        parts.extend(stored.into_iter().flat_map(|mut receipt| receipt.parts.take_all().collect::<Vec<_>>()));
        let shares = receipt.iter_mut().flat_map(|receipt| receipt.parts.take_all());
        parts.extend(shares.filter_map(|part| Some(ChargePart { hit: *undecided.get(part.hit)?, ..part })));
        let receipt = (!parts.is_empty()).then_some(Receipt { parts });
        Ok((Verdict { kind: Kind::Granted, answers }, receipt))
    }
}

/// The places of the hits that are counted in the store.
fn far_places<'a>(hits: &'a Hits<'_>) -> impl Iterator<Item = usize> + 'a {
    hits.all.iter().enumerate().filter(|(_, hit)| hit.limit.far.is_some()).map(|(place, _)| place)
}

/// The results of the hits in the store: what a node decided, or what is known without.
fn combined(
    hits: &Hits<'_>,
    decisions: &[Option<Decision>],
    mut unknown: impl FnMut(&Hit<'_>) -> HitResult,
) -> HitResults {
    let far = hits.all.iter().filter(|hit| hit.limit.far.is_some()).zip(decisions);
    far.map(|(hit, decision)| match decision {
        Some(decision) => HitResult::new(*decision, hit.mode, Source::Own),
        None => unknown(hit),
    })
    .collect()
}
