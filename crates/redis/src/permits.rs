//! Permits that several processes share: this process's part of them. What it may use is decided by `tollgate_algorithms::permits`.

mod driver;
mod entry;
mod held;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tollgate_algorithms::Micros;

use crate::{KeyName, Name, Naming, StateKind, Store, boot_clock};
use entry::{Entry, Outbox};
pub use held::{Held, Validity};

/// How long the permits of a process stay its own after it was heard of last: a process that crashes blocks its permits for this long.
pub const LEASE: Duration = Duration::from_secs(2);

/// The most requests that wait for a permit of one key in this process. A further one is refused.
pub const WAITERS_MAX: usize = 1 << 16;

/// The permits that this process has of keys in a store. Cheap to clone; clones are one process.
#[derive(Clone)]
pub struct PermitPool(Arc<Pool>);

/// One key, with its limit.
#[derive(Clone, Copy, Debug)]
pub struct PermitKey {
    /// The limit and the key.
    pub name: Name,
    /// The [marker](PermitKey::marker_of) of its namespace.
    pub marker: KeyName,
    /// How many permits it has.
    pub limit: u32,
}

/// Why there is no permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denied {
    /// All are in use. As far as is known, so many are, in all processes.
    Busy(u32),
    /// The store did not answer, for this cause. Whoever was to wait does not wait for it.
    Unavailable(&'static str),
}

/// Whether a request waits for a permit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// It asks once.
    None,
    /// It waits until it is dropped.
    Waits,
}

pub(crate) struct Pool {
    store: Store,
    id: u128,
    lease: Micros,
    seq: AtomicU64,
    state: Mutex<State>,
    changed: Arc<Notify>,
    calls: AtomicU64,
}

/// What the lock protects.
#[derive(Default)]
struct State {
    keys: HashMap<Name, Entry>,
    /// When each key is to be asked about next.
    due: BTreeSet<(Micros, Name)>,
    /// Markers that have not been written yet.
    markers: Vec<KeyName>,
}

impl PermitKey {
    /// The key that says since when there are data in a namespace. It never expires.
    #[must_use]
    pub fn marker_of(naming: &Naming) -> KeyName {
        naming.name("\0permits", b"").of(StateKind::Marker)
    }
}

impl PermitPool {
    /// A pool of this process, as a holder with this number, which nobody else may have or guess.
    #[must_use]
    pub fn new(store: &Store, id: u128) -> Self {
        Self::with_lease(store, id, LEASE)
    }

    /// The same with another lease than [`LEASE`], from 100 ms to an hour: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_lease(store: &Store, id: u128, lease: Duration) -> Self {
        let lease = Micros::from_duration(lease).clamp(Micros::from_millis(100), Micros::HOUR);
        let (seq, calls, state) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
        let changed = Arc::new(Notify::new());
        let pool = Arc::new(Pool { store: store.clone(), id, lease, seq, state, changed, calls });
        let running = driver::run(Arc::downgrade(&pool), Arc::clone(&pool.changed));
        drop(store.spawn(running));
        Self(pool)
    }

    /// Announces that keys of a namespace will be asked about: while it has no marker, which may mean that data were lost, nothing is granted
    /// for one lease.
    pub fn expect(&self, marker: KeyName) {
        let mut state = self.0.lock();
        if !state.markers.contains(&marker) {
            state.markers.push(marker);
        }
        drop(state);
        self.0.changed.notify_one();
    }

    /// A permit that this process has at hand, without a call.
    #[must_use]
    pub fn try_take(&self, key: &PermitKey, fails_open: bool) -> Option<Held> {
        let (mut state, now) = (self.0.lock(), boot_clock::now());
        let entry = state.keys.get_mut(&key.name)?;
        entry.take_if_nobody_waits(&self.0, (key, fails_open), now)
    }

    /// A permit: one that is at hand, or one that the store grants. Dropping the future leaves the line.
    ///
    /// # Errors
    /// See [`Denied`].
    pub async fn acquire(
        &self,
        key: &PermitKey,
        fails_open: bool,
        patience: Patience,
    ) -> Result<Held, Denied> {
        let receiver = match self.0.begin(key, fails_open, patience) {
            Ok(held) => return Ok(held),
            Err(Begun::Denied(denied)) => return Err(denied),
            Err(Begun::Waits(receiver)) => receiver,
        };
        // The sender is dropped only with the pool, which this future holds.
        receiver.await.unwrap_or(Err(Denied::Unavailable("closed")))
    }

    /// How many requests of this process wait for a permit of a key.
    #[must_use]
    pub fn waiting(&self, name: &Name) -> usize {
        self.0.lock().keys.get(name).map_or(0, Entry::waiting)
    }

    /// How many permits of a key are in use: in this process, and in the others as far as is known.
    #[must_use]
    pub fn in_use(&self, name: &Name) -> (u32, u32) {
        self.0.lock().keys.get(name).map_or((0, 0), |entry| (entry.used(), entry.others()))
    }

    /// How many calls were sent.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }
}

/// What came of a request that has no permit at once.
enum Begun {
    Denied(Denied),
    Waits(oneshot::Receiver<Result<Held, Denied>>),
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(self: &Arc<Self>, key: &PermitKey, fails_open: bool, patience: Patience) -> Result<Held, Begun> {
        let mut state = self.lock();
        let now = boot_clock::now();
        let entry = state.keys.entry(key.name).or_insert_with(|| Entry::new(key.marker));
        if let Some(held) = entry.take_if_nobody_waits(self, (key, fails_open), now) {
            return Ok(held);
        }
        let refused = key.limit == 0
            || entry.waiting() >= WAITERS_MAX
            || (patience == Patience::None && !entry.may_ask(now));
        if refused {
            let denied = Denied::Busy(entry.used().saturating_add(entry.others()));
            self.rearm(&mut state, key.name);
            return Err(Begun::Denied(denied));
        }
        let receiver = entry.join(fails_open, patience);
        self.rearm(&mut state, key.name);
        Err(Begun::Waits(receiver))
    }

    /// A permit is given back: to the first in line, or to be used later.
    fn give_back(self: &Arc<Self>, name: Name, term: u64, since: Micros) {
        let mut outbox = Outbox::default();
        let mut state = self.lock();
        if let Some(entry) = state.keys.get_mut(&name) {
            let now = boot_clock::now();
            entry.give_back(term, now, now.saturating_sub(since));
            entry.hand_out(self, name, now, &mut outbox);
        }
        self.rearm(&mut state, name);
        drop(state);
        outbox.send();
    }

    /// Notes when a key is to be asked about next, and forgets one that is over.
    fn rearm(&self, state: &mut State, name: Name) {
        let Some(entry) = state.keys.get_mut(&name) else { return };
        if let Some(due) = entry.due.take() {
            state.due.remove(&(due, name));
        }
        if entry.is_over() {
            state.keys.remove(&name);
            return;
        }
        let Some(due) = entry.next_due() else { return };
        entry.due = Some(due);
        let is_first = state.due.first().is_none_or(|(first, _)| due < *first);
        state.due.insert((due, name));
        if is_first {
            self.changed.notify_one();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.changed.notify_one();
    }
}

impl fmt::Debug for PermitPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermitPool").field("keys", &self.0.lock().keys.len()).finish_non_exhaustive()
    }
}
