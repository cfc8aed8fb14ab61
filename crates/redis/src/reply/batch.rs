//! Decodes the reply to several hits: each key's state, and the decisions on them.

use smallvec::SmallVec;
use tollgate_algorithms::{Batch, Decision, Hit as CoreHit, Limit, State, Target, decide, decide_batch};

use super::{Answer, Read, Reply, state_of};
use crate::script_targets::Targets;
use crate::state::number;
use crate::{Hit, StoreError};

/// Which driver answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BatchReplyForm {
    /// `few.lua`: states only.
    Few,
    /// `batch.lua`: what was charged to each key, and its state.
    Batch,
    /// The same, and nothing was charged.
    Peek,
}

/// A key's state as it was, and what the script charged to it, if it said so.
pub(super) type Key = (Option<State>, Option<u64>);

impl Answer<'_> {
    pub(super) fn batch(&self, hits: &[Hit<'_>], told: BatchReplyForm) -> Option<Read> {
        let targets = Targets::of(hits);
        let mut known = KeyReplies::read(self.rest, told, targets.keys())?;
        let mut keys: SmallVec<[Key; 4]> = SmallVec::new();
        for target in targets.iter() {
            match if target.name.is_some() { known.take(target.limit)? } else { Ok((None, None)) } {
                Ok(key) => keys.push(key),
                Err(error) => return Some(Err(error)),
            }
        }
        let standing: SmallVec<[Target<'_>; 4]> = targets
            .iter()
            .zip(&keys)
            .map(|(target, (state, _))| Target { limit: target.limit, state: state.as_ref() })
            .collect();
        let place = |hit: &Hit<'_>| targets.place_of(hit).unwrap_or(usize::MAX);
        let core: SmallVec<[CoreHit; 4]> =
            hits.iter().map(|hit| CoreHit { target: place(hit), cost: hit.cost, mode: hit.mode }).collect();
        let batch = decide_batch(&standing, &core, self.now);
        if !self.agrees(&batch, &core, &keys) {
            let why = format!("of {} hits at {}, the core says {batch:?}", hits.len(), self.now);
            return Some(Err(StoreError::Disagrees(why)));
        }
        let uncharged = |(hit, decision): (&CoreHit, &Decision)| {
            let target = standing.get(hit.target)?;
            let (_, stands) = decide(target.limit, target.state, self.now, 0);
            Some(Decision { outcome: decision.outcome, ..stands })
        };
        let decisions = if told == BatchReplyForm::Peek {
            core.iter().zip(&batch.decisions).filter_map(uncharged).collect()
        } else {
            batch.decisions.into()
        };
        Some(Ok(Reply::Decided { granted: batch.granted, decisions }))
    }

    /// Whether the script granted, and charged, what the core would have.
    fn agrees(&self, batch: &Batch, hits: &[CoreHit], keys: &[Key]) -> bool {
        let charged = |place: usize| {
            let on = hits.iter().zip(&batch.decisions).filter(|(hit, _)| hit.target == place);
            on.fold(0, |sum: u64, (_, decision)| sum.saturating_add(decision.charged))
        };
        let mut charged_alike =
            keys.iter().enumerate().map(|(place, (_, told))| told.is_none_or(|told| told == charged(place)));
        batch.granted == self.granted && (!self.granted || charged_alike.all(|alike| alike))
    }
}

/// What is told of each key, one after the other.
pub(super) struct KeyReplies<'b> {
    told: BatchReplyForm,
    /// Of those that `few.lua` tells of, which says it of all of them first.
    lengths: &'b [u8],
    rest: &'b [u8],
}

impl<'b> KeyReplies<'b> {
    /// Of so many keys. `None` if the answer is cut short.
    pub(super) fn read(bytes: &'b [u8], told: BatchReplyForm, keys: usize) -> Option<Self> {
        let (lengths, rest) = bytes.split_at_checked(if told == BatchReplyForm::Few { keys } else { 0 })?;
        Some(Self { told, lengths, rest })
    }

    /// Reads the next key's part of the answer, under this limit. `None` if the answer is cut short.
    pub(super) fn take(&mut self, limit: &Limit) -> Option<Result<Key, StoreError>> {
        let (length, charged) = match self.told {
            BatchReplyForm::Few => (number::<1>(&mut self.lengths)?, None),
            BatchReplyForm::Batch | BatchReplyForm::Peek => {
                (number::<4>(&mut self.rest)?, Some(number::<7>(&mut self.rest)?))
            }
        };
        let (state, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(state_of(limit, state).map(|state| (state, charged)))
    }
}
