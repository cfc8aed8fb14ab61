//! Several hits at once: every enforced hit is charged, or nothing is; a shadow hit neither refuses nor takes room from
//! an enforced one; the longest retry is the batch's.

use super::{Lived, ensure, in_time};
use crate::engine::{Act, Answer, BatchHit, Engine, Wait};
use crate::random::Random;
use crate::trace;
use tollgate_core::Algorithm;

/// Several keys, the first of which is under the algorithm in question.
struct Keys<E: Engine> {
    limits: Vec<E::Limit>,
    states: Vec<Option<E::State>>,
    now: u64,
}

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = vec![Lived::<E>::some(algorithm, random)?];
    for _ in 0..random.below(3) {
        lived.push(Lived::some(random.pick(&Algorithm::ALL), random)?);
    }
    let now = lived.iter().map(|key| key.clock.now()).max().unwrap_or(0);
    let hits: Vec<BatchHit> = (0..random.within(1, 5))
        .map(|_| {
            let slot = usize::try_from(random.below(lived.len() as u64)).unwrap_or(0);
            let cost = trace::cost(&lived[slot].spec, lived[slot].last.as_ref(), random);
            (slot, cost.min(1 << 54), random.one_in(3))
        })
        .collect();
    let limits = lived.iter().map(|key| key.limit).collect();
    let keys = Keys::<E> { limits, states: lived.into_iter().map(|key| key.key).collect(), now };
    let mut states = keys.states.clone();
    let (granted, answers) = E::batch(&keys.limits, &mut states, now, &hits);
    ensure(granted == keys.fit(&hits), || format!("granted: {granted}, but {hits:?}"))?;
    if granted { keys.charged(&hits, &states, &answers) } else { keys.refused(&hits, &states, &answers) }
}

impl<E: Engine> Keys<E> {
    /// Whether all enforced hits of each key fit together.
    fn fit(&self, hits: &[BatchHit]) -> bool {
        (0..self.limits.len()).all(|slot| {
            let sum = hits.iter().filter(|hit| hit.0 == slot && !hit.2).map(|hit| hit.1).sum();
            self.peek(slot, self.now, sum).granted
        })
    }

    fn peek(&self, slot: usize, now: u64, cost: u64) -> Answer {
        E::act(&self.limits[slot], &mut self.states[slot].clone(), now, Act::Peek(cost))
    }

    /// The same as each hit on its own, enforced ones first; shadow hits that do not fit are left out.
    fn charged(
        &self,
        hits: &[BatchHit],
        after: &[Option<E::State>],
        answers: &[Answer],
    ) -> Result<(), String> {
        let mut states = self.states.clone();
        for shadow in [false, true] {
            for (&(slot, cost, _), answer) in hits.iter().zip(answers).filter(|(hit, _)| hit.2 == shadow) {
                let alone = E::act(&self.limits[slot], &mut states[slot], self.now, Act::Charge(cost));
                ensure(alone.granted == answer.granted && alone.charged == answer.charged, || {
                    format!("{answer:?} in a batch, {alone:?} alone: {hits:?}")
                })?;
                ensure(!alone.granted || alone == *answer, || format!("{answer:?} is not {alone:?}"))?;
            }
        }
        for (slot, (one_by_one, batched)) in states.iter().zip(after).enumerate() {
            let untouched = hits.iter().all(|hit| hit.0 != slot) || self.states[slot] == *batched;
            ensure(untouched || one_by_one == batched, || format!("{batched:?} is not {one_by_one:?}"))?;
            let (a, b) = (one_by_one.clone(), batched.clone());
            let left = |mut state| E::act(&self.limits[slot], &mut state, self.now, Act::Peek(1)).remaining;
            ensure(left(a) == left(b), || format!("{batched:?} is not as good as {one_by_one:?}"))?;
        }
        Ok(())
    }

    /// Nothing is charged, every answer reports the uncharged state, and the longest retry is honest.
    fn refused(
        &self,
        hits: &[BatchHit],
        after: &[Option<E::State>],
        answers: &[Answer],
    ) -> Result<(), String> {
        ensure(after == self.states, || "a refused batch changed a state".into())?;
        let mut wait = 0;
        for (&(slot, _, shadow), answer) in hits.iter().zip(answers) {
            let uncharged = self.peek(slot, self.now, 0);
            let reported = Answer { granted: true, retry: Wait::None, ..*answer };
            ensure(reported == uncharged, || format!("{answer:?} in a refused batch, not {uncharged:?}"))?;
            match answer.retry {
                Wait::After(after) if !shadow => wait = wait.max(after),
                Wait::Never if !shadow => return Ok(()),
                Wait::None | Wait::After(_) | Wait::Never => {}
            }
        }
        if !in_time(self.now + wait) {
            return Ok(());
        }
        let then = |now| Self { limits: self.limits.clone(), states: self.states.clone(), now };
        ensure(wait > 0 && then(self.now + wait).fit(hits), || {
            format!("refused again after {wait}: {hits:?}")
        })?;
        ensure(!then(self.now + wait - 1).fit(hits), || format!("granted before {wait}: {hits:?}"))
    }
}
