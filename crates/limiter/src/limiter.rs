//! The limiter: its limits, clock and statistics. The verbs are in the modules below.

mod charge;
mod inspect;
mod settled_status;

pub use inspect::Standing;

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_algorithms::{Limit, Micros};

use crate::builder::Builder;
use crate::clock::{Clock, ClockSource};
use crate::concurrency::Permits;
use crate::error::BuildError;
use crate::event::Listener;
use crate::hash::Hashing;
use crate::leaky_queue::LeakyQueues;
use crate::limit::{NamedLimit, Registered};
use crate::reservation::Book;
use crate::store::memory::Memory;
use crate::timers::Timers;
#[cfg(feature = "redis")]
use crate::voided::Resets;
use crate::voided::Voided;
use crate::waiting::Turns;

/// A key may have so many bytes; a longer one is an [error](HitError::KeyTooLong). Keys are hashed and not stored, so this
/// bounds the time that one takes, about 55 µs, and not memory.
pub const KEY_BYTES_MAX: usize = 1 << 16;

/// So many hits may be charged together; more are an [error](HitError::TooManyHits).
pub const HITS_MAX: usize = 32;

/// Decides, for any number of keys and threads, who may go on now.
///
/// It is cheap to clone, and clones share everything. State lives in memory, at most as much as the
/// [budget](Builder::budget) says; there is no thread to be started and nothing to be swept.
///
/// ```
/// use tollgate::{Limit, Limiter, Micros};
/// let limiter = Limiter::new()?;
/// let logins = limiter.limit("logins", Limit::token_bucket(5, 1, Micros::from_secs(10))?);
/// let verdict = limiter.try_charge(&[logins.hit("ada@example.org")])?;
/// assert!(verdict.granted() && verdict.remaining() == Some(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Several limits at once are all charged, or none is, and the verdict says which one refused:
///
/// ```
/// use tollgate::{Limit, Limiter, Micros, Retry, Window};
/// let limiter = Limiter::new()?;
/// let per_user = limiter.limit("per user", Limit::sliding_window_log(100, Micros::MINUTE)?);
/// let per_team = limiter.limit("per team", Limit::fixed_window(3, Window::Every(Micros::HOUR))?);
/// let hits = [per_user.hit("ada"), per_team.hit("engines").cost(4)];
/// let verdict = limiter.try_charge(&hits)?;
/// assert!(!verdict.granted());
/// assert_eq!(verdict.refused_by(), Some(1));
/// assert_eq!(verdict.retry(), Some(Retry::Never)); // 4 never fit into 3
/// assert_eq!(verdict.answers()[0].decision().remaining, 100); // and Ada has not paid for it
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Limiter(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    /// Tells this limiter from others.
    pub(crate) number: u64,
    pub(crate) memory: Memory,
    pub(crate) clock: Clock,
    pub(crate) hashing: Hashing,
    pub(crate) listener: Option<Listener>,
    pub(crate) names: Mutex<HashMap<Arc<str>, Name>>,
    pub(crate) book: Mutex<Book>,
    pub(crate) permits: Permits,
    pub(crate) timers: Timers,
    pub(crate) turns: Turns,
    pub(crate) queues: LeakyQueues,
    #[cfg(feature = "redis")]
    pub(crate) shared: Option<crate::shared::Shared>,
}

/// What all limits of one name have in common.
#[derive(Debug, Default)]
pub(crate) struct Name {
    pub(crate) space: u64,
    pub(crate) voided: Arc<Voided<u64>>,
    pub(crate) owing: Arc<AtomicU64>,
    #[cfg(feature = "redis")]
    pub(crate) resets: Arc<Resets>,
}

impl Inner {
    /// Writes a limit down under its name, to be counted here.
    pub(crate) fn registered(&self, name: &str, limit: Limit) -> Registered {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let space = names.len() as u64;
        let entry = names.entry(name.into());
        let shared_name = entry.key().clone();
        let known = entry.or_insert_with(|| Name { space, ..Name::default() });
        Registered {
            limiter: self.number,
            mark: mark_of(&limit),
            name: shared_name,
            limit,
            space: known.space,
            hash: self.hashing.of_name(known.space),
            narrow: self.memory.narrow(&limit),
            voided: Arc::clone(&known.voided),
            owing: Arc::clone(&known.owing),
            #[cfg(feature = "redis")]
            resets: Arc::clone(&known.resets),
            #[cfg(feature = "redis")]
            far: None,
        }
    }
}

/// A number that tells the numbers of a limit from others: a hash, so that nothing need be remembered. Two limits of one name have the same
/// one once in four thousand million times; then a receipt is not void though its key was charged under the other one since.
fn mark_of(limit: &Limit) -> u32 {
    let hash = foldhash::quality::FixedState::with_seed(0).hash_one(limit);
    // 0 is a cell's that has not been charged under any.
    u32::try_from(hash >> 32).unwrap_or(0).max(1)
}

impl Limiter {
    /// A limiter with a budget of 256 MiB and the system's monotonic clock.
    ///
    /// # Errors
    /// When the system gives no memory or no randomness.
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// A limiter with other settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A limit with a name. Its keys are those of all limits with this name: see [`NamedLimit`].
    ///
    /// With a [store](Builder::store) it is counted there, and in this process alone while the store gives no decision: see
    /// [`shared_limit`](Self::shared_limit) and [`local_limit`](Self::local_limit).
    #[must_use]
    pub fn limit(&self, name: &str, limit: Limit) -> NamedLimit {
        #[cfg(feature = "redis")]
        if self.0.shared.is_some() {
            return self.shared_limit(name, limit, crate::StoreFails::Local { share: 1, of: 1 });
        }
        self.local_limit(name, limit)
    }

    /// A limit that is counted in this process, whether or not there is a store.
    #[must_use]
    pub fn local_limit(&self, name: &str, limit: Limit) -> NamedLimit {
        NamedLimit(Arc::new(self.0.registered(name, limit)), self.clone())
    }

    /// What its clock says now, as the calendar has it: microseconds since 1970. For what has to agree with its decisions, such
    /// as the instant of a reset.
    #[must_use]
    pub fn now(&self) -> Micros {
        self.calendar(self.0.clock.now())
    }

    /// An instant of its clock, such as that of a [decision](Decision::at), as the calendar has it.
    #[must_use]
    pub fn calendar(&self, at: Micros) -> Micros {
        let ahead = self.0.memory.calendar_ahead(&self.0.clock, at);
        Micros::new(at.get().saturating_add_signed(ahead))
    }

    /// How full the store is, and what has happened to it.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let memory = &self.0.memory;
        Stats {
            bytes: memory.bytes() + self.0.permits.bytes(),
            bytes_max: memory.bytes_max(),
            slots_used: memory.slots_used(),
            overflowed: memory.overflowed(),
            clock: self.0.clock.source(),
        }
    }
}

/// One line: its figures, and whether it has a shared store.
impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { bytes, bytes_max, slots_used, overflowed: _, clock } = self.stats();
        let limits = self.0.names.lock().unwrap_or_else(PoisonError::into_inner).len();
        let mut shown = f.debug_struct("Limiter");
        shown.field("limits", &limits).field("keys", &slots_used);
        shown.field("bytes", &bytes).field("bytes_max", &bytes_max).field("clock", &clock);
        #[cfg(feature = "redis")]
        shown.field("is_shared", &self.0.shared.is_some());
        shown.finish()
    }
}

/// Numbers about a store: see [`Limiter::stats`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// How many bytes the store takes, and the counts of [concurrency limits](crate::ConcurrencyLimit).
    pub bytes: usize,
    /// How many bytes it can fill: the [budget](crate::Builder::budget), less what it keeps free for moving keys and for keys without
    /// room. A store without room for a new key takes at least nine tenths of it.
    pub bytes_max: usize,
    /// How many slots are in use: by keys that owe something, and by keys that owe nothing any more and have not been replaced yet.
    pub slots_used: u64,
    /// How many hits found no room for their key, and were decided by a cell that new keys have in common.
    pub overflowed: u64,
    /// What the limiter's clock reads.
    pub clock: ClockSource,
}
