//! Several hits at one instant: all enforced ones are charged, or none. It holds no locks and stores nothing.

use alloc::vec::Vec;

use crate::{Change, Decision, Hit, Micros, Mode, Outcome, Retry, Target, decide, peek};

/// The answer to several hits at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Whether every enforced hit fits.
    pub granted: bool,
    /// One for each hit, in their order.
    ///
    /// In a granted batch each tells how its target stands after it. In a refused batch each tells how its target
    /// stands uncharged; an enforced hit is refused there if it does not fit *together with* the enforced hits before it
    /// on the same target, and its retry is the instant at which they do: so it may be refused, even for ever, with more
    /// remaining than its own cost. The longest retry of a refused batch is when it is granted as a whole (unless a state
    /// lies more than a drain ahead of the clock, law 7), and *never* if any says never.
    pub decisions: Vec<Decision>,
    /// What to apply to which target's state: every change, or none of them.
    pub changes: Vec<(usize, Change)>,
}

/// Decides every hit at one instant: if every enforced hit fits, all of them and each shadow hit that fits are
/// charged; otherwise none is.
///
/// Hits on the same target add up, enforced ones first, so that a shadow hit never takes room from an enforced one. A
/// hit on a target that is not there is refused for ever. The work grows with the square of the number of hits (whoever
/// takes batches from outside bounds them); a shadow hit that is left out beside others on its target copies its state.
///
/// ```
/// use tollgate_core::{Hit, Limit, Micros, Mode, Target, decide_batch};
/// let per_key = Limit::token_bucket(10, 1, Micros::SECOND)?;
/// let per_organisation = Limit::sliding_window_log(3, Micros::MINUTE)?;
/// let targets = [&per_key, &per_organisation].map(|limit| Target { limit, state: None });
/// let hits = [0, 1].map(|target| Hit { target, cost: 5, mode: Mode::Enforced });
///
/// let batch = decide_batch(&targets, &hits, Micros::from_secs(1_000));
/// assert!(!batch.granted && batch.changes.is_empty());
/// assert!(batch.decisions[0].granted() && !batch.decisions[1].granted()); // which limit refused
/// assert_eq!(batch.decisions[0].remaining, 10); // and the other was not charged for it
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[must_use]
pub fn decide_batch(targets: &[Target<'_>], hits: &[Hit], now: Micros) -> Batch {
    let mut tab = Tab { targets, now, taken: Vec::new() };
    let mut decided: Vec<Option<Decided>> = Vec::with_capacity(hits.len());
    let mut granted = true;
    for hit in hits {
        let answer = (hit.mode == Mode::Enforced).then(|| tab.enforced(hit));
        granted &= answer.as_ref().is_none_or(|(_, decision)| decision.granted());
        decided.push(answer);
    }
    if !granted {
        let decisions = hits.iter().zip(decided).map(|(hit, answer)| tab.uncharged(hit, answer)).collect();
        return Batch { granted, decisions, changes: Vec::new() };
    }
    let answers: Vec<_> =
        hits.iter().zip(decided).map(|(hit, answer)| answer.unwrap_or_else(|| tab.shadow(hit))).collect();
    let mut batch = Batch { granted, decisions: Vec::with_capacity(hits.len()), changes: Vec::new() };
    for (hit, (change, decision)) in hits.iter().zip(answers) {
        // A target's change is that of the last hit on it, which was decided for the sum of them all.
        if decision.granted() && hit.cost > 0 && decision.charged == tab.taken(hit.target) {
            batch.changes.push((hit.target, change));
        }
        batch.decisions.push(Decision { charged: decision.charged.min(hit.cost), ..decision });
    }
    batch
}

type Decided = (Change, Decision);

/// The targets of a batch, and what its hits so far have taken from each.
struct Tab<'a> {
    targets: &'a [Target<'a>],
    now: Micros,
    taken: Vec<(usize, u64)>,
}

impl Tab<'_> {
    fn taken(&self, target: usize) -> u64 {
        self.taken.iter().find(|(taken, _)| *taken == target).map_or(0, |(_, sum)| *sum)
    }

    fn take(&mut self, target: usize, sum: u64) {
        match self.taken.iter_mut().find(|(taken, _)| *taken == target) {
            Some((_, taken)) => *taken = sum,
            None => self.taken.push((target, sum)),
        }
    }

    /// An enforced hit, together with those before it. One that does not fit still counts for those after it: the batch
    /// waits for all of them.
    fn enforced(&mut self, hit: &Hit) -> Decided {
        let Some(target) = self.targets.get(hit.target) else { return (Change::Keep, missing(self.now)) };
        let sum = self.taken(hit.target).saturating_add(hit.cost);
        self.take(hit.target, sum);
        decide(target.limit, target.state, self.now, sum)
    }

    /// A shadow hit in a granted batch: on top of what is charged, or left out.
    fn shadow(&mut self, hit: &Hit) -> Decided {
        let Some(target) = self.targets.get(hit.target) else { return (Change::Keep, missing(self.now)) };
        let taken = self.taken(hit.target);
        let sum = taken.saturating_add(hit.cost);
        let (change, decision) = decide(target.limit, target.state, self.now, sum);
        if decision.granted() {
            self.take(hit.target, sum);
            return (change, decision);
        }
        if taken == 0 {
            return (Change::Keep, decision);
        }
        // Left out: it waits for a key that has been charged with the rest, which is the one thing that has to be copied.
        let mut after = target.state.cloned();
        decide(target.limit, target.state, self.now, taken).0.apply(&mut after);
        (Change::Keep, decide(target.limit, after.as_ref(), self.now, hit.cost).1)
    }

    /// A hit in a refused batch: its outcome, and the numbers of the uncharged key.
    fn uncharged(&self, hit: &Hit, answer: Option<Decided>) -> Decision {
        let Some(target) = self.targets.get(hit.target) else { return missing(self.now) };
        match answer {
            None => peek(target.limit, target.state, self.now, hit.cost),
            Some((_, asked)) => {
                // A cost of 0 is always granted, whatever comes before it.
                let outcome = if hit.cost == 0 { Outcome::Granted } else { asked.outcome };
                Decision { outcome, ..decide(target.limit, target.state, self.now, 0).1 }
            }
        }
    }
}

/// The answer to a hit on a target that is not there: not a grant.
const fn missing(now: Micros) -> Decision {
    Decision {
        outcome: Outcome::Refused(Retry::Never),
        charged: 0,
        limit: 0,
        remaining: 0,
        reset_after: Micros::ZERO,
        at: now,
    }
}
