//! A charge in flight, until its result is known and cached.

use tokio::time::Instant;
use tollgate_algorithms::{Decision, Limit};

use super::{ClockBounds, ObservedKey, RefusalCache};
use crate::reply::reported_state::{ReportedState, ReportedStates, decided_at, stands};
use crate::{Hit, Reply, StoreError, Value};

/// A call that is on its way. If nobody hears what came of it, it may have charged what it asked for.
#[derive(Debug)]
pub(crate) struct InFlightCharge<'a> {
    remembered: &'a RefusalCache,
    hits: &'a [Hit<'a>],
    asked: Instant,
}

impl<'a> InFlightCharge<'a> {
    /// Made just before it is sent.
    pub(crate) fn new(remembered: &'a RefusalCache, hits: &'a [Hit<'a>]) -> Self {
        Self { remembered, hits, asked: Instant::now() }
    }

    /// It failed.
    pub(crate) fn failed(mut self, error: &StoreError) {
        if !error.may_have_run() {
            self.hits = &[];
        }
    }

    /// It was answered. What is said of these hits, which are at these places, is learned.
    pub(crate) fn answered(mut self, keys: &[(usize, &Hit<'_>)], reply: &Reply, value: &Value) {
        let answered = Instant::now();
        let (Reply::Decided { granted, decisions }, Some(server)) = (reply, decided_at(value)) else {
            return;
        };
        let when = ClockBounds { asked: self.asked, answered, server };
        let hits = std::mem::take(&mut self.hits);
        let has_room = |decision: &Decision, cost| {
            if *granted { decision.remaining >= cost } else { decision.is_granted() }
        };
        let matters = |(place, hit): &(usize, &Hit<'_>)| {
            decisions.get(*place).is_some_and(|decision| !has_room(decision, hit.cost))
                || self.remembered.knows(hit.name)
        };
        // Mostly there is room for the next one too, and nobody was refused lately.
        let standing: Option<ReportedStates> =
            if keys.iter().any(matters) { stands(hits, value) } else { None };
        let (_, mut standing) = standing.unwrap_or_default();
        for (place, (hit, decision)) in hits.iter().zip(decisions).enumerate() {
            let charged = *granted && decision.charged > 0;
            if *hit.limit == Limit::Unlimited {
                continue;
            }
            if keys.iter().any(|(key, _)| *key == place) {
                let told = standing.get_mut(place);
                let stands =
                    told.map_or(ReportedState::Untold, |told| std::mem::replace(told, ReportedState::Untold));
                let learned = ObservedKey { charged, room: has_room(decision, hit.cost), stands };
                self.remembered.learn(hit, learned, &when);
            } else if charged {
                self.remembered.charged(hit, &when);
            }
        }
    }
}

impl Drop for InFlightCharge<'_> {
    fn drop(&mut self) {
        for hit in self.hits {
            self.remembered.may_have_charged(hit);
        }
    }
}
