//! What the core says: keys in memory, and every question answered by it. It knows no server.
//!
//! The core knows a state and the numbers it is given. A store knows besides by whose numbers a key was charged last, since when
//! that is so, and how long the key is kept; that is written down here, apart from the scripts.

mod joined;

use tollgate_algorithms::algorithm::list::List;
use tollgate_algorithms::{
    Change, Decision, Hit, Limit, Micros, Mode, Outcome, Quota, Receipt, State, Target, decide_batch,
    decide_up_to, peek, refund_part, settle,
};
use tollgate_redis::{ConfigTag, Reply, STEP, StateKind};

use crate::asked::{Asked, Owned};
use joined::joined;

/// The keys of a scene.
#[derive(Clone, Debug)]
pub struct World {
    /// Where each stands, by each kind of state.
    keys: Vec<[Option<Key>; StateKind::ALL.len()]>,
}

/// A key that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// How it stands.
    pub state: State,
    /// By whose numbers it was charged last.
    pub by: Limit,
    /// Since when there have been no others.
    pub since: u64,
    /// How long it is kept, in milliseconds after it was written.
    pub kept: u64,
}

/// The last step that can be written.
const SINCE_MAX: u64 = (1 << 40) - 1;

/// A key is renewed for no longer than time goes on: milliseconds.
const LONGEST: u64 = Micros::INSTANT_MAX.get() / 1_000;

impl Key {
    /// What stands in its state besides.
    #[must_use]
    pub fn era(&self) -> ConfigTag {
        ConfigTag { mark: ConfigTag::mark_of(&self.by), since: self.since }
    }

    /// Whether it was charged last by other numbers than these. What a debt drains by is its rate, whatever the burst.
    fn is_of_others(&self, than: &Limit) -> bool {
        // Whichever of the three algorithms they are for.
        match (rate(&self.by), rate(than)) {
            (Some(by), Some(than)) => (by.count(), by.period()) != (than.count(), than.period()),
            _ => self.by != *than,
        }
    }

    /// It was met by these numbers, which may want it for longer.
    fn met(&mut self, by: &Limit, now: Micros) {
        let is_fixed = matches!(self.state, State::FixedWindow(_));
        if self.is_of_others(by) && !is_fixed && counts(by, &self.state, now) {
            self.kept = self.kept.max(lasts(by, &self.state, now).min(LONGEST));
        }
    }
}

/// The quota of a limit whose state is a debt.
fn rate(limit: &Limit) -> Option<Quota> {
    let (Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota)) = limit else {
        return None;
    };
    Some(*quota)
}

/// The same debt as the state of a limit's own algorithm: the three buckets share their states.
#[must_use]
pub fn shared(limit: &Limit, state: State) -> State {
    match (limit, state) {
        (Limit::TokenBucket(_), State::TokenBucket(debt) | State::LeakyBucket(debt) | State::Gcra(debt)) => {
            State::TokenBucket(debt)
        }
        (Limit::LeakyBucket(_), State::TokenBucket(debt) | State::LeakyBucket(debt) | State::Gcra(debt)) => {
            State::LeakyBucket(debt)
        }
        (Limit::Gcra(_), State::TokenBucket(debt) | State::LeakyBucket(debt) | State::Gcra(debt)) => {
            State::Gcra(debt)
        }
        (_, state) => state,
    }
}

/// Whether a state counts at all, and is not so far ahead of the clock that it counts as none.
fn counts(by: &Limit, state: &State, now: Micros) -> bool {
    let now = now.min(Micros::INSTANT_MAX);
    let (at, ahead_max) = match (by, state) {
        (Limit::TokenBucket(quota), State::TokenBucket(debt))
        | (Limit::LeakyBucket(quota), State::LeakyBucket(debt))
        | (Limit::Gcra(quota), State::Gcra(debt)) => (debt.at, quota.drain()),
        (_, State::FixedWindow(count)) => (count.start, count.end.saturating_sub(count.start)),
        (_, State::SlidingWindow(counts)) => (counts.start, counts.end.saturating_sub(counts.start)),
        (Limit::SlidingWindowBuckets(rule), State::SlidingWindowBuckets(list)) => {
            (newest(list), rule.window())
        }
        (Limit::SlidingWindowLog(rule), State::SlidingWindowLog(list)) => (newest(list), rule.window()),
        _ => return false,
    };
    at.saturating_sub(now) <= ahead_max
}

fn newest(list: &List) -> Micros {
    list.entries().last().map_or(Micros::ZERO, |entry| entry.at)
}

/// By how many microseconds a list or a window has gone on: its newest entry, or its end. A list is given a millisecond besides.
fn gone_on(before: &State, after: &State) -> u64 {
    match (before, after) {
        (State::SlidingWindowBuckets(before), State::SlidingWindowBuckets(after))
        | (State::SlidingWindowLog(before), State::SlidingWindowLog(after)) => {
            newest(after).saturating_sub(newest(before)).get() + 1_000
        }
        (State::SlidingWindow(before), State::SlidingWindow(after)) => {
            after.end.saturating_sub(before.end).get()
        }
        _ => 0,
    }
}

/// For how many milliseconds a debt drains by numbers, wherever the clock stands.
fn drains(by: &Limit, state: &State, now: Micros) -> Option<u64> {
    let (Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota)) = by else {
        return None;
    };
    let (State::TokenBucket(debt) | State::LeakyBucket(debt) | State::Gcra(debt)) = state else {
        return None;
    };
    Some((debt.at.saturating_sub(now).get() + debt.debt.div_ceil(quota.count())) / 1_000)
}

/// For how many milliseconds numbers want a state.
fn lasts(by: &Limit, state: &State, now: Micros) -> u64 {
    let now = now.min(Micros::INSTANT_MAX);
    // A window that nothing is left of may still remember where it began.
    let lasts = match state {
        State::FixedWindow(count) => count.end.saturating_sub(now),
        State::TokenBucket(_)
        | State::LeakyBucket(_)
        | State::Gcra(_)
        | State::SlidingWindow(_)
        | State::SlidingWindowBuckets(_)
        | State::SlidingWindowLog(_) => peek(by, Some(state), now, 0).reset_after,
    };
    lasts.get() / 1_000
}

impl World {
    /// So many keys, none of them seen.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        Self { keys: vec![[const { None }; StateKind::ALL.len()]; keys] }
    }

    /// What there is of a key by a kind of state.
    #[must_use]
    pub fn key(&self, key: usize, kind: StateKind) -> Option<&Key> {
        self.keys.get(key)?.get(kind as usize)?.as_ref()
    }

    /// How a key stands under a limit.
    #[must_use]
    pub fn state(&self, key: usize, limit: &Limit) -> Option<&State> {
        self.key(key, StateKind::of_limit(limit)?).map(|key| &key.state)
    }

    /// Where a key stands under a limit, if that keeps a state.
    fn place(&mut self, key: usize, limit: &Limit) -> Option<&mut Option<Key>> {
        let kind = StateKind::of_limit(limit)?;
        self.keys[key].get_mut(kind as usize)
    }

    /// Answers a question, and makes the change.
    pub fn answer(&mut self, asked: &Asked, now: Micros) -> Reply {
        for hit in asked.hits() {
            if let Some(key) = self.place(hit.key, &hit.limit).and_then(Option::as_mut) {
                key.state = shared(&hit.limit, key.state.clone());
            }
        }
        match asked {
            Asked::Charge(hits) => self.batch(hits, now, true),
            Asked::Peek(hits) => self.batch(hits, now, false),
            Asked::UpTo(hit) => {
                if !decide_up_to(&hit.limit, self.state(hit.key, &hit.limit), now, hit.cost).1.is_granted() {
                    self.meet(hit, now);
                }
                self.verb(hit, now, |state| decide_up_to(&hit.limit, state, now, hit.cost))
            }
            Asked::Settle(hit) => self.settle(hit, now),
            Asked::Refund(hit, (at, cost, limit), part) => self.refund(hit, (*at, *cost, *limit), *part, now),
            Asked::Reset(key, _) => {
                let was = std::mem::replace(&mut self.keys[*key], [const { None }; StateKind::ALL.len()]);
                Reply::Reset { was_there: was.iter().any(Option::is_some) }
            }
        }
    }

    fn settle(&mut self, hit: &Owned, now: Micros) -> Reply {
        let is_late = |key: &&mut Key| key.is_of_others(&hit.limit) && hit.cost.min(hit.limit.capacity()) > 0;
        let key = self.place(hit.key, &hit.limit).and_then(Option::as_mut).filter(is_late);
        let join = key.and_then(|key| Some((joined(&hit.limit, key, now, hit.cost)?, key)));
        let Some(((charged, state), key)) = join else {
            return self.verb(hit, now, |state| settle(&hit.limit, state, now, hit.cost));
        };
        if charged > 0 {
            // A debt says how long it lasts. All else is kept for as much longer as it has gone on, and as its receipt's numbers want.
            let wanted = match (&hit.limit, &state) {
                (Limit::SlidingWindow(rule), State::SlidingWindow(counts)) => {
                    let longer = rule.window().max(counts.end.saturating_sub(counts.start));
                    let end = counts.end.saturating_add(longer);
                    end.saturating_sub(now.min(Micros::INSTANT_MAX)).get() / 1_000
                }
                _ => lasts(&hit.limit, &state, now),
            };
            let longer = key.kept + gone_on(&key.state, &state) / 1_000;
            let lasts = drains(&key.by, &state, now).unwrap_or(longer.max(wanted));
            key.kept = lasts.min(LONGEST);
            if matches!(state, State::SlidingWindowBuckets(_)) {
                // One bucket may have two entries now: receipts from before are void.
                let next = now.min(Micros::INSTANT_MAX).get() / STEP + 1;
                key.since = next.min(SINCE_MAX);
            }
            key.state = state;
        }
        // Of what is left by other numbers nothing is told.
        let (outcome, limit, at) = (Outcome::Granted, hit.limit.capacity(), now.min(Micros::INSTANT_MAX));
        let decision = Decision { outcome, charged, limit, remaining: 0, reset_after: Micros::ZERO, at };
        Reply::Decided { granted: true, decisions: [decision].into_iter().collect() }
    }

    fn refund(
        &mut self,
        hit: &Owned,
        (at, cost, limit): (Micros, u64, Limit),
        part: u64,
        now: Micros,
    ) -> Reply {
        let is_good = |key: &Key| !key.is_of_others(&limit) && at.get() >= key.since * STEP;
        let is_void = !self.place(hit.key, &hit.limit).is_some_and(|key| key.as_ref().is_some_and(is_good));
        // A receipt of other numbers is void.
        let limit = if is_void { Limit::Unlimited } else { limit };
        let receipt = Receipt { at, cost, limit };
        self.verb(hit, now, |state| refund_part(&hit.limit, state, now, &receipt, part))
    }

    fn meet(&mut self, hit: &Owned, now: Micros) {
        let place = self.place(hit.key, &hit.limit);
        if let Some(key) = place.and_then(Option::as_mut).filter(|_| hit.cost > 0) {
            key.met(&hit.limit, now);
        }
    }

    fn verb(
        &mut self,
        hit: &Owned,
        now: Micros,
        ask: impl FnOnce(Option<&State>) -> (Change, Decision),
    ) -> Reply {
        let (change, decision) = ask(self.state(hit.key, &hit.limit));
        self.change(hit.key, &hit.limit, change, now);
        Reply::Decided { granted: decision.is_granted(), decisions: [decision].into_iter().collect() }
    }

    /// Makes a change by these numbers.
    fn change(&mut self, key: usize, by: &Limit, change: Change, now: Micros) {
        if change == Change::Keep {
            return;
        }
        let Some(place) = self.place(key, by) else { return };
        let before = place.take();
        let goes_on = |key: &&Key| !key.is_of_others(by) && counts(by, &key.state, now);
        let since = before.as_ref().filter(goes_on).map(|key| key.since);
        let since = since.unwrap_or(now.min(Micros::INSTANT_MAX).get() / STEP);
        let mut state = before.map(|key| key.state);
        change.apply(&mut state);
        *place = state.map(|state| Key { kept: lasts(by, &state, now), state, by: *by, since });
    }

    fn batch(&mut self, hits: &[Owned], now: Micros, charges: bool) -> Reply {
        let mut keys: Vec<(usize, &Limit)> = Vec::new();
        for hit in hits {
            if !keys.iter().any(|(key, _)| *key == hit.key) {
                keys.push((hit.key, &hit.limit));
            }
        }
        let place = |hit: &Owned| keys.iter().position(|(key, _)| *key == hit.key).unwrap_or(usize::MAX);
        let core: Vec<_> =
            hits.iter().map(|hit| Hit { target: place(hit), cost: hit.cost, mode: hit.mode }).collect();
        let targets: Vec<_> =
            keys.iter().map(|(key, limit)| Target { limit, state: self.state(*key, limit) }).collect();
        let batch = decide_batch(&targets, &core, now);
        if !charges {
            let stands = hits.iter().map(|hit| peek(&hit.limit, self.state(hit.key, &hit.limit), now, 0));
            let decisions = batch.decisions.iter().zip(stands);
            let decisions =
                decisions.map(|(asked, stands)| Decision { outcome: asked.outcome, ..stands }).collect();
            return Reply::Decided { granted: batch.granted, decisions };
        }
        for (hit, decision) in hits.iter().zip(batch.decisions.iter()) {
            if !decision.is_granted() && (hit.mode == Mode::Enforced || hits.len() == 1) {
                self.meet(hit, now);
            }
        }
        for (target, change) in batch.changes {
            let (key, limit) = keys[target];
            self.change(key, limit, change, now);
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
