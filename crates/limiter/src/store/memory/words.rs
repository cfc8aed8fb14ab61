//! Several hits on keys whose debts are words, each its own: decided without the core, by the same arithmetic. Anything less
//! plain is `batch.rs`.

use smallvec::SmallVec;
use tollgate_core::{Decision, Micros, Mode};

use super::batch::{Answered, Charge, Grip, Member};
use super::locked::Locked;
use super::slot::Tag;
use super::{Given, Memory};

impl Memory {
    /// Whether every hit is enforced, on a key of its own, whose word can be decided as it is.
    pub(super) fn are_plain(&self, charges: &[Charge<'_>], members: &[Member<'_>], grip: &Grip<'_>) -> bool {
        let is_plain = |(member, locked): (&Member<'_>, &Locked<'_>)| {
            let kind = locked.known().map(|(tag, _)| tag.kind());
            member.limit.narrow.is_some_and(|narrow| Some(narrow.kind) == kind)
        };
        charges.len() == members.len()
            && grip.slots.len() == members.len()
            && charges.iter().all(|charge| charge.mode == Mode::Enforced)
            && members.iter().zip(&grip.slots).all(is_plain)
    }

    pub(super) fn answer_in_words(
        &self,
        charges: &[Charge<'_>],
        members: &[Member<'_>],
        grip: Grip<'_>,
        now: Micros,
    ) -> Answered {
        let since_start = self.since_start(now);
        let mut given: SmallVec<[Given; 4]> = SmallVec::new();
        let mut zeros: SmallVec<[Option<u64>; 4]> = SmallVec::from_elem(None, members.len());
        let mut granted = true;
        let place = |charge: &Charge<'_>| members.binary_search_by_key(&charge.id, |member| member.id).ok();
        let value = |place: usize| {
            let locked = grip.slots.get(place);
            locked.and_then(Locked::known).map_or((Tag::EMPTY, 0), |known| known)
        };
        for charge in charges {
            let (Some(narrow), Some(place)) = (charge.limit.narrow, place(charge)) else { continue };
            let (zero, decision) = narrow.decide(value(place).1, since_start, now, charge.cost);
            granted &= decision.granted();
            if let Some(kept) = zeros.get_mut(place) {
                *kept = zero;
            }
            given.push(Given { decision, shared: false, known: true });
        }
        if !granted {
            for (charge, given) in charges.iter().zip(&mut given) {
                let (Some(narrow), Some(place)) = (charge.limit.narrow, place(charge)) else { continue };
                let (_, uncharged) = narrow.decide(value(place).1, since_start, now, 0);
                given.decision = Decision { outcome: given.decision.outcome, ..uncharged };
            }
            grip.let_go();
            return Answered { granted, given };
        }
        for (locked, zero) in grip.slots.into_iter().zip(zeros) {
            match (zero, locked.known()) {
                (Some(zero), Some((tag, _))) => locked.write(tag, zero),
                _ => locked.leave(),
            }
        }
        Answered { granted, given }
    }
}
