//! The refusal cache: states with which the server refused, so that it need not be called again.
//!
//! Of a key on which nothing is ever given back, others can only take more: as long as the core refuses a hit on the state
//! that the server told of, the server would refuse it too. So the state is kept, with the local instants between which it
//! was told. The server's clock stands somewhere between two ends: a hit is refused here only if it is at the later one, and
//! is told the numbers of the earlier one, so that nobody is told to come back too early.
//!
//! Others may give room to a hit under other numbers than theirs. What they charge through this process is known when it is answered:
//! from then on hits are judged by the state that it left, or are asked about.

mod clock_bounds;
mod entry;
mod in_flight;
mod key;
#[cfg(test)]
mod tests;
mod turns;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::{Decision, Limit};

use crate::{Hit, Name};

pub(crate) use clock_bounds::ClockBounds;
use entry::CachedRefusal;
pub(crate) use entry::ObservedKey;
pub(crate) use in_flight::InFlightCharge;
use key::{CachedKey, Charge};
pub(crate) use turns::{InFlightQuery, Turn};

/// How long a refusal is remembered at most. A key that is given more room in a way that nobody here can know of (another
/// process resets it, raises its limit, or charges it under other numbers; the server's clock is set forward; its data are lost) may be
/// refused for so long all the same.
pub const REMEMBERED_MAX: Duration = Duration::from_secs(1);

/// So many keys are remembered at most, in sets that are searched whole. In a full set the oldest makes room: what is
/// forgotten is asked again.
const SETS: usize = 1_021;
const WAYS: usize = 4;

/// Of so many other keys in a set it is known when they were charged last: an answer from before that, which comes later, is not believed.
/// Beyond that no answer is that was asked for before the oldest of them was charged.
const PASSING: usize = 2;

/// Refusals of many keys.
#[derive(Debug)]
pub(crate) struct RefusalCache {
    sets: Box<[Mutex<CacheSet>]>,
    /// Something is asked that is to be remembered: until then nothing is kept, and nobody takes a lock.
    is_used: AtomicBool,
    told: AtomicU64,
    /// How long anybody waits for another's answer. A server that takes longer is asked by everybody.
    patience: Duration,
}

/// Some of the keys.
#[derive(Debug, Default)]
struct CacheSet {
    keys: Vec<CachedKey>,
    /// Keys that were charged lately, and of which nothing else is known. The last comes last.
    passing: Vec<(Name, Charge)>,
    /// When one of either was forgotten last: what was asked before that may be from before it was reset, or charged.
    forgot: Option<Instant>,
}

/// What is to be done about a hit.
#[derive(Debug)]
pub(crate) enum CacheAction<'a> {
    /// It is refused.
    Refuse,
    /// It was refused, and somebody asks whether it still is: wait.
    Wait(Arc<InFlightQuery>),
    /// It was refused: ask, alone.
    AskAlone(Turn<'a>),
    /// Nothing is known, or nobody is worth waiting for: ask.
    Ask,
}

impl RefusalCache {
    pub(crate) fn new(patience: Duration) -> Self {
        let sets = (0..SETS).map(|_| Mutex::default()).collect();
        Self { sets, is_used: AtomicBool::new(false), told: AtomicU64::new(0), patience }
    }

    /// How many hits were refused from memory.
    pub(crate) fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    pub(crate) fn tell(&self) {
        self.told.fetch_add(1, Ordering::Relaxed);
    }

    /// What a hit is told at this instant, if it is certainly refused.
    pub(crate) fn refused(&self, hit: &Hit<'_>, now: Instant) -> Option<Decision> {
        self.set(hit.name).key(hit.name)?.entry(hit)?.refuses(hit, now)
    }

    /// Whether somebody was refused on a key lately: then it matters how it stands, whoever is granted.
    pub(crate) fn knows(&self, name: &Name) -> bool {
        self.set(name).key(name).is_some()
    }

    /// What is to be done about a hit at this instant.
    pub(crate) fn next(&self, hit: &Hit<'_>, now: Instant) -> CacheAction<'_> {
        let mut set = self.set(hit.name);
        let Some(entry) = set.key(hit.name).and_then(|key| key.entry_or_less(hit)) else {
            return CacheAction::Ask;
        };
        if entry.refuses(hit, now).is_some() {
            return CacheAction::Refuse;
        }
        // What is refused to others says nothing of who had room. And who waited for a server as slow as it was last time would have too
        // little time left to ask it.
        if !entry.was_full_for(hit) || entry.when.took() > self.patience {
            return CacheAction::Ask;
        }
        if let Some(asking) = &entry.asking {
            return if asking.is_awaited(now) {
                CacheAction::Wait(Arc::clone(asking))
            } else {
                CacheAction::Ask
            };
        }
        let asking = Arc::new(InFlightQuery::new(now + self.patience));
        entry.asking = Some(Arc::clone(&asking));
        CacheAction::AskAlone(Turn::new(self, *hit.name, asking))
    }

    /// Something will be asked that is to be learned: said before it is.
    pub(crate) fn begin(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Keeps what an answer says, and when the server decided it.
    pub(crate) fn learn(&self, hit: &Hit<'_>, learned: ObservedKey, when: &ClockBounds) {
        self.set(hit.name).learn(hit, learned, when);
    }

    /// Something was charged of which nothing is kept: what others were told before does not hold for them any more.
    pub(crate) fn charged(&self, hit: &Hit<'_>, when: &ClockBounds) {
        if !self.is_used.load(Ordering::Relaxed) || *hit.limit == Limit::Unlimited {
            return;
        }
        let mut set = self.set(hit.name);
        match set.key(hit.name) {
            Some(key) => key.charged(hit.limit, when, |_| true),
            None => set.pass(*hit.name, Charge::new(hit.limit, *when)),
        }
    }

    /// Something may have been charged, nobody knows when.
    pub(crate) fn may_have_charged(&self, hit: &Hit<'_>) {
        if !self.is_used.load(Ordering::Relaxed) || *hit.limit == Limit::Unlimited {
            return;
        }
        if let Some(key) = self.set(hit.name).key(hit.name) {
            key.entries.iter_mut().for_each(|entry| entry.charged_since(hit.limit));
        }
    }

    /// Forgets a key.
    pub(crate) fn forget(&self, name: &Name) {
        let mut set = self.set(name);
        set.keys.retain(|key| key.name != *name);
        set.forgot = Some(Instant::now());
    }

    /// Nobody asks any more.
    fn ended(&self, name: &Name, asking: &Arc<InFlightQuery>) {
        let mut set = self.set(name);
        let entries = set.key(name).into_iter().flat_map(|key| &mut key.entries);
        let is_this =
            |entry: &&mut CachedRefusal| entry.asking.as_ref().is_some_and(|of| Arc::ptr_eq(of, asking));
        entries.filter(is_this).for_each(|entry| entry.asking = None);
    }

    fn set(&self, name: &Name) -> MutexGuard<'_, CacheSet> {
        // A name ends in digits of a keyed hash.
        let digits = name.digits().rev().take(4);
        let hash = digits.fold(0_usize, |sum, digit| sum * 257 + usize::from(digit));
        let set = self.sets.get(hash % SETS).expect("there are so many sets");
        set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheSet {
    fn key(&mut self, name: &Name) -> Option<&mut CachedKey> {
        self.keys.iter_mut().find(|key| key.name == *name)
    }

    fn learn(&mut self, hit: &Hit<'_>, learned: ObservedKey, when: &ClockBounds) {
        let is_outdated = self.forgot.is_some_and(|forgot| when.asked <= forgot);
        let Some(at) = self.keys.iter().position(|key| key.name == *hit.name) else {
            return self.learn_new(hit, learned, when, is_outdated);
        };
        let Some(key) = self.keys.get_mut(at) else { return };
        if !is_outdated {
            key.learn(hit, learned, when);
        } else if learned.charged {
            key.charged(hit.limit, when, |_| true);
        }
        if key.entries.is_empty() {
            self.drop(at);
        }
    }

    /// The same of a key of which nothing was known but, maybe, when it was charged.
    fn learn_new(&mut self, hit: &Hit<'_>, learned: ObservedKey, when: &ClockBounds, is_outdated: bool) {
        let charge = learned.charged.then(|| Charge::new(hit.limit, *when));
        let passed = self.passing.iter().position(|(name, _)| name == hit.name);
        let before = passed.and_then(|at| self.passing.get(at)).map(|(_, charge)| *charge);
        let is_outdated = is_outdated || before.is_some_and(|charge| charge.outdates(hit.limit, when));
        // Mostly there is room for the next one too, and nothing to keep.
        if is_outdated || learned.room {
            if let Some(charge) = charge {
                self.pass(*hit.name, charge);
            }
            return;
        }
        passed.map(|at| self.passing.remove(at));
        if self.keys.len() >= WAYS {
            let answered =
                |at: &usize| self.keys.get(*at).and_then(CachedKey::newest).map(|when| when.answered);
            let oldest = (0..self.keys.len()).min_by_key(answered);
            oldest.into_iter().for_each(|at| self.drop(at));
        }
        let mut key = CachedKey::new(*hit.name, before);
        key.learn(hit, learned, when);
        self.keys.push(key);
    }

    /// Keeps no more of a key than when it was charged.
    fn drop(&mut self, at: usize) {
        let key = self.keys.swap_remove(at);
        if let Some(charge) = key.charge() {
            self.pass(key.name, charge);
        }
    }

    fn pass(&mut self, name: Name, charge: Charge) {
        let known = self.passing.iter().position(|(passing, _)| *passing == name);
        let charge = match known {
            Some(at) => self.passing.remove(at).1.and(charge),
            None => charge,
        };
        if self.passing.len() >= PASSING {
            let (_, oldest) = self.passing.remove(0);
            self.forgot = self.forgot.max(Some(oldest.when.answered));
        }
        self.passing.push((name, charge));
    }
}
