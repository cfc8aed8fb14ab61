//! Several hits at once: every enforced hit is charged, or nothing is; a shadow hit neither refuses nor takes room from
//! an enforced one; every answer is honest, and the longest retry is the batch's.

use super::{Lived, ensure, in_time};
use crate::engine::{Act, Answer, BatchHit, Engine, Wait};
use crate::random::Random;
use crate::trace;
use tollgate_algorithms::Algorithm;

/// Several keys at one instant.
struct Keys<E: Engine> {
    limits: Vec<E::Limit>,
    capacities: Vec<u64>,
    states: Vec<Option<E::State>>,
    now: u64,
}

/// All keys under the same algorithm.
pub(super) fn alike<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let algorithms = vec![algorithm; usize::try_from(random.within(1, 3)).unwrap_or(1)];
    check::<E>(&algorithms, random)
}

/// The first key under the algorithm in question, the others under any.
pub(super) fn mixed<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    check::<E>(&[algorithm, random.pick(&Algorithm::ALL), random.pick(&Algorithm::ALL)], random)
}

fn check<E: Engine>(algorithms: &[Algorithm], random: &mut Random) -> Result<(), String> {
    let lived: Result<Vec<_>, _> = algorithms.iter().map(|&one| Lived::<E>::some(one, random)).collect();
    let lived = lived?;
    // At times the clock is behind some of the states.
    let latest = lived.iter().map(|key| key.clock.now()).max().unwrap_or(0);
    let earliest = lived.iter().map(|key| key.clock.now()).min().unwrap_or(0);
    let now = if random.one_in(4) && !E::IS_A_STORE { earliest } else { latest };
    let hits: Vec<BatchHit> = (0..random.within(1, 5))
        .map(|_| {
            let key = usize::try_from(random.below(lived.len() as u64)).unwrap_or(0);
            let cost = trace::cost(&lived[key].spec, lived[key].last.as_ref(), random);
            (key, cost.min(1 << 54), random.one_in(3))
        })
        .collect();
    let keys = Keys::<E> {
        limits: lived.iter().map(|key| key.limit).collect(),
        capacities: lived.iter().map(|key| key.spec.limit).collect(),
        states: lived.into_iter().map(|key| key.key).collect(),
        now,
    };
    let mut states = keys.states.clone();
    let (granted, answers) = E::batch(&keys.limits, &mut states, now, &hits);
    ensure(granted == keys.fit(now, &hits), || format!("granted: {granted}, but {hits:?}"))?;
    if granted {
        return keys.charged(&hits, &states, &answers);
    }
    let longest = keys.refused(&hits, &states, &answers)?;
    // A state so far ahead of the clock that it counts as none may count again later: then no wait is honest.
    if now == latest { keys.waits(&hits, longest) } else { Ok(()) }
}

/// What the enforced hits on a key add up to.
fn enforced(hits: &[BatchHit], key: usize) -> u64 {
    hits.iter().filter(|hit| hit.0 == key && !hit.2).map(|hit| hit.1).sum()
}

impl<E: Engine> Keys<E> {
    /// Whether all enforced hits of each key fit together.
    fn fit(&self, now: u64, hits: &[BatchHit]) -> bool {
        (0..self.limits.len()).all(|key| self.peek(key, now, enforced(hits, key)).granted)
    }

    fn peek(&self, key: usize, now: u64, cost: u64) -> Answer {
        E::act(&self.limits[key], &mut self.states[key].clone(), now, Act::Peek(cost))
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
            for (&(key, cost, _), answer) in hits.iter().zip(answers).filter(|(hit, _)| hit.2 == shadow) {
                let alone = E::act(&self.limits[key], &mut states[key], self.now, Act::Charge(cost));
                ensure(alone == *answer, || format!("{answer:?} in a batch, {alone:?} alone: {hits:?}"))?;
            }
        }
        ensure(states == after, || format!("{after:?} is not {states:?}: {hits:?}"))
    }

    /// Nothing is charged, and every answer reports the uncharged state. Returns the longest wait, unless it is never.
    fn refused(
        &self,
        hits: &[BatchHit],
        after: &[Option<E::State>],
        answers: &[Answer],
    ) -> Result<Option<u64>, String> {
        ensure(after == self.states, || "a refused batch changed a state".into())?;
        let mut longest = Some(0);
        for (number, (&(key, cost, shadow), answer)) in hits.iter().zip(answers).enumerate() {
            // An enforced hit waits for those before it on the same key too.
            let sum = if shadow || cost == 0 { cost } else { enforced(&hits[..=number], key) };
            let uncharged = self.peek(key, self.now, sum);
            let expected = if sum > self.capacities[key] { Wait::Never } else { uncharged.retry };
            ensure(*answer == Answer { retry: expected, ..uncharged }, || {
                format!("{answer:?} in a refused batch, not {uncharged:?}: {hits:?}")
            })?;
            longest = match (answer.retry, longest) {
                (_, None) => None,
                (Wait::Never, _) if !shadow => None,
                (Wait::After(wait), Some(longest)) if !shadow => Some(wait.max(longest)),
                (_, longest) => longest,
            };
        }
        Ok(longest)
    }

    /// The batch is granted after the longest wait, and not before.
    fn waits(&self, hits: &[BatchHit], longest: Option<u64>) -> Result<(), String> {
        let Some(wait) = longest.filter(|wait| in_time(self.now + wait)) else { return Ok(()) };
        let fits = |now| self.fit(now, hits);
        ensure(wait > 0 && fits(self.now + wait), || format!("refused again after {wait}: {hits:?}"))?;
        ensure(!fits(self.now + wait - 1), || format!("granted before {wait}: {hits:?}"))
    }
}
