//! Adaptive limits for each of several keys, such as operations: each has a count and a state machine of its own.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::{AdaptiveConfig, AdaptiveLimit};

use super::{AdaptiveConcurrency, One};
use crate::key::AsKey;
use crate::limiter::Limiter;

/// Maximum number of keys of one adaptive limit. Beyond it, keys that were not used for ten seconds are forgotten, and start again
/// when they return; while there are none, new keys share one limit.
pub const ADAPTIVE_KEYS_MAX: usize = 4_096;

/// A key that was not used for so long may be forgotten.
const UNUSED: Micros = Micros::from_secs(10);
/// Unused keys are looked for at most this often, so that a flood of keys does not make every request slow.
const SWEEP: Micros = Micros::SECOND;

/// Adaptive limits by key, made by [`Limiter::adaptive_by_key`]. Cheap to clone; clones share everything.
///
/// ```
/// use tollgate::Limiter;
/// use tollgate::adaptive::AdaptiveConfig;
/// let shards = Limiter::new()?.adaptive_by_key("shards", AdaptiveConfig::default());
/// let permit = shards.of("shard 7").try_acquire()?;
/// assert_eq!((shards.keys(), shards.in_flight()), (1, 1));
/// # drop(permit);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct AdaptiveByKey(Arc<Shared>);

/// What the clones share.
struct Shared {
    name: Arc<str>,
    config: AdaptiveConfig,
    limiter: Limiter,
    keys: RwLock<HashMap<Box<[u8]>, AdaptiveConcurrency>>,
    /// For keys that have no room.
    rest: AdaptiveConcurrency,
    swept: AtomicU64,
}

/// The adaptive limits of a limiter that are in use, by name and configuration.
#[derive(Default)]
pub(crate) struct Adaptive(Mutex<Known>);

type Known = HashMap<(Arc<str>, AdaptiveConfig), Weak<Shared>>;

impl Limiter {
    /// Limits on how many requests of a key may be in progress at once, each of which follows what the service of its key can do.
    ///
    /// Limits of one name and one configuration are one limit.
    #[must_use]
    pub fn adaptive_by_key(&self, name: &str, config: AdaptiveConfig) -> AdaptiveByKey {
        // Each process probes at other times.
        let config = config.with_seed(self.0.hashing.of_name(0).of(name.as_bytes()));
        let mut known = self.0.adaptive.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name: Arc<str> = name.into();
        let place = (Arc::clone(&name), config);
        if let Some(shared) = known.get(&place).and_then(Weak::upgrade) {
            return AdaptiveByKey(shared);
        }
        known.retain(|_, shared| shared.strong_count() > 0);
        let rest = new_key(self, (&name, config), b"\0");
        let (keys, swept) = Default::default();
        let shared = Arc::new(Shared { name, config, limiter: self.clone(), keys, rest, swept });
        known.insert(place, Arc::downgrade(&shared));
        AdaptiveByKey(shared)
    }
}

fn new_key(limiter: &Limiter, (name, config): (&str, AdaptiveConfig), key: &[u8]) -> AdaptiveConcurrency {
    let machine = AdaptiveLimit::new(config);
    let permits = limiter.concurrency(name, machine.limit());
    let (machine, used) = (Mutex::new(machine), AtomicU64::new(limiter.clock_now().get()));
    AdaptiveConcurrency(Arc::new(One { key: key.into(), permits, machine, limiter: limiter.clone(), used }))
}

impl AdaptiveByKey {
    /// Their name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The limit of a key.
    #[must_use]
    pub fn of(&self, key: impl AsKey) -> AdaptiveConcurrency {
        let key = key.key_bytes();
        let key = key.as_ref();
        let keys = self.0.keys.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = keys.get(key) {
            return found.clone();
        }
        drop(keys);
        self.add(key)
    }

    fn add(&self, key: &[u8]) -> AdaptiveConcurrency {
        let Shared { name, config, limiter, .. } = &*self.0;
        let mut keys = self.0.keys.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = keys.get(key) {
            return found.clone();
        }
        if keys.len() >= ADAPTIVE_KEYS_MAX {
            self.sweep(&mut keys);
        }
        if keys.len() >= ADAPTIVE_KEYS_MAX {
            return self.0.rest.clone();
        }
        let one = new_key(limiter, (name, *config), key);
        keys.insert(key.into(), one.clone());
        one
    }

    /// Forgets unused keys.
    fn sweep(&self, keys: &mut HashMap<Box<[u8]>, AdaptiveConcurrency>) {
        let now = self.0.limiter.clock_now().get();
        let swept = self.0.swept.load(Ordering::Relaxed);
        if swept > 0 && now.saturating_sub(swept) < SWEEP.get() {
            return;
        }
        self.0.swept.store(now, Ordering::Relaxed);
        // Whoever holds a clone may be about to acquire a permit, or holds one.
        keys.retain(|_, one| {
            let is_new = now.saturating_sub(one.0.used.load(Ordering::Relaxed)) < UNUSED.get();
            is_new || Arc::strong_count(&one.0) > 1
        });
    }

    /// How many keys have a limit of their own.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.0.keys.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// How many requests of all keys are in progress.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.sum(|one| one.in_flight().into())
    }

    /// The sum of the limits of all keys.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.sum(|one| one.limit().into())
    }

    /// The limits of the keys that have one of their own.
    #[must_use]
    pub fn limits(&self) -> Vec<AdaptiveConcurrency> {
        self.0.keys.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn sum(&self, of: impl Fn(&AdaptiveConcurrency) -> u64) -> u64 {
        self.limits().iter().map(&of).fold(0, u64::saturating_add)
    }
}

impl fmt::Debug for AdaptiveByKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdaptiveByKey({:?}, {} keys)", self.name(), self.keys())
    }
}

impl fmt::Debug for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "Adaptive({})", known.len())
    }
}
