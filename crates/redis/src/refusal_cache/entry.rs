//! One cached reply about a key, and which hits it refuses. `key.rs` decides which replies are kept.

use std::mem::discriminant;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::{Decision, Limit, Micros, State, decide, peek};

use super::REMEMBERED_MAX;
use super::clock_bounds::{ClockBounds, Order};
use super::turns::InFlightQuery;
use crate::Hit;
use crate::encode::is_list;
use crate::reply::reported_state::ReportedState;

/// What an answer says of a key.
#[derive(Debug)]
pub(crate) struct ObservedKey {
    /// Something was charged to it.
    pub(crate) charged: bool,
    /// The same hit would be granted again.
    pub(crate) room: bool,
    /// How it stands then.
    pub(crate) stands: ReportedState,
}

/// How a key stood that refused a hit lately.
///
/// Of most algorithms that is all there is to know: any hit can be judged by it, whatever its numbers and its cost. Of a list it is
/// what matters for one limit and one cost.
#[derive(Debug)]
pub(super) struct CachedRefusal {
    /// Who was told.
    limit: Limit,
    cost: u64,
    /// If it is not told, all that is known is that there was no room for that one: then somebody has to ask, but not everybody.
    stands: ReportedState,
    /// It says nothing of hits under other numbers than these: something may have been charged under these since, which can only
    /// take from who has the same, but may give room to others (a debt is drained by the numbers of whoever is charged).
    only: bool,
    pub(super) when: ClockBounds,
    /// When it last refused somebody.
    refused: Instant,
    /// Somebody asks whether it still holds.
    pub(super) asking: Option<Arc<InFlightQuery>>,
}

impl CachedRefusal {
    pub(super) fn new(hit: &Hit<'_>, stands: ReportedState, when: ClockBounds) -> Self {
        let (limit, cost, refused) = (*hit.limit, hit.cost, when.answered);
        Self { limit, cost, stands, only: is_list(hit.limit), when, refused, asking: None }
    }

    /// Whether a hit can be judged by it at all.
    pub(super) fn is_for(&self, hit: &Hit<'_>) -> bool {
        if is_list(hit.limit) {
            return self.cost == hit.cost && self.limit == *hit.limit;
        }
        // A state of another kind is another key's. One of another algorithm of the same kind is asked about.
        discriminant(&self.limit) == discriminant(hit.limit)
    }

    /// Whether it is of a list, and was told to a smaller cost under the same numbers: then a larger one had no room either.
    pub(super) fn is_for_less_than(&self, hit: &Hit<'_>) -> bool {
        is_list(hit.limit) && self.cost < hit.cost && self.limit == *hit.limit
    }

    /// What a hit is told that can be judged by it, if it is certainly refused.
    pub(super) fn refuses(&mut self, hit: &Hit<'_>, now: Instant) -> Option<Decision> {
        let least = now.saturating_duration_since(self.when.answered);
        if least >= REMEMBERED_MAX || (self.only && self.limit != *hit.limit) {
            return None;
        }
        let most = now.saturating_duration_since(self.when.asked);
        // A part of a microsecond is a whole one, and a clock that is being set right runs a little faster.
        let latest = most.saturating_add(most / 1_000).saturating_add(Duration::from_micros(1));
        if self.grants_after(latest, hit)? {
            return None;
        }
        let decision = peek(hit.limit, self.state()?, self.server_after(least), hit.cost);
        if decision.is_granted() {
            return None;
        }
        self.refused = now;
        Some(decision)
    }

    /// Whether there was no room for a hit when it was told.
    pub(super) fn was_full_for(&self, hit: &Hit<'_>) -> bool {
        let granted = self.grants_after(Duration::ZERO, hit);
        granted.map_or(self.limit == *hit.limit && self.cost <= hit.cost, |granted| !granted)
    }

    /// Whether a hit would be granted so long after. `None` if that is not known.
    fn grants_after(&self, elapsed: Duration, hit: &Hit<'_>) -> Option<bool> {
        let (_, decision) = decide(hit.limit, self.state()?, self.server_after(elapsed), hit.cost);
        Some(decision.is_granted())
    }

    /// What hits are judged by. `None` if that is not told.
    #[expect(
        clippy::option_option,
        reason = "that there is no state is something else than that none is told"
    )]
    const fn state(&self) -> Option<Option<&State>> {
        match &self.stands {
            ReportedState::Untold => None,
            ReportedState::Absent => Some(None),
            ReportedState::State(state) => Some(Some(state)),
        }
    }

    /// The server's clock, so long after.
    fn server_after(&self, elapsed: Duration) -> Micros {
        let elapsed = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.when.server.saturating_add(Micros::new(elapsed))
    }

    /// Something has been charged under these numbers, at a time that may be after this was told.
    pub(super) fn charged_since(&mut self, limit: &Limit) {
        if self.limit == *limit {
            self.only = true;
        } else if self.only || discriminant(&self.limit) != discriminant(limit) {
            self.stands = ReportedState::Untold;
        } else {
            (self.limit, self.only) = (*limit, true);
        }
    }

    /// Puts in its place what the answer to a hit says that [can be judged](Self::is_for) by it. Whether there is still something
    /// to keep.
    pub(super) fn learn(&mut self, hit: &Hit<'_>, learned: ObservedKey, when: &ClockBounds) -> bool {
        let ObservedKey { charged, room, stands } = learned;
        match when.order(&self.when) {
            Order::Earlier => return true,
            Order::Same if stands == self.stands => return true,
            Order::Same => {
                self.learn_at_once(hit, room, stands);
                return true;
            }
            Order::Later => {}
        }
        if stands == ReportedState::Untold {
            if room {
                return false;
            }
            // Nothing has changed: what is known holds.
            if !charged && self.stands != ReportedState::Untold {
                return true;
            }
        }
        let was_lately = when.answered.saturating_duration_since(self.refused) < REMEMBERED_MAX;
        let (asking, refused) = (self.asking.take(), self.refused);
        *self = Self { asking, ..Self::new(hit, stands, *when) };
        if room {
            self.refused = refused;
        }
        // As long as others are refused by it, who is granted keeps it up to date.
        !room || (was_lately && !is_list(hit.limit))
    }

    /// The same of an answer that was decided at the same instant, nobody knows in which order.
    fn learn_at_once(&mut self, hit: &Hit<'_>, room: bool, stands: ReportedState) {
        let is_same = self.limit == *hit.limit;
        // To hits under the same numbers both hold; nobody else can go by either.
        if !is_same {
            self.stands = ReportedState::Untold;
        } else if !room && stands != ReportedState::Untold {
            self.stands = stands;
        }
        if !room {
            (self.limit, self.cost) = (*hit.limit, hit.cost);
        }
        self.only = true;
    }
}
