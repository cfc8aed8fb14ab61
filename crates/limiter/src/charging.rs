//! From hits to a verdict: validates, hashes and charges them. The public verbs are in `limiter.rs`.

use smallvec::SmallVec;
use tollgate_algorithms::{Micros, Mode};

use crate::error::HitError;
use crate::event::{Event, Verb};
use crate::inline_list::InlineList;
use crate::limit::Hit;
use crate::limiter::{HITS_MAX, Inner, KEY_BYTES_MAX};
use crate::store::memory::batch::{BatchResult, Charge};
use crate::store::memory::fast_path::{FastBatch, FastHit, PLAIN_HITS_MAX};
use crate::store::memory::map::Probe;
use crate::store::memory::packed_rates::{PackedDecision, PackedLimit};
use crate::store::memory::{ChargeResult, KeyRequest, KeyResult, NoRoom, PackedHit};
use crate::verdict::{HitResult, Kind, Source, Unavailable, Verdict};

impl Inner {
    /// Checks a hit: its limit is ours, its key not too long.
    #[inline(always)]
    pub(crate) fn check(&self, hit: &Hit<'_>) -> Result<(), HitError> {
        if hit.key.len() <= KEY_BYTES_MAX && hit.limit.limiter == self.number {
            return Ok(());
        }
        Err(self.wrong(hit))
    }

    /// What is wrong with a hit.
    #[cold]
    #[inline(never)]
    fn wrong(&self, hit: &Hit<'_>) -> HitError {
        let limit = hit.limit.name.to_string();
        if hit.limit.limiter == self.number {
            HitError::KeyTooLong { limit, bytes: hit.key.len() }
        } else {
            HitError::ForeignLimit { limit }
        }
    }

    /// The key's number, if the hit is well. Compiled into its callers, however many they are: called, it takes two nanoseconds of twenty.
    #[inline(always)]
    pub(crate) fn id_of(&self, hit: &Hit<'_>) -> Result<u64, HitError> {
        self.check(hit)?;
        Ok(self.memory.id(hit.limit.hash.of(hit.key)))
    }

    /// Charges one hit.
    #[inline(always)]
    pub(crate) fn charge_one(&self, hit: &Hit<'_>) -> Result<Verdict, HitError> {
        let id = self.id_of(hit)?;
        let spot = self.memory.spot(id);
        // The line comes from memory while the clock is read.
        spot.prefetch();
        Ok(self.charge_at(hit, (id, spot), self.clock.now()))
    }

    /// Charges one hit on a key of which is known where it is looked for first.
    ///
    /// It is compiled into its caller, so that a caller who asks only whether it was granted pays for nothing else.
    #[inline(always)]
    pub(crate) fn charge_at(&self, hit: &Hit<'_>, (id, spot): (u64, Probe<'_>), now: Micros) -> Verdict {
        match self.charge_word(hit, (id, spot), now) {
            Some((narrow, raw)) => {
                let verdict = Verdict::of_weighed(narrow, raw, now);
                #[cfg(feature = "tracing")]
                crate::trace::verdict(Verb::Charge, std::slice::from_ref(hit), &verdict);
                verdict
            }
            None => self.charge_further_and_tell(hit, id, now),
        }
    }

    /// Charges one hit on a key whose debt is a word where it is looked for first, if nobody listens; else `None`, and nothing was charged.
    #[inline(always)]
    pub(crate) fn charge_word<'a>(
        &self,
        hit: &Hit<'a>,
        (id, spot): (u64, Probe<'_>),
        now: Micros,
    ) -> Option<(&'a PackedLimit, PackedDecision)> {
        let narrow = hit.limit.narrow.as_ref()?;
        if hit.mode != Mode::Enforced || self.listener.is_some() {
            return None;
        }
        let found = spot.read(id, narrow.kind)?;
        Some((narrow, self.memory.charge_found(found, PackedHit { narrow, cost: hit.cost }, now)?))
    }

    #[inline(never)]
    pub(crate) fn charge_further_and_tell(&self, hit: &Hit<'_>, id: u64, now: Micros) -> Verdict {
        let verdict = self.charge_further(hit, id, now);
        self.tell(Verb::Charge, std::slice::from_ref(hit), &verdict, now);
        verdict
    }

    /// Charges one hit on a key that is not where it is looked for first, or not so plain.
    pub(crate) fn charge_further(&self, hit: &Hit<'_>, id: u64, now: Micros) -> Verdict {
        match self.memory.charge(hit.limit, id, hit.cost, (&self.clock, now)) {
            Ok(ChargeResult::Word(narrow, raw)) if hit.mode == Mode::Enforced => {
                Verdict::of_weighed(narrow, raw, now)
            }
            Ok(charged) => verdict_of(hit, Ok(charged.given(now)), now),
            Err(no_room) => verdict_of(hit, Err(no_room), now),
        }
    }

    /// Charges several hits.
    ///
    /// Like [`charge_at`](Self::charge_at) it is compiled into its caller, so that a plain verdict is made where it is used.
    #[inline(always)]
    pub(crate) fn charge_several(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        if self.listener.is_some() {
            return self.charge_and_tell(hits);
        }
        let charged = match self.charge_plainly(hits) {
            Ok((weighed, now)) => Ok(Verdict::of_weighed_all(hits, &weighed, now)),
            Err(now) => self.charge_fully(hits, now).map(|(verdict, _)| verdict),
        };
        #[cfg(feature = "tracing")]
        if let Ok(verdict) = &charged {
            crate::trace::verdict(Verb::Charge, hits, verdict);
        }
        charged
    }

    #[inline(never)]
    fn charge_and_tell(&self, hits: &[Hit<'_>]) -> Result<Verdict, HitError> {
        let (verdict, at) = self.charge(hits, None)?;
        self.tell(Verb::Charge, hits, &verdict, at);
        Ok(verdict)
    }

    /// Charges any number of hits; at an instant, if somebody has read the clock already.
    pub(crate) fn charge(
        &self,
        hits: &[Hit<'_>],
        now: Option<Micros>,
    ) -> Result<(Verdict, Micros), HitError> {
        if let [hit] = hits {
            let id = self.id_of(hit)?;
            let now = now.unwrap_or_else(|| self.clock.now());
            return Ok((self.charge_further(hit, id, now), now));
        }
        match self.charge_plainly(hits) {
            Ok((weighed, now)) => Ok((Verdict::of_weighed_all(hits, &weighed, now), now)),
            Err(read) => self.charge_fully(hits, now.or(read)),
        }
    }

    /// Charges any number of hits of any kind, all or none.
    #[inline(never)]
    fn charge_fully(&self, hits: &[Hit<'_>], now: Option<Micros>) -> Result<(Verdict, Micros), HitError> {
        // A few take less of the stack, and nobody pays for many.
        if hits.len() <= PLAIN_HITS_MAX {
            self.charge_up_to_as_many::<PLAIN_HITS_MAX>(hits, now)
        } else {
            self.charge_up_to_as_many::<HITS_MAX>(hits, now)
        }
    }

    fn charge_up_to_as_many<const N: usize>(
        &self,
        hits: &[Hit<'_>],
        now: Option<Micros>,
    ) -> Result<(Verdict, Micros), HitError> {
        let mut charges = self.charges::<N>(hits)?;
        let now = now.unwrap_or_else(|| self.clock.now());
        let ask = |charges: &[Charge<'_>]| self.memory.charge_all::<N>(charges, (&self.clock, now));
        let answered = with_room(&mut charges, ask);
        Ok((self.verdict_of_all(hits, &charges, answered, now), now))
    }

    /// Charges a few hits on keys whose debts are words, all or none. If they are not that plain nothing is charged, and what is
    /// returned is the time, if it was read.
    #[inline(never)]
    pub(crate) fn charge_plainly(&self, hits: &[Hit<'_>]) -> Result<(FastBatch, Micros), Option<Micros>> {
        match hits.len() {
            2 => self.charge_as_many::<2>(hits.try_into().map_err(|_| None)?),
            3 => self.charge_as_many::<3>(hits.try_into().map_err(|_| None)?),
            PLAIN_HITS_MAX => self.charge_as_many::<PLAIN_HITS_MAX>(hits.try_into().map_err(|_| None)?),
            _ => Err(None),
        }
    }

    #[inline]
    fn charge_as_many<const N: usize>(
        &self,
        hits: &[Hit<'_>; N],
    ) -> Result<(FastBatch, Micros), Option<Micros>> {
        let is_plain = |hit: &Hit<'_>| hit.limit.narrow.is_some() && hit.mode == Mode::Enforced;
        if !hits.iter().all(|hit| is_plain(hit) && self.check(hit).is_ok()) {
            return Err(None);
        }
        let mut plain = [self.plain(&hits[0]).ok_or(None)?; N];
        for hit in 1..N {
            plain[hit] = self.plain(&hits[hit]).ok_or(None)?;
        }
        let now = self.clock.now();
        self.memory.charge_words(&plain, now).map(|weighed| (weighed, now)).ok_or(Some(now))
    }

    /// Where a hit on a key whose debt is a word is looked for first, and what it weighs. The line is on its way.
    #[inline(always)]
    fn plain<'a>(&'a self, hit: &Hit<'a>) -> Option<FastHit<'a>> {
        let id = self.memory.id(hit.limit.hash.of(hit.key));
        let spot = self.memory.spot(id);
        spot.prefetch();
        let weight = PackedHit { narrow: hit.limit.narrow.as_ref()?, cost: hit.cost };
        Some(FastHit { limit: hit.limit, weight, id, spot })
    }

    /// Charges as much of one hit's cost as fits.
    pub(crate) fn charged_up_to(&self, hit: &Hit<'_>) -> Result<(Verdict, Micros), HitError> {
        let id = self.id_of(hit)?;
        let now = self.clock.now();
        let given = self.memory.act(hit.limit, id, KeyRequest::UpTo(hit.cost), (&self.clock, now));
        Ok((verdict_of(hit, given, now), now))
    }

    /// Says what a charge would, with the numbers of the uncharged keys.
    pub(crate) fn peeked(&self, hits: &[Hit<'_>]) -> Result<(Verdict, Micros), HitError> {
        if hits.len() <= PLAIN_HITS_MAX {
            self.peek_up_to_as_many::<PLAIN_HITS_MAX>(hits)
        } else {
            self.peek_up_to_as_many::<HITS_MAX>(hits)
        }
    }

    fn peek_up_to_as_many<const N: usize>(&self, hits: &[Hit<'_>]) -> Result<(Verdict, Micros), HitError> {
        let mut charges = self.charges::<N>(hits)?;
        let now = self.clock.now();
        let ask = |charges: &[Charge<'_>]| self.memory.peek_all::<N>(charges, (&self.clock, now));
        let answered = with_room(&mut charges, ask);
        Ok((self.verdict_of_all(hits, &charges, answered, now), now))
    }

    /// The verdict on several hits, of which those that there are no charges for have not been decided.
    fn verdict_of_all<const N: usize>(
        &self,
        hits: &[Hit<'_>],
        charges: &[Charge<'_>],
        answered: Result<BatchResult<N>, NoRoom>,
        now: Micros,
    ) -> Verdict {
        let Ok(answered) = answered else {
            return Verdict { kind: Kind::Unavailable(Unavailable::NoRoom), answers: InlineList::new() };
        };
        let all = hits.len() == charges.len();
        let mut given = charges.iter().zip(answered.given).peekable();
        let answers = hits.iter().map(|hit| {
            let is_its = |charge: &Charge<'_>| all || charge.id == self.memory.id(hit.limit.hash.of(hit.key));
            match given.next_if(|(charge, _)| is_its(charge)) {
                Some((_, given)) => HitResult::new(given.decision, hit.mode, source(given.shared)),
                None => HitResult::unknown(hit, now, Source::Nothing),
            }
        });
        let kind = if answered.granted { Kind::Granted } else { Kind::Refused };
        // In memory that somebody has no use for any more, if they are many.
        let mut all = InlineList::for_as_many(hits.len());
        all.extend(answers);
        Verdict { kind, answers: all }
    }

    /// The hits as the store sees them.
    pub(crate) fn charges<'a, const N: usize>(
        &self,
        hits: &[Hit<'a>],
    ) -> Result<SmallVec<[Charge<'a>; N]>, HitError> {
        if hits.len() > HITS_MAX {
            return Err(HitError::TooManyHits { hits: hits.len() });
        }
        let mut charges: SmallVec<[Charge<'a>; N]> = SmallVec::new();
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
        #[cfg(feature = "tracing")]
        crate::trace::verdict(verb, hits, verdict);
        if let Some(listener) = &self.listener {
            (listener.0)(&Event { verb, hits, verdict, at });
        }
    }
}

/// By what the store in memory decides.
const fn source(common: bool) -> Source {
    if common { Source::Common } else { Source::Own }
}

/// The verdict on one hit.
#[inline]
pub(crate) fn verdict_of(hit: &Hit<'_>, given: Result<KeyResult, NoRoom>, now: Micros) -> Verdict {
    let mut answers = InlineList::new();
    let kind = match given {
        Ok(KeyResult { decision, shared, .. }) => {
            answers.push(HitResult::new(decision, hit.mode, source(shared)));
            let granted = decision.is_granted() || hit.mode == Mode::Shadow;
            if granted { Kind::Granted } else { Kind::Refused }
        }
        Err(NoRoom(_)) if hit.mode == Mode::Shadow => {
            answers.push(HitResult::unknown(hit, now, Source::Nothing));
            Kind::Granted
        }
        Err(NoRoom(_)) => Kind::Unavailable(Unavailable::NoRoom),
    };
    Verdict { kind, answers }
}

/// Asks about charges; and if there is no room at all for a key that is only counted, again without it: it stops nobody else.
fn with_room<'a, const N: usize>(
    charges: &mut SmallVec<[Charge<'a>; N]>,
    ask: impl Fn(&[Charge<'a>]) -> Result<BatchResult<N>, NoRoom>,
) -> Result<BatchResult<N>, NoRoom> {
    loop {
        let answered = ask(charges);
        let Err(NoRoom(id)) = answered else { return answered };
        let before = charges.len();
        if charges.iter().all(|charge| charge.id != id || charge.mode == Mode::Shadow) {
            charges.retain(|charge| charge.id != id);
        }
        if charges.len() == before {
            return answered;
        }
    }
}
