//! What only this process knows: a key for hashes of identities, and dice for delays. Nothing that has to be unguessable for long.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_algorithms::Micros;

/// Made once, so that a client's partition key stays the same when a policy is loaded again.
fn secret() -> &'static RandomState {
    static SECRET: OnceLock<RandomState> = OnceLock::new();
    SECRET.get_or_init(RandomState::new)
}

/// Whose budget it is, as a keyed hash: the same for the same budget, and of no use to anybody who wants to know whose.
pub(crate) fn partition(limit: &str, key: &[u8]) -> u64 {
    let mut hasher = secret().build_hasher();
    hasher.write_usize(limit.len());
    hasher.write(limit.as_bytes());
    hasher.write(key);
    hasher.finish()
}

/// A wait that is longer by up to `jitter`, never shorter.
pub(crate) fn later(wait: Micros, jitter: Micros) -> Micros {
    static THROWS: AtomicU64 = AtomicU64::new(0);
    if jitter == Micros::ZERO {
        return wait;
    }
    let throw = secret().hash_one(THROWS.fetch_add(1, Ordering::Relaxed));
    let more = throw.checked_rem(jitter.get().saturating_add(1)).unwrap_or(0);
    wait.saturating_add(Micros::new(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_made_longer_by_at_most_the_jitter_and_not_always_by_the_same() {
        let (wait, jitter) = (Micros::from_secs(10), Micros::from_secs(5));
        let waits: std::collections::HashSet<_> = (0..1_000).map(|_| later(wait, jitter)).collect();
        assert!(waits.iter().all(|later| (wait..=wait.saturating_add(jitter)).contains(later)));
        assert!(waits.len() > 900, "{} different waits", waits.len());
        assert_eq!(later(wait, Micros::ZERO), wait);
        assert_eq!(later(Micros::new(u64::MAX), Micros::new(u64::MAX)), Micros::new(u64::MAX));
    }

    #[test]
    fn a_partition_is_told_by_limit_and_key() {
        assert_eq!(partition("a", b"key"), partition("a", b"key"));
        let all = [("a", "key"), ("b", "key"), ("a", "kex"), ("ak", "ey")];
        let different: std::collections::HashSet<_> =
            all.iter().map(|(limit, key)| partition(limit, key.as_bytes())).collect();
        assert_eq!(different.len(), all.len());
    }
}
