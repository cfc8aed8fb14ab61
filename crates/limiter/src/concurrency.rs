//! Concurrency limits: how many requests of a key may be in progress at once. `store/memory/in_flight.rs` counts them.

mod acquire;
mod error;
mod hold_time;
mod permit;
#[cfg(feature = "redis")]
mod shared;

pub use acquire::Acquire;
pub use error::{AcquireError, Busy};
pub use permit::Permit;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::Priority;

use crate::hash::KeyHash;
use crate::key::AsKey;
use crate::limiter::{KEY_BYTES_MAX, Limiter};
use crate::store::memory::in_flight::{
    COUNT_MAX, InFlight, Overflow, PermitCounts, PermitLocation, PermitMode,
};
use crate::store::memory::in_line::{PermitCounters, PermitQueue};
use crate::store::memory::lanes::NO_MEMBER;
use crate::sync::{AtomicU64, Ordering};
use hold_time::HoldTime;

/// The highest concurrency limit, about 16 million; a higher one counts as this.
pub const CONCURRENCY_MAX: u32 = COUNT_MAX;

/// A table of permits begins with so many lines: 16 KiB.
const HOMES_MIN: usize = 256;
/// The names of concurrency limits are numbered apart from those of rates, so that the same key under both is two keys.
const NAMES_FROM: u64 = 1 << 63;

/// How many requests of a key may be in progress at once, made by [`Limiter::concurrency`]. Cheap to clone; clones share the limit.
///
/// A request acquires a [`Permit`] before its work, and the permit is released when it is dropped: at the end of the work, or when that
/// fails, panics or is cancelled.
///
/// ```
/// use tollgate::Limiter;
/// let limiter = Limiter::new()?;
/// let reports = limiter.concurrency("reports", 2);
/// let first = reports.try_acquire("ada")?;
/// let _second = reports.try_acquire("ada")?;
/// assert!(reports.try_acquire("ada").is_err()); // two are in progress
/// assert!(reports.try_acquire("bob").is_ok()); // Bob has a count of his own
/// drop(first);
/// assert!(reports.try_acquire("ada").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Two concurrency limits of one name count the same permits, each against its own limit. So a tier can have a higher limit, and a new
/// configuration takes over what is in flight.
///
/// When the store is [full](crate::Builder::max_memory), new keys of a limit share one count: a key may then be refused for what others
/// hold, and never has more permits than the limit.
#[derive(Clone)]
pub struct ConcurrencyLimit(pub(crate) Arc<Inner>);

/// What the clones of a concurrency limit share.
pub(crate) struct Inner {
    limiter: Limiter,
    family: Arc<ConcurrencyFamily>,
    limit: Arc<AtomicU64>,
    max_hold: Option<Micros>,
    #[cfg(feature = "redis")]
    shared: Option<shared::SharedPermits>,
}

/// What all concurrency limits of one name share.
#[derive(Debug)]
struct ConcurrencyFamily {
    name: Arc<str>,
    hash: KeyHash,
    overflow: Overflow,
    hold_time: HoldTime,
    line: PermitQueue,
    /// Permits in flight of all keys, for metrics.
    in_flight: AtomicU64,
}

/// The permits of a limiter. The table is made with the first concurrency limit.
#[derive(Debug, Default)]
pub(crate) struct Permits {
    /// `None` if there was no memory: then all keys of a limit share one count.
    table: OnceLock<Option<InFlight>>,
    families: Mutex<HashMap<Arc<str>, Arc<ConcurrencyFamily>>>,
}

impl Limiter {
    /// A limit on how many requests of a key may be in progress at once. It is counted in this process.
    ///
    /// The counts of all concurrency limits take at most an eighth of the [budget](crate::Builder::max_memory).
    #[must_use]
    pub fn concurrency(&self, name: &str, limit: u32) -> ConcurrencyLimit {
        let permits = &self.0.permits;
        permits.table.get_or_init(|| InFlight::new(HOMES_MIN, self.0.memory.reserve_for_permits()));
        let mut families = permits.families.lock().unwrap_or_else(PoisonError::into_inner);
        let number = NAMES_FROM | families.len() as u64;
        let family = families.entry(name.into()).or_insert_with_key(|name| {
            let hash = self.0.hashing.of_name(number);
            let (overflow, hold_time, line, in_flight) = Default::default();
            Arc::new(ConcurrencyFamily { name: Arc::clone(name), hash, overflow, hold_time, line, in_flight })
        });
        let (limiter, family) = (self.clone(), Arc::clone(family));
        let limit = Arc::new(AtomicU64::new(limit.into()));
        ConcurrencyLimit(Arc::new(Inner {
            limiter,
            family,
            limit,
            max_hold: None,
            #[cfg(feature = "redis")]
            shared: None,
        }))
    }
}

impl ConcurrencyLimit {
    /// The same limit whose permits [expire](Permit::expires_at) after this time, with a limit of its own from now on.
    #[must_use]
    pub fn with_max_hold(self, max_hold: Duration) -> Self {
        let (limiter, family) = (self.0.limiter.clone(), Arc::clone(&self.0.family));
        let limit = Arc::new(AtomicU64::new(self.limit().into()));
        let inner = Inner {
            limiter,
            family,
            limit,
            max_hold: Some(Micros::from_duration(max_hold)),
            #[cfg(feature = "redis")]
            shared: self.0.shared.clone(),
        };
        Self(Arc::new(inner))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.family.name
    }

    /// How many permits a key may have.
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.0.limit()
    }

    /// Changes how many permits a key may have. A higher limit admits more at once, first of all those who wait. Under a lower one, permits
    /// in flight stay, and new ones are refused until the key has fewer than the limit.
    pub fn set_limit(&self, limit: u32) {
        let before = self.0.limit.swap(limit.into(), Ordering::AcqRel);
        if u64::from(limit) > before
            && let Some(books) = self.0.books()
        {
            self.0.family.line.pass_on_all(books);
        }
    }

    /// How long a permit may be held, if that is bounded.
    #[must_use]
    pub fn max_hold(&self) -> Option<Duration> {
        self.0.max_hold.map(Duration::from)
    }

    /// Acquires a permit, and waits for it if the key has as many as the limit: first come, first served for each key. Dropping the
    /// future leaves the line, and delays nobody.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use tollgate::Limiter;
    /// let reports = Limiter::new()?.concurrency("reports", 2);
    /// let permit = reports.acquire("ada").within(Duration::from_secs(5)).await?;
    /// // ... make the report ...
    /// drop(permit);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`Acquire`].
    #[must_use = "it does nothing unless it is awaited"]
    pub fn acquire(&self, key: impl AsKey) -> Acquire {
        #[cfg(feature = "redis")]
        if self.is_shared() {
            return Acquire::of_shared(self.clone(), key.key_bytes().as_ref());
        }
        Acquire::new(self.clone(), self.0.id(key.key_bytes().as_ref()))
    }

    /// Acquires a permit if the key has fewer than the limit, and nobody waits for one. A key is any value of a common type, as for
    /// [`NamedLimit::check`](crate::NamedLimit::check).
    ///
    /// # Errors
    /// [`AcquireError::Busy`] if it has as many as the limit already, and [`AcquireError::KeyTooLong`]. Of a shared limit, also
    /// [`AcquireError::Unavailable`] and [`AcquireError::WouldBlock`].
    pub fn try_acquire(&self, key: impl AsKey) -> Result<Permit, AcquireError> {
        #[cfg(feature = "redis")]
        if self.is_shared() {
            return self.try_acquire_shared(key.key_bytes().as_ref());
        }
        self.0.take(key.key_bytes().as_ref(), PermitMode::Enforced, self)
    }

    /// Like [`try_acquire`](Self::try_acquire), for a request of a priority: lower ones are refused while the key has fewer than the
    /// limit, so that there is room for higher ones.
    ///
    /// # Errors
    /// Like `try_acquire`.
    pub fn try_acquire_with(&self, key: impl AsKey, priority: Priority) -> Result<Permit, AcquireError> {
        let id = self.0.id(key.key_bytes().as_ref())?;
        let most = priority.share(self.limit());
        let taken = match self.0.table() {
            Some(table) => table.take(id, PermitMode::Enforced, most, &self.0.family.overflow),
            None => self.0.family.overflow.take(PermitMode::Enforced, most),
        };
        match taken {
            Ok(granted) => Ok(self.0.permit(id, PermitMode::Enforced, granted, self)),
            Err(in_flight) => Err(AcquireError::Busy(self.0.busy(id, in_flight))),
        }
    }

    /// Acquires a permit that is counted and never refused, to see what a limit would do: [`Permit::exceeds_limit`] says whether it would
    /// have refused. These permits have a count of their own.
    ///
    /// # Errors
    /// [`AcquireError::KeyTooLong`].
    pub fn try_acquire_shadow(&self, key: impl AsKey) -> Result<Permit, AcquireError> {
        self.0.take(key.key_bytes().as_ref(), PermitMode::Shadow, self)
    }

    /// How many permits a key has; of a shared limit, those of the other processes as they were when the store was asked last. 0 for a key
    /// that is too long to have any. While the store is full, keys without room of their own are
    /// not told apart and have 0 here.
    #[must_use]
    pub fn in_flight(&self, key: impl AsKey) -> u32 {
        #[cfg(feature = "redis")]
        if let Some((used, others)) = self.shared_in_use(key.key_bytes().as_ref()) {
            return used.saturating_add(others);
        }
        self.0.counts(key.key_bytes().as_ref()).enforced
    }

    /// How many wait for a permit of a key in this process.
    #[must_use]
    pub fn waiting(&self, key: impl AsKey) -> u32 {
        #[cfg(feature = "redis")]
        if let Some(waiting) = self.shared_waiting(key.key_bytes().as_ref()) {
            return u32::try_from(waiting).unwrap_or(u32::MAX);
        }
        self.0.id(key.key_bytes().as_ref()).map_or(0, |id| self.0.family.line.length(id))
    }

    /// How many permits all keys of this name have.
    #[must_use]
    pub fn total_in_flight(&self) -> u64 {
        self.0.family.in_flight.load(Ordering::Relaxed)
    }

    /// How many wait for permits of this name.
    #[must_use]
    pub fn total_waiting(&self) -> u64 {
        self.0.family.line.waiting()
    }

    /// How many [shadow permits](Self::try_acquire_shadow) a key has.
    #[must_use]
    pub fn in_flight_shadow(&self, key: impl AsKey) -> u32 {
        self.0.counts(key.key_bytes().as_ref()).shadow
    }

    /// How long permits of this name are held, as an average over the latest ones; zero before the first was released.
    #[must_use]
    pub fn average_hold(&self) -> Duration {
        self.0.family.hold_time.average().into()
    }
}

impl Inner {
    fn limit(&self) -> u32 {
        u32::try_from(self.limit.load(Ordering::Acquire)).unwrap_or(CONCURRENCY_MAX).min(CONCURRENCY_MAX)
    }

    fn table(&self) -> Option<&InFlight> {
        self.limiter.0.permits.table.get()?.as_ref()
    }

    fn counts(&self, key: &[u8]) -> PermitCounts {
        self.table()
            .map_or_else(PermitCounts::default, |table| table.counts(table.id(self.family.hash.of(key))))
    }

    fn books(&self) -> Option<PermitCounters<'_>> {
        Some(PermitCounters { table: self.table()?, overflow: &self.family.overflow })
    }

    /// The key's number.
    fn id(&self, key: &[u8]) -> Result<u64, AcquireError> {
        if key.len() > KEY_BYTES_MAX {
            return Err(AcquireError::KeyTooLong { limit: self.family.name.to_string(), bytes: key.len() });
        }
        Ok(self.table().map_or(0, |table| table.id(self.family.hash.of(key))))
    }

    /// The number of a member of some key. None is that of no member.
    fn member(&self, member: &[u8]) -> u64 {
        self.family.hash.of(member).max(NO_MEMBER + 1)
    }

    fn take(&self, key: &[u8], wish: PermitMode, limit: &ConcurrencyLimit) -> Result<Permit, AcquireError> {
        self.take_by_id(self.id(key)?, wish, limit).map_err(AcquireError::Busy)
    }

    fn take_by_id(&self, id: u64, wish: PermitMode, limit: &ConcurrencyLimit) -> Result<Permit, Busy> {
        let taken = match self.table() {
            Some(table) => table.take(id, wish, self.limit(), &self.family.overflow),
            None => self.family.overflow.take(wish, self.limit()),
        };
        match taken {
            Ok(granted) => Ok(self.permit(id, wish, granted, limit)),
            Err(in_flight) => Err(self.busy(id, in_flight)),
        }
    }

    fn permit(
        &self,
        id: u64,
        wish: PermitMode,
        granted: (PermitLocation, u32),
        limit: &ConcurrencyLimit,
    ) -> Permit {
        let ((counted, before), since) = (granted, self.limiter.0.clock.now());
        if wish == PermitMode::Enforced {
            self.family.in_flight.fetch_add(1, Ordering::Relaxed);
        }
        Permit::new(limit.clone(), id, (wish, counted), since, (before, self.limit()))
    }

    /// A permit that is counted elsewhere.
    #[cfg(feature = "redis")]
    fn permit_of(&self, (id, before): (u64, u32), limit: &ConcurrencyLimit) -> Permit {
        self.permit(id, PermitMode::Enforced, (PermitLocation::Slot, before), limit)
    }

    /// A permit of this process, if it has fewer than so many.
    #[cfg(feature = "redis")]
    fn take_local_part(&self, id: u64, most: u32, limit: &ConcurrencyLimit) -> Result<Permit, Busy> {
        let taken = match self.table() {
            Some(table) => table.take(id, PermitMode::Enforced, most, &self.family.overflow),
            None => self.family.overflow.take(PermitMode::Enforced, most),
        };
        match taken {
            Ok(granted) => Ok(self.permit(id, PermitMode::Enforced, granted, limit)),
            Err(in_flight) => Err(self.busy(id, in_flight)),
        }
    }

    /// Why a key gets no permit.
    fn busy(&self, id: u64, in_flight: u32) -> Busy {
        let (limit, waiting) = (self.limit(), self.family.line.length(id));
        let estimated_wait = self.family.hold_time.estimated_wait(waiting.into(), limit);
        Busy { name: Arc::clone(&self.family.name), limit, in_flight, estimated_wait }
    }

    fn note_end(&self, wish: PermitMode, since: Micros) {
        self.family.hold_time.note(self.limiter.0.clock.now().saturating_sub(since));
        if wish == PermitMode::Enforced {
            self.family.in_flight.fetch_add(u64::MAX, Ordering::Relaxed);
        }
    }

    /// Releases a permit. Called once for each, when it is dropped.
    fn release(&self, id: u64, (wish, counted): (PermitMode, PermitLocation), since: Micros) {
        self.note_end(wish, since);
        let Some(books) = self.books() else { return self.family.overflow.give_back(wish) };
        if !books.table.give_back(id, wish, counted, books.overflow) {
            self.family.line.pass_on(books, id);
        } else if counted == PermitLocation::Overflow {
            self.family.line.pass_on_all(books);
        }
    }
}

impl Permits {
    /// What the counts take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.table.get().and_then(Option::as_ref).map_or(0, InFlight::bytes)
    }
}

impl fmt::Debug for ConcurrencyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConcurrencyLimit({:?}, {})", self.name(), self.limit())
    }
}
