//! Several hits at one instant: all enforced hits are charged, or none. Pure: no locks, no storage.

use alloc::vec::Vec;

use crate::{Change, Decision, Hit, Micros, Mode, Outcome, Retry, Target, decide, peek};

/// The result of several hits at one instant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Batch {
    /// Whether every enforced hit fits.
    pub granted: bool,
    /// One per hit, in order.
    ///
    /// In a granted batch, each has the numbers of its target after the hit. In a refused batch, each has the numbers of its
    /// uncharged target. There, an enforced hit is refused if it does not fit *together with* the enforced hits before it
    /// on the same target, and its retry is the time until they do; so it may be refused, or never fit, although more
    /// remains than its own cost. The longest retry of a refused batch is the time until the whole batch is granted (unless a state
    /// is more than a drain ahead of the clock, law 7), or *never* if any is never.
    pub decisions: Vec<Decision>,
    /// The changes to apply, by target: all of them, or none.
    pub changes: Vec<(usize, Change)>,
}

/// Decides several hits at one instant. If every enforced hit fits, charges all of them and each shadow hit that fits;
/// otherwise charges none.
///
/// Hits on the same target add up, enforced ones first, so that a shadow hit never takes capacity from an enforced one. A
/// hit on a target that does not exist is never granted. The work is quadratic in the number of hits, so callers must bound
/// batches from outside. A shadow hit that does not fit, next to other hits on its target, copies the state.
///
/// ```
/// use tollgate_algorithms::{Hit, Limit, Micros, Mode, Target, decide_batch};
/// let per_key = Limit::token_bucket(10, 1, Micros::SECOND)?;
/// let per_organisation = Limit::sliding_window_log(3, Micros::MINUTE)?;
/// let targets = [&per_key, &per_organisation].map(|limit| Target { limit, state: None });
/// let hits = [0, 1].map(|target| Hit { target, cost: 5, mode: Mode::Enforced });
///
/// let batch = decide_batch(&targets, &hits, Micros::from_secs(1_000));
/// assert!(!batch.granted && batch.changes.is_empty());
/// assert!(batch.decisions[0].is_granted() && !batch.decisions[1].is_granted()); // which limit refused
/// assert_eq!(batch.decisions[0].remaining, 10); // and the other was not charged for it
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[must_use]
pub fn decide_batch(targets: &[Target<'_>], hits: &[Hit], now: Micros) -> Batch {
    let mut batch = Batch::default();
    decide_batch_into(targets, hits, now, &mut batch);
    batch
}

/// Like [`decide_batch`], but reuses the memory of a batch and overwrites its contents.
pub fn decide_batch_into(targets: &[Target<'_>], hits: &[Hit], now: Micros, batch: &mut Batch) {
    let tab = BatchTally { targets, hits, now };
    batch.granted = true;
    batch.decisions.clear();
    batch.changes.clear();
    for (place, hit) in hits.iter().enumerate() {
        let (change, decision) = match hit.mode {
            Mode::Enforced => tab.enforced(place, hit),
            // Answered below, when it is known what the others take.
            Mode::Shadow => (Change::Keep, missing(now)),
        };
        batch.granted &= hit.mode == Mode::Shadow || decision.is_granted();
        batch.add(hit, change, decision);
    }
    if !batch.granted {
        batch.changes.clear();
        for (hit, decision) in hits.iter().zip(&mut batch.decisions) {
            *decision = tab.uncharged(hit, decision.outcome);
        }
        return;
    }
    for (place, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.mode == Mode::Shadow) {
        let (change, decision) = tab.shadow(place, hit, &batch.decisions);
        batch.replace(place, hit, change, decision);
    }
}

impl Batch {
    fn add(&mut self, hit: &Hit, change: Change, decision: Decision) {
        let place = self.decisions.len();
        self.decisions.push(decision);
        self.replace(place, hit, change, decision);
    }

    /// Sets the decision of a hit. The change of a target is that of its last hit, which was decided for the sum of all.
    fn replace(&mut self, place: usize, hit: &Hit, change: Change, decision: Decision) {
        if let Some(kept) = self.decisions.get_mut(place) {
            *kept = Decision { charged: decision.charged.min(hit.cost), ..decision };
        }
        if decision.is_granted() && hit.cost > 0 && change != Change::Keep {
            match self.changes.iter_mut().find(|(target, _)| *target == hit.target) {
                Some((_, earlier)) => *earlier = change,
                None => self.changes.push((hit.target, change)),
            }
        }
    }
}

type Decided = (Change, Decision);

/// The hits of a batch and their targets.
struct BatchTally<'a> {
    targets: &'a [Target<'a>],
    hits: &'a [Hit],
    now: Micros,
}

impl BatchTally<'_> {
    /// The sum of the selected hits on a target.
    fn sum(&self, target: usize, of: impl Fn(usize, &Hit) -> bool) -> u64 {
        let hits =
            self.hits.iter().enumerate().filter(|(place, hit)| hit.target == target && of(*place, hit));
        hits.fold(0, |sum: u64, (_, hit)| sum.saturating_add(hit.cost))
    }

    /// Decides an enforced hit together with those before it. One that does not fit still counts for later ones: the batch
    /// waits for all of them.
    fn enforced(&self, place: usize, hit: &Hit) -> Decided {
        let Some(target) = self.targets.get(hit.target) else { return (Change::Keep, missing(self.now)) };
        let before = self.sum(hit.target, |other, hit| hit.mode == Mode::Enforced && other < place);
        decide(target.limit, target.state, self.now, before.saturating_add(hit.cost))
    }

    /// Decides a shadow hit in a granted batch: charged on top, or left out.
    fn shadow(&self, place: usize, hit: &Hit, decisions: &[Decision]) -> Decided {
        let Some(target) = self.targets.get(hit.target) else { return (Change::Keep, missing(self.now)) };
        let is_charged = |other: usize| decisions.get(other).is_some_and(Decision::is_granted);
        let taken = self
            .sum(hit.target, |other, hit| hit.mode == Mode::Enforced || (other < place && is_charged(other)));
        let (change, decision) = decide(target.limit, target.state, self.now, taken.saturating_add(hit.cost));
        if decision.is_granted() {
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

    /// Decides a hit in a refused batch: its outcome, with the numbers of the uncharged key.
    fn uncharged(&self, hit: &Hit, asked: Outcome) -> Decision {
        let Some(target) = self.targets.get(hit.target) else { return missing(self.now) };
        if hit.mode == Mode::Shadow {
            return peek(target.limit, target.state, self.now, hit.cost);
        }
        // A cost of 0 is always granted, whatever comes before it.
        let outcome = if hit.cost == 0 { Outcome::Granted } else { asked };
        Decision { outcome, ..decide(target.limit, target.state, self.now, 0).1 }
    }
}

/// The decision for a hit on a target that does not exist: a refusal.
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
