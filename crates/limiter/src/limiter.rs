//! The limiter: its limits, clock and statistics. The verbs are in the modules below.

mod charge;
mod inspect;
mod settled_status;

pub use inspect::KeyStatus;

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use tollgate_algorithms::{Limit, Micros};

use crate::adaptive::Adaptive;
use crate::builder::Builder;
use crate::clock::{Clock, ClockSource};
use crate::concurrency::Permits;
use crate::error::BuildError;
use crate::event::Listener;
use crate::hash::Hashing;
use crate::leaky_queue::LeakyQueues;
use crate::limit::{LimitInner, NamedLimit};
use crate::reservation::ReservationTable;
use crate::store::memory::Memory;
use crate::timers::Timers;
#[cfg(feature = "redis")]
use crate::voided::Resets;
use crate::voided::Voided;
use crate::waiting::Turns;

/// Maximum length of a key in bytes; a longer one is an [error](crate::HitError::KeyTooLong). Keys are hashed and not stored, so this
/// bounds the time to hash one, about 55 µs, and not memory.
pub const KEY_BYTES_MAX: usize = 1 << 16;

/// Maximum number of hits charged together; more are an [error](crate::HitError::TooManyHits).
pub const HITS_MAX: usize = 32;

/// A rate limiter for any number of limits, keys and threads.
///
/// It is cheap to clone, and clones refer to the same limiter. States are in memory, within the
/// [memory budget](Builder::max_memory). No background thread sweeps it.
///
/// ```
/// use tollgate::{Limit, Limiter, Micros};
/// let limiter = Limiter::new()?;
/// let logins = limiter.limit("logins", Limit::token_bucket(5, 1, Micros::from_secs(10))?);
/// let verdict = limiter.try_charge(&[logins.hit("ada@example.org")])?;
/// assert!(verdict.is_granted() && verdict.remaining() == Some(4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Several limits are charged together, all or none. The verdict names the one that refused:
///
/// ```
/// use tollgate::{Limit, Limiter, Micros, Retry, Window};
/// let limiter = Limiter::new()?;
/// let per_user = limiter.limit("per user", Limit::sliding_window_log(100, Micros::MINUTE)?);
/// let per_team = limiter.limit("per team", Limit::fixed_window(3, Window::Every(Micros::HOUR))?);
/// let hits = [per_user.hit("ada"), per_team.hit("engines").cost(4)];
/// let verdict = limiter.try_charge(&hits)?;
/// assert!(!verdict.is_granted());
/// assert_eq!(verdict.refused_by(), Some(1));
/// assert_eq!(verdict.retry(), Some(Retry::Never)); // a cost of 4 never fits a limit of 3
/// assert_eq!(verdict.results()[0].decision().remaining, 100); // the other limit was not charged
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
    pub(crate) names: Mutex<HashMap<Arc<str>, LimitFamily>>,
    pub(crate) book: Mutex<ReservationTable>,
    pub(crate) permits: Permits,
    pub(crate) adaptive: Adaptive,
    pub(crate) timers: Timers,
    pub(crate) turns: Turns,
    pub(crate) queues: LeakyQueues,
    #[cfg(feature = "redis")]
    pub(crate) shared: Option<crate::remote::RemoteStore>,
}

/// What all limits of one name have in common.
#[derive(Debug, Default)]
pub(crate) struct LimitFamily {
    pub(crate) space: u64,
    pub(crate) voided: Arc<Voided<u64>>,
    pub(crate) owing: Arc<AtomicU64>,
    #[cfg(feature = "redis")]
    pub(crate) resets: Arc<Resets>,
}

impl Inner {
    /// Writes a limit down under its name, to be counted here.
    pub(crate) fn registered(&self, name: &str, limit: Limit) -> LimitInner {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let space = names.len() as u64;
        let entry = names.entry(name.into());
        let shared_name = entry.key().clone();
        let known = entry.or_insert_with(|| LimitFamily { space, ..LimitFamily::default() });
        LimitInner {
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
    /// Creates a limiter with a memory budget of 256 MiB and the [fastest clock](Clock::fastest) of this host.
    ///
    /// # Errors
    /// If the system has no memory or no randomness.
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// Creates a limiter with other settings.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Creates a named limit. All limits with this name share their keys: see [`NamedLimit`].
    ///
    /// With a [shared store](Builder::store), the limit is counted there, and by this process alone while the store makes no decision: see
    /// [`shared_limit`](Self::shared_limit) and [`local_limit`](Self::local_limit).
    #[must_use]
    pub fn limit(&self, name: &str, limit: Limit) -> NamedLimit {
        #[cfg(feature = "redis")]
        if self.0.shared.is_some() {
            return self.shared_limit(name, limit, crate::FailureRule::Local { share: 1, of: 1 });
        }
        self.local_limit(name, limit)
    }

    /// Creates a limit that this process counts alone, even if there is a shared store.
    #[must_use]
    pub fn local_limit(&self, name: &str, limit: Limit) -> NamedLimit {
        NamedLimit(Arc::new(self.0.registered(name, limit)), self.clone())
    }

    /// The current wall-clock time of the limiter's clock, consistent with its decisions: for example, for the instant of a reset.
    #[must_use]
    pub fn now(&self) -> Micros {
        self.calendar(self.0.clock.now())
    }

    /// Converts an instant of the limiter's clock, such as that of a [decision](crate::Decision::at), to wall-clock time.
    #[must_use]
    pub fn calendar(&self, at: Micros) -> Micros {
        let ahead = self.0.memory.calendar_ahead(&self.0.clock, at);
        Micros::new(at.get().saturating_add_signed(ahead))
    }

    /// Statistics of the store.
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

/// One line: its statistics, and whether it has a shared store.
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

/// Statistics of a store: see [`Limiter::stats`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// How many bytes the store takes, and the counts of [concurrency limits](crate::ConcurrencyLimit).
    pub bytes: usize,
    /// Bytes that states can fill: the [memory budget](crate::Builder::max_memory) without the reserves for resizing and for overflow
    /// buckets. A full store uses at least nine tenths of it.
    pub bytes_max: usize,
    /// Slots in use, including drained keys that have not been evicted yet.
    pub slots_used: u64,
    /// Hits decided by an overflow bucket because there was no room for their key.
    pub overflowed: u64,
    /// The source of the limiter's clock.
    pub clock: ClockSource,
}
