//! Refusals that must still hold, so that the server need not be asked again. It asks nobody itself.
//!
//! Of a key on which nothing is ever given back, others can only take more: as long as the core refuses a hit on the state
//! that the server told of, the server would refuse it too. So the state is kept, with the local instants between which it
//! was told. The server's clock stands somewhere between two ends: a hit is refused here only if it is at the later one, and
//! is told the numbers of the earlier one, so that nobody is told to come back too early.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tollgate_core::{Decision, Limit, Micros, State, peek};

use crate::{Hit, LinkError, Name};

/// How long a refusal is remembered at most. A key that is given more room in a way that nobody here can know of (another
/// process resets it, or raises its limit; the server's clock is set forward; its data are lost) may be refused for so long all the same.
pub const REMEMBERED_MAX: Duration = Duration::from_secs(1);

/// So many keys are remembered at most, in sets that are searched whole. In a full set the oldest makes room: what is
/// forgotten is asked again.
const SETS: usize = 1_021;
const WAYS: usize = 4;

/// Refusals of many keys.
#[derive(Debug)]
pub(crate) struct Remembered {
    sets: Box<[Mutex<Set>]>,
    told: AtomicU64,
    /// How long anybody waits for another's answer. A server that takes longer is asked by everybody.
    patience: Duration,
}

/// Some of the keys.
#[derive(Debug, Default)]
struct Set {
    entries: Vec<Entry>,
    /// When one of them was forgotten last: what was asked before that may be from before it was reset.
    forgot: Option<Instant>,
}

/// What is known of a key that refused a hit lately.
#[derive(Debug)]
struct Entry {
    name: Name,
    limit: Limit,
    /// What was asked for. Of a list only what matters for this cost was told.
    cost: u64,
    /// `None` if all that is known is that there was no room: then somebody has to ask, but not everybody.
    state: Option<State>,
    /// When the server decided, by its clock.
    server: Micros,
    /// The same by ours: not before this one, and not after that one.
    asked: Instant,
    answered: Instant,
    /// Somebody asks whether it still holds.
    asking: Option<Arc<Asking>>,
}

/// A question that is on its way, of which others wait for the answer.
#[derive(Debug)]
pub(crate) struct Asking {
    /// From then on nobody waits for it any more.
    until: Instant,
    /// How it ended: with an error, or not.
    ended: OnceLock<Option<LinkError>>,
    wake: Notify,
}

/// What is to be done about a hit.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    /// It is refused.
    Refuse,
    /// It was refused, and somebody asks whether it still is: wait.
    Wait(Arc<Asking>),
    /// It was refused: ask, alone.
    AskAlone(Turn<'a>),
    /// Nothing is known, or nobody is worth waiting for: ask.
    Ask,
}

/// What an answer says of a key.
#[derive(Debug)]
pub(crate) enum Learned {
    /// The same hit would be granted again.
    Room,
    /// It would not, and the key stands like this at this instant of the server's clock; if that is known.
    Spent(Micros, Option<State>),
}

/// The right to ask about a key that was refused, alone. Who waits is woken when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    remembered: &'a Remembered,
    name: Name,
    asking: Arc<Asking>,
}

impl Remembered {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { sets: (0..SETS).map(|_| Mutex::default()).collect(), told: AtomicU64::new(0), patience }
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
        self.set(hit.name).entries.iter().find(|entry| entry.is_of(hit))?.refuses(hit, now)
    }

    /// What is to be done about a hit at this instant.
    pub(crate) fn next(&self, hit: &Hit<'_>, now: Instant) -> Next<'_> {
        let mut set = self.set(hit.name);
        let found = set.entries.iter_mut().find(|entry| entry.is_of(hit) && entry.cost <= hit.cost);
        // What is refused to a larger cost says nothing of this one.
        let Some(entry) = found else { return Next::Ask };
        if entry.refuses(hit, now).is_some() {
            return Next::Refuse;
        }
        // Who waited for a server as slow as it was last time would have too little time left to ask it.
        if entry.answered.saturating_duration_since(entry.asked) > self.patience {
            return Next::Ask;
        }
        if let Some(asking) = &entry.asking {
            // Who has the turn may sleep, or the server has become slow: then the others ask for themselves.
            return if now < asking.until { Next::Wait(Arc::clone(asking)) } else { Next::Ask };
        }
        let asking =
            Arc::new(Asking { until: now + self.patience, ended: OnceLock::new(), wake: Notify::new() });
        entry.asking = Some(Arc::clone(&asking));
        Next::AskAlone(Turn { remembered: self, name: entry.name, asking })
    }

    /// Keeps what an answer says, and between which of our instants the server decided.
    pub(crate) fn learn(&self, hit: &Hit<'_>, learned: Learned, (asked, answered): (Instant, Instant)) {
        let mut set = self.set(hit.name);
        if set.forgot.is_some_and(|forgot| asked <= forgot) {
            return;
        }
        let entries = &mut set.entries;
        let known = entries.iter().position(|entry| entry.name == *hit.name);
        // Answers may overtake each other: the one that was asked for last is the best known.
        if known.and_then(|at| entries.get(at)).is_some_and(|entry| entry.is_of(hit) && entry.asked > asked) {
            return;
        }
        // Who asks goes on asking, whatever is known.
        let asking = known.and_then(|at| entries.swap_remove(at).asking);
        let Learned::Spent(server, state) = learned else { return };
        if entries.len() >= WAYS {
            let oldest = (0..entries.len()).min_by_key(|at| entries.get(*at).map(|entry| entry.answered));
            oldest.map(|at| entries.swap_remove(at));
        }
        let (name, limit, cost) = (*hit.name, *hit.limit, hit.cost);
        entries.push(Entry { name, limit, cost, state, server, asked, answered, asking });
    }

    /// Forgets a key.
    pub(crate) fn forget(&self, name: &Name) {
        let mut set = self.set(name);
        set.entries.retain(|entry| entry.name != *name);
        set.forgot = Some(Instant::now());
    }

    fn set(&self, name: &Name) -> MutexGuard<'_, Set> {
        // A name ends in digits of a keyed hash.
        let digits = name.as_bytes().iter().rev().take(4);
        let hash = digits.fold(0_usize, |sum, digit| sum * 257 + usize::from(*digit));
        let set = self.sets.get(hash % SETS).expect("there are so many sets");
        set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn is_of(&self, hit: &Hit<'_>) -> bool {
        self.name == *hit.name && self.limit == *hit.limit
    }

    /// What a hit is told, if it is certainly refused.
    fn refuses(&self, hit: &Hit<'_>, now: Instant) -> Option<Decision> {
        let (least, most) =
            (now.saturating_duration_since(self.answered), now.saturating_duration_since(self.asked));
        let state = self.state.as_ref()?;
        let is_list = matches!(state, State::SlidingWindowBuckets(_) | State::SlidingWindowLog(_));
        if least >= REMEMBERED_MAX || (is_list && hit.cost != self.cost) {
            return None;
        }
        let at = |elapsed: Duration| {
            let elapsed = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
            peek(hit.limit, Some(state), self.server.saturating_add(Micros::new(elapsed)), hit.cost)
        };
        // A part of a microsecond is a whole one, and a clock that is being set right runs a little faster.
        if at(most.saturating_add(most / 1_000).saturating_add(Duration::from_micros(1))).granted() {
            return None;
        }
        Some(at(least)).filter(|decision| !decision.granted())
    }
}

impl Asking {
    /// Waits until it has ended, but not beyond this instant, and not longer than it is worth.
    ///
    /// # Errors
    /// When it ended in one: so does what waits.
    pub(crate) async fn ended(&self, latest: Instant) -> Result<(), LinkError> {
        // Made before it is asked whether it has ended: so it is woken if it ends in between.
        let woken = self.wake.notified();
        if self.ended.get().is_none() {
            let _ = timeout_at(latest.min(self.until), woken).await;
        }
        self.ended.get().cloned().flatten().map_or(Ok(()), Err)
    }
}

impl Turn<'_> {
    pub(crate) fn is_of(&self, name: &Name) -> bool {
        self.name == *name
    }

    /// Says how it ended to those who wait.
    pub(crate) fn end(self, error: Option<&LinkError>) {
        // It is set but once: the turn is taken.
        let _ = self.asking.ended.set(error.cloned());
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut set = self.remembered.set(&self.name);
        let is_this = |asking: &Arc<Asking>| Arc::ptr_eq(asking, &self.asking);
        for entry in set.entries.iter_mut().filter(|entry| entry.asking.as_ref().is_some_and(is_this)) {
            entry.asking = None;
        }
        drop(set);
        let _ = self.asking.ended.set(None);
        self.asking.wake.notify_waiters();
    }
}
