//! What the core says: keys in memory, and every question answered by it. It knows no server.

use tollgate_core::algorithm::list::List;
use tollgate_core::{
    Decision, Hit, Micros, Receipt, State, Target, decide_batch, decide_up_to, peek, refund_part, settle,
};
use tollgate_redis::Reply;

use crate::asked::{Asked, Owned};

/// The keys of a scene.
#[derive(Clone, Debug)]
pub struct World {
    /// Where each stands.
    pub keys: Vec<Option<State>>,
}

impl World {
    /// So many keys, none of them seen.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        Self { keys: vec![None; keys] }
    }

    /// Answers a question, and makes the change.
    pub fn answer(&mut self, asked: &Asked, now: Micros) -> Reply {
        match asked {
            Asked::Charge(hits) => self.batch(hits, now, true),
            Asked::Peek(hits) => self.batch(hits, now, false),
            Asked::UpTo(hit) => self.verb(hit, |state| decide_up_to(&hit.limit, state, now, hit.cost)),
            Asked::Settle(hit) => self.verb(hit, |state| settle(&hit.limit, state, now, hit.cost)),
            Asked::Refund(hit, (at, cost, limit), part) => {
                let receipt = Receipt { at: *at, cost: *cost, limit: *limit };
                self.verb(hit, |state| refund_part(&hit.limit, state, now, &receipt, *part))
            }
            Asked::Reset(key, _) => Reply::Reset { was_there: self.keys[*key].take().is_some() },
        }
    }

    fn verb(
        &mut self,
        hit: &Owned,
        ask: impl FnOnce(Option<&State>) -> (tollgate_core::Change, Decision),
    ) -> Reply {
        let key = &mut self.keys[hit.key];
        let (change, decision) = ask(key.as_ref());
        change.apply(key);
        Reply::Decided { granted: decision.granted(), decisions: [decision].into_iter().collect() }
    }

    fn batch(&mut self, hits: &[Owned], now: Micros, charges: bool) -> Reply {
        let mut keys: Vec<(usize, &tollgate_core::Limit)> = Vec::new();
        for hit in hits {
            if !keys.iter().any(|(key, _)| *key == hit.key) {
                keys.push((hit.key, &hit.limit));
            }
        }
        let place = |hit: &Owned| keys.iter().position(|(key, _)| *key == hit.key).unwrap_or(usize::MAX);
        let core: Vec<_> =
            hits.iter().map(|hit| Hit { target: place(hit), cost: hit.cost, mode: hit.mode }).collect();
        let targets: Vec<_> =
            keys.iter().map(|(key, limit)| Target { limit, state: self.keys[*key].as_ref() }).collect();
        let batch = decide_batch(&targets, &core, now);
        if !charges {
            let stands = hits.iter().map(|hit| peek(&hit.limit, self.keys[hit.key].as_ref(), now, 0));
            let decisions = batch.decisions.iter().zip(stands);
            let decisions =
                decisions.map(|(asked, stands)| Decision { outcome: asked.outcome, ..stands }).collect();
            return Reply::Decided { granted: batch.granted, decisions };
        }
        for (target, change) in batch.changes {
            change.apply(&mut self.keys[keys[target].0]);
        }
        Reply::Decided { granted: batch.granted, decisions: batch.decisions.into() }
    }
}

/// A state as it is compared: lists by their entries, because only differences of their totals mean something.
#[must_use]
pub fn plain(state: State) -> State {
    match state {
        State::SlidingWindowBuckets(list) => State::SlidingWindowBuckets(List::from_entries(list.entries())),
        State::SlidingWindowLog(list) => State::SlidingWindowLog(List::from_entries(list.entries())),
        State::TokenBucket(_)
        | State::LeakyBucket(_)
        | State::Gcra(_)
        | State::FixedWindow(_)
        | State::SlidingWindow(_) => state,
    }
}
