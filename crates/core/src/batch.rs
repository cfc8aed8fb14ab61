//! Several hits at one instant: all enforced ones are charged, or none. It holds no locks and stores nothing.

use alloc::vec::Vec;

use crate::{Change, Decision, Hit, Micros, Mode, Outcome, State, decide, peek};

/// The answer to several hits at one instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Whether every enforced hit fits.
    pub granted: bool,
    /// One for each hit, in their order. In a refused batch each reports the uncharged state.
    pub decisions: Vec<Decision>,
    /// What to apply to which slot: every change, or none of them.
    pub changes: Vec<(usize, Change)>,
}

/// Decides every hit at one instant: if every enforced hit fits, all of them and each shadow hit that fits are
/// charged; otherwise none is.
///
/// Hits on the same slot add up, enforced ones first, so that a shadow hit never takes room from an enforced one. A
/// refused hit's retry is the instant at which it fits *together with* those before it. A slot that `states` does not
/// have counts as a key never seen. The work grows with the square of the number of hits: whoever takes batches from
/// outside bounds them.
///
/// ```
/// use tollgate_core::{Hit, Limit, Micros, Mode, decide_batch};
/// let per_key = Limit::token_bucket(10, 1, Micros::SECOND)?;
/// let per_organisation = Limit::sliding_window_log(3, Micros::MINUTE)?;
/// let hits = [
///     Hit { limit: &per_key, slot: 0, cost: 5, mode: Mode::Enforced },
///     Hit { limit: &per_organisation, slot: 1, cost: 5, mode: Mode::Enforced },
/// ];
/// let batch = decide_batch(&hits, &[None, None], Micros::from_secs(1_000));
/// assert!(!batch.granted && batch.changes.is_empty());
/// assert!(batch.decisions[0].granted() && !batch.decisions[1].granted()); // which limit refused
/// assert_eq!(batch.decisions[0].remaining, 10); // and the other was not charged for it
/// # Ok::<(), tollgate_core::LimitError>(())
/// ```
#[must_use]
pub fn decide_batch(hits: &[Hit<'_>], states: &[Option<State>], now: Micros) -> Batch {
    let mut taken = Taken::default();
    let mut decided: Vec<Option<(Change, Decision)>> = hits.iter().map(|_| None).collect();
    for mode in [Mode::Enforced, Mode::Shadow] {
        for (hit, answer) in hits.iter().zip(&mut decided).filter(|(hit, _)| hit.mode == mode) {
            let state = states.get(hit.slot).and_then(Option::as_ref);
            let sum = taken.of(hit.slot).saturating_add(hit.cost);
            let (change, decision) = decide(hit.limit, state, now, sum);
            // An enforced hit that does not fit still counts for those after it: the batch waits for all of them.
            if decision.granted() || mode == Mode::Enforced {
                taken.set(hit.slot, sum);
            }
            *answer = Some((change, decision));
        }
    }
    let decided: Vec<_> = decided.into_iter().flatten().collect();
    let refused = |(hit, (_, decision)): (&Hit<'_>, &(Change, Decision))| {
        hit.mode == Mode::Enforced && !decision.granted()
    };
    if hits.iter().zip(&decided).any(refused) {
        let decisions = hits.iter().zip(&decided).map(|(hit, (_, asked))| uncharged(hit, asked, states, now));
        return Batch { granted: false, decisions: decisions.collect(), changes: Vec::new() };
    }
    charged(hits, decided, &taken)
}

/// The decision of a hit in a refused batch: its own outcome, the numbers of the uncharged state.
fn uncharged(hit: &Hit<'_>, asked: &Decision, states: &[Option<State>], now: Micros) -> Decision {
    let state = states.get(hit.slot).and_then(Option::as_ref);
    Decision { outcome: asked.outcome, ..peek(hit.limit, state, now, 0) }
}

/// Every slot's change is that of the last granted hit on it, which was decided for the sum of them all.
fn charged(hits: &[Hit<'_>], decided: Vec<(Change, Decision)>, taken: &Taken) -> Batch {
    let mut batch = Batch { granted: true, decisions: Vec::with_capacity(hits.len()), changes: Vec::new() };
    for (hit, (change, decision)) in hits.iter().zip(decided) {
        let granted = decision.outcome == Outcome::Granted;
        batch.decisions.push(Decision { charged: if granted { hit.cost } else { 0 }, ..decision });
        if granted && hit.cost > 0 && decision.charged == taken.of(hit.slot) {
            batch.changes.push((hit.slot, change));
        }
    }
    batch
}

/// What the hits so far have taken from each slot.
#[derive(Default)]
struct Taken(Vec<(usize, u64)>);

impl Taken {
    fn of(&self, slot: usize) -> u64 {
        self.0.iter().find(|(taken, _)| *taken == slot).map_or(0, |(_, sum)| *sum)
    }

    fn set(&mut self, slot: usize, sum: u64) {
        match self.0.iter_mut().find(|(taken, _)| *taken == slot) {
            Some((_, taken)) => *taken = sum,
            None => self.0.push((slot, sum)),
        }
    }
}
