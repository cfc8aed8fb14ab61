//! Tracks which receipts are void, per key, in bounded memory.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::PoisonError;

use crate::sync::{AtomicU64, Mutex, Ordering};

/// Keys of one generation. Two generations are kept, so that at least this many keys are known one by one.
const KEYS_MAX: usize = 1024;

/// Up to which stamp the receipts of each key are void. A stamp never decreases: an instant of the clock, or a count of
/// resets.
///
/// The latest [`KEYS_MAX`] keys are told apart. Older ones are folded into one stamp for all keys: a receipt that is as old as
/// theirs is void, whichever key it is of. So a receipt may be void too early, and never too late.
pub(crate) struct Voided<K> {
    /// Receipts of any key with a stamp below this are void.
    all: AtomicU64,
    /// No receipt with this stamp or a later one is void: most are accepted without the lock.
    latest: AtomicU64,
    keys: Mutex<Generations<K>>,
}

#[derive(Debug)]
struct Generations<K> {
    recent: HashMap<K, u64>,
    older: HashMap<K, u64>,
}

impl<K> Default for Voided<K> {
    fn default() -> Self {
        let keys = Generations { recent: HashMap::new(), older: HashMap::new() };
        Self { all: AtomicU64::new(0), latest: AtomicU64::new(0), keys: Mutex::new(keys) }
    }
}

impl<K: Hash + Eq> Voided<K> {
    /// Makes receipts of a key with a stamp below `until` void.
    pub(crate) fn note(&self, key: K, until: u64) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if keys.recent.len() >= KEYS_MAX && !keys.recent.contains_key(&key) {
            let forgotten = std::mem::take(&mut keys.older);
            self.all.fetch_max(forgotten.into_values().max().unwrap_or(0), Ordering::AcqRel);
            keys.older = std::mem::take(&mut keys.recent);
        }
        let known = keys.recent.entry(key).or_insert(until);
        *known = until.max(*known);
        self.latest.fetch_max(until, Ordering::AcqRel);
    }

    /// Receipts of this key with a stamp below this are void.
    pub(crate) fn until(&self, key: &K) -> u64 {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let of_key = [keys.recent.get(key), keys.older.get(key)].into_iter().flatten().max();
        self.all.load(Ordering::Acquire).max(of_key.copied().unwrap_or(0))
    }

    /// Whether a receipt of this key with this stamp is void.
    pub(crate) fn is_void(&self, key: &K, stamp: u64) -> bool {
        stamp < self.latest.load(Ordering::Acquire) && stamp < self.until(key)
    }
}

impl<K> fmt::Debug for Voided<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Voided(..)")
    }
}

/// Resets of keys in the shared store: a receipt is stamped with how many there were before its charge was asked for.
#[cfg(feature = "redis")]
#[derive(Debug, Default)]
pub(crate) struct Resets {
    count: AtomicU64,
    voided: Voided<tollgate_redis::Name>,
}

#[cfg(feature = "redis")]
impl Resets {
    /// The stamp of a charge that is about to be asked for.
    pub(crate) fn stamp(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Makes receipts of all charges to a key that were stamped before this void.
    pub(crate) fn note(&self, name: tollgate_redis::Name) {
        let count = self.count.fetch_add(1, Ordering::AcqRel);
        self.voided.note(name, count.saturating_add(1));
    }

    /// Whether a receipt with this stamp is void.
    pub(crate) fn is_void(&self, name: &tollgate_redis::Name, stamp: u64) -> bool {
        self.voided.is_void(name, stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::{KEYS_MAX, Voided};

    #[test]
    fn the_receipts_of_one_key_are_void_and_no_others() {
        let voided = Voided::default();
        voided.note("ada", 5);
        voided.note("ada", 3);
        assert!(voided.is_void(&"ada", 4) && !voided.is_void(&"ada", 5), "the later stamp holds");
        assert!(!voided.is_void(&"grace", 0));
    }

    #[test]
    fn keys_beyond_the_bound_are_void_together() {
        let voided = Voided::default();
        let count = u64::try_from(3 * KEYS_MAX).unwrap();
        (0..count).for_each(|key| voided.note(key, key + 1));
        let latest = count - u64::try_from(KEYS_MAX).unwrap();
        assert!((0..count).all(|key| voided.is_void(&key, key)), "none is forgotten");
        assert!((latest..count).all(|key| !voided.is_void(&key, key + 1)), "the latest are told apart");
        assert!(!voided.is_void(&u64::MAX, latest), "and others are not void for them");
        assert!(voided.is_void(&u64::MAX, 0), "but for the oldest");
        let keys = voided.keys.lock().unwrap();
        assert!(keys.recent.len() + keys.older.len() <= 2 * KEYS_MAX);
    }
}
