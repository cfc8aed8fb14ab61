//! Random jitter for `Retry-After`, so that clients that were refused together do not return together.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_algorithms::Micros;

fn hasher() -> &'static RandomState {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    HASHER.get_or_init(RandomState::new)
}

/// Lengthens a wait by up to `jitter`; never shortens it.
pub(crate) fn lengthen(wait: Micros, jitter: Micros) -> Micros {
    static THROWS: AtomicU64 = AtomicU64::new(0);
    if jitter == Micros::ZERO {
        return wait;
    }
    let throw = hasher().hash_one(THROWS.fetch_add(1, Ordering::Relaxed));
    let more = throw.checked_rem(jitter.get().saturating_add(1)).unwrap_or(0);
    wait.saturating_add(Micros::new(more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_made_longer_by_at_most_the_jitter_and_not_always_by_the_same() {
        let (wait, jitter) = (Micros::from_secs(10), Micros::from_secs(5));
        let waits: std::collections::HashSet<_> = (0..1_000).map(|_| lengthen(wait, jitter)).collect();
        assert!(waits.iter().all(|later| (wait..=wait.saturating_add(jitter)).contains(later)));
        assert!(waits.len() > 900, "{} different waits", waits.len());
        assert_eq!(lengthen(wait, Micros::ZERO), wait);
        assert_eq!(lengthen(Micros::new(u64::MAX), Micros::new(u64::MAX)), Micros::new(u64::MAX));
    }
}
