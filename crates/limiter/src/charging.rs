//! From hits to a verdict: checked, hashed, charged, told. The verbs that users call are `limiter.rs`.

use smallvec::SmallVec;
use tollgate_core::{Micros, Mode};

use crate::error::HitError;
use crate::event::{Event, Verb};
use crate::limit::Hit;
use crate::limiter::{HITS_MAX, Inner, KEY_BYTES_MAX};
use crate::store::memory::batch::{Answered, Charge};
use crate::store::memory::rates::{Narrow, Raw};
use crate::store::memory::{Given, NoRoom, Whose};
use crate::verdict::{Answer, Kind, Unavailable, Verdict};

impl Inner {
    /// Checks a hit: its limit is ours, its key not too long.
    #[inline]
    pub(crate) fn check(&self, hit: &Hit<'_>) -> Result<(), HitError> {
        if hit.key.len() <= KEY_BYTES_MAX && hit.limit.limiter == self.number {
            return Ok(());
        }
        let limit = hit.limit.name.to_string();
        Err(if hit.limit.limiter == self.number {
            HitError::KeyTooLong { limit, bytes: hit.key.len() }
        } else {
            HitError::ForeignLimit { limit }
        })
    }

    #[inline]
    pub(crate) fn id_of(&self, hit: &Hit<'_>) -> Result<u64, HitError> {
        self.check(hit)?;
        Ok(self.memory.id(self.hashing.hash(&hit.limit.prefix, hit.key)))
    }

    /// Charges one hit if that can be done at once and nobody listens; `None` if not, and then nothing was charged.
    #[inline]
    pub(crate) fn charge_at_once<'a>(&self, hit: &Hit<'a>) -> Option<(&'a Narrow, Raw, Micros)> {
        let plain = hit.key.len() <= KEY_BYTES_MAX
            && hit.limit.limiter == self.number
            && hit.mode == Mode::Enforced
            && self.listener.is_none();
        if !plain {
            return None;
        }
        let id = self.memory.id(self.hashing.hash(&hit.limit.prefix, hit.key));
        let spot = self.memory.spot(id)?;
        // The line comes from memory while the clock is read.
        spot.prefetch();
        let now = self.clock.now();
        let raw = self.memory.charge_at(spot, Whose { limit: hit.limit, id }, hit.cost, now)?;
        Some((hit.limit.narrow.as_ref()?, raw, now))
    }

    /// Decides one hit of a pipeline.
    #[inline]
    pub(crate) fn charge_known(&self, hit: &Hit<'_>, id: u64, now: Micros) -> Verdict {
        if self.listener.is_none()
            && hit.mode == Mode::Enforced
            && let Some(spot) = self.memory.spot(id)
            && let Some(narrow) = &hit.limit.narrow
            && let Some(raw) = self.memory.charge_at(spot, Whose { limit: hit.limit, id }, hit.cost, now)
        {
            return Verdict::of_weighed(narrow, raw, now);
        }
        self.charge_known_and_tell(hit, id, now)
    }

    #[cold]
    fn charge_known_and_tell(&self, hit: &Hit<'_>, id: u64, now: Micros) -> Verdict {
        let given = self.memory.charge(hit.limit, id, hit.cost, (&self.clock, now));
        let verdict = verdict_of(hit.mode, given);
        self.tell(Verb::Charge, std::slice::from_ref(hit), &verdict, now);
        verdict
    }

    #[inline(never)]
    pub(crate) fn charge_and_tell(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        let (verdict, at) = self.charge(hits)?;
        self.tell(Verb::Charge, hits, &verdict, at);
        Ok(verdict)
    }

    pub(crate) fn charge(&self, hits: &[Hit<'_>]) -> Result<(Verdict, Micros), HitError> {
        if let [hit] = hits {
            let id = self.id_of(hit)?;
            let now = self.clock.now();
            let given = self.memory.charge(hit.limit, id, hit.cost, (&self.clock, now));
            return Ok((verdict_of(hit.mode, given), now));
        }
        let charges = self.charges(hits)?;
        let now = self.clock.now();
        if let Some(weighed) = self.memory.charge_words(&charges, now) {
            return Ok((Verdict::of_weighed_all(weighed, now), now));
        }
        let answered = self.memory.charge_all(&charges, (&self.clock, now));
        Ok((verdict_of_all(hits, answered), now))
    }

    /// The hits as the store sees them.
    pub(crate) fn charges<'a>(&self, hits: &[Hit<'a>]) -> Result<SmallVec<[Charge<'a>; 4]>, HitError> {
        if hits.len() > HITS_MAX {
            return Err(HitError::TooManyHits { hits: hits.len() });
        }
        let mut charges: SmallVec<[Charge<'a>; 4]> = SmallVec::new();
        for hit in hits {
            let id = self.id_of(hit)?;
            self.memory.prefetch(id);
            let clashes = |other: &Charge<'_>| other.id == id && other.limit.limit != hit.limit.limit;
            if charges.iter().any(clashes) {
                return Err(HitError::SameKeyTwice { limit: hit.limit.name.to_string() });
            }
            charges.push(Charge { limit: hit.limit, id, cost: hit.cost, mode: hit.mode });
        }
        Ok(charges)
    }

    #[inline]
    pub(crate) fn tell(&self, verb: Verb, hits: &[Hit<'_>], verdict: &Verdict, at: Micros) {
        if let Some(listener) = &self.listener {
            (listener.0)(&Event { verb, hits, verdict, at });
        }
    }
}

/// The verdict on one hit.
#[inline]
pub(crate) fn verdict_of(mode: Mode, given: Result<Given, NoRoom>) -> Verdict {
    let mut answers = SmallVec::new();
    let kind = match given {
        Ok(Given { decision, shared, .. }) => {
            answers.push(Answer::new(decision, mode, shared));
            let granted = decision.granted() || mode == Mode::Shadow;
            if granted { Kind::Granted } else { Kind::Refused }
        }
        Err(NoRoom) => Kind::Unavailable(Unavailable::NoRoom),
    };
    Verdict { kind, answers }
}

pub(crate) fn verdict_of_all(hits: &[Hit<'_>], answered: Result<Answered, NoRoom>) -> Verdict {
    match answered {
        Ok(answered) => {
            let answer =
                |(hit, given): (&Hit<'_>, Given)| Answer::new(given.decision, hit.mode, given.shared);
            let answers = hits.iter().zip(answered.given).map(answer).collect();
            Verdict { kind: if answered.granted { Kind::Granted } else { Kind::Refused }, answers }
        }
        Err(NoRoom) => Verdict { kind: Kind::Unavailable(Unavailable::NoRoom), answers: SmallVec::new() },
    }
}
