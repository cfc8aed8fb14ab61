//! The expected decisions, from the algorithms and a map. It knows which keys are packed, because such a key drains at the rate
//! it was written with until it is used under another.

use std::collections::HashMap;

use tollgate_algorithms::{Debt, Decision, Hit, Limit, Micros, Quota, State, Target, decide_batch};

use super::super::KeyRequest;
use super::super::asked;

/// Keys and where they stand.
#[derive(Default)]
pub(super) struct Reference {
    keys: HashMap<u64, Stands>,
}

#[derive(Clone, Default)]
struct Stands {
    state: Option<State>,
    /// The quota in whose units it is kept in a word.
    word: Option<Quota>,
    /// From when on it is as good as none, by the numbers it was last met under, if it is kept in a cell.
    over: Micros,
}

/// The quota of a limit whose debts fit in a word.
fn narrow(limit: &Limit) -> Option<Quota> {
    if let Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) = limit {
        return (quota.count() < 65_536).then_some(*quota);
    }
    None
}

/// Whether the instant at which nothing is owed, in units of 1/count µs since the epoch, takes no more than 63 bits.
fn fits(debt: &Debt, quota: &Quota) -> bool {
    u128::from(debt.at.get()) * u128::from(quota.count()) + u128::from(debt.debt) < 1 << 63
}

fn debt_of(state: &mut State) -> Option<&mut Debt> {
    if let State::TokenBucket(debt) | State::LeakyBucket(debt) | State::Gcra(debt) = state {
        return Some(debt);
    }
    None
}

const fn same_algorithm(limit: &Limit, state: &State) -> bool {
    matches!(
        (limit, state),
        (Limit::TokenBucket(_), State::TokenBucket(_))
            | (Limit::LeakyBucket(_), State::LeakyBucket(_))
            | (Limit::Gcra(_), State::Gcra(_))
    )
}

impl Stands {
    /// Brings a key that is kept in a word to `now`, and to the units of the limit that it is met under.
    fn meet(&mut self, limit: &Limit, now: Micros) -> bool {
        if self.word.is_none() && self.over <= now {
            self.state = None;
        }
        let (Some(written), Some(state)) = (self.word, self.state.as_mut()) else { return false };
        let is_same = same_algorithm(limit, state);
        let Some(debt) = debt_of(state) else { return false };
        let met = narrow(limit).filter(|_| is_same);
        if met.is_some_and(|met| (met.count(), met.period()) == (written.count(), written.period())) {
            return false;
        }
        let elapsed = now.get() - debt.at.get();
        debt.debt = debt.debt.saturating_sub(elapsed.saturating_mul(written.count()));
        debt.at = now;
        if debt.debt == 0 {
            self.state = None;
        } else if let Some(converted) = met.and_then(|met| debt.in_units_of(&met)) {
            *debt = converted;
        }
        // Under another algorithm it counts as none, and stays as it is unless something is charged.
        is_same
    }

    /// Notes how the store keeps it from now on.
    fn settle(&mut self, limit: &Limit, now: Micros) {
        self.over =
            now.saturating_add(tollgate_algorithms::peek(limit, self.state.as_ref(), now, 0).reset_after);
        if let Some(State::FixedWindow(count)) = &self.state {
            self.over = self.over.max(count.end);
        }
        self.word = narrow(limit).filter(|quota| match self.state.as_mut() {
            Some(state) if same_algorithm(limit, state) => {
                debt_of(state).is_some_and(|debt| debt.period == quota.period() && fits(debt, quota))
            }
            _ => false,
        });
    }
}

impl Reference {
    /// Does what is asked about one key.
    pub(super) fn act(&mut self, id: u64, limit: &Limit, ask: KeyRequest<'_>, now: Micros) -> Decision {
        if *limit == Limit::Unlimited {
            return asked(limit, None, now, ask).1;
        }
        if let KeyRequest::Peek(_) = ask {
            let mut stands = self.keys.get(&id).cloned().unwrap_or_default();
            stands.meet(limit, now);
            return asked(limit, stands.state.as_ref(), now, ask).1;
        }
        let stands = self.keys.entry(id).or_default();
        let before = stands.clone();
        let changed = stands.meet(limit, now);
        let (change, decision) = asked(limit, stands.state.as_ref(), now, ask);
        if matches!(change, tollgate_algorithms::Change::Keep) && !changed {
            *stands = before;
            return decision;
        }
        let changed = changed || !matches!(change, tollgate_algorithms::Change::Keep);
        change.apply(&mut stands.state);
        if changed {
            stands.settle(limit, now);
        }
        decision
    }

    /// Charges several keys, each under one limit.
    pub(super) fn batch(&mut self, targets: &[(u64, Limit)], hits: &[Hit], now: Micros) -> Vec<Decision> {
        let mut met: Vec<(Stands, bool)> = Vec::new();
        for (id, limit) in targets {
            let mut stands = self.keys.get(id).cloned().unwrap_or_default();
            let changed = stands.meet(limit, now);
            met.push((stands, changed));
        }
        let seen: Vec<_> = targets
            .iter()
            .zip(&met)
            .map(|((_, limit), (stands, _))| Target { limit, state: stands.state.as_ref() })
            .collect();
        let batch = decide_batch(&seen, hits, now);
        for (target, change) in batch.changes {
            change.apply(&mut met[target].0.state);
            met[target].1 = true;
        }
        for ((id, limit), (mut stands, changed)) in targets.iter().zip(met) {
            if changed {
                stands.settle(limit, now);
                self.keys.insert(*id, stands);
            }
        }
        batch.decisions
    }

    /// Forgets a key.
    pub(super) fn reset(&mut self, id: u64) {
        self.keys.remove(&id);
    }
}
