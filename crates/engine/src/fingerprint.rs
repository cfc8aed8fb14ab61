//! Fingerprints of keys: equal for equal keys while the process runs, and not reversible.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Created once per process, so that a key's fingerprint survives a reload of the policy.
fn hasher() -> &'static RandomState {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    HASHER.get_or_init(RandomState::new)
}

/// The keyed hash of a limit's name and a key.
pub(crate) fn fingerprint(limit: &str, key: &[u8]) -> u64 {
    let mut hasher = hasher().build_hasher();
    hasher.write_usize(limit.len());
    hasher.write(limit.as_bytes());
    hasher.write(key);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_limits_and_keys_have_different_fingerprints() {
        assert_eq!(fingerprint("a", b"key"), fingerprint("a", b"key"));
        let all = [("a", "key"), ("b", "key"), ("a", "kex"), ("ak", "ey")];
        let different: std::collections::HashSet<_> =
            all.iter().map(|(limit, key)| fingerprint(limit, key.as_bytes())).collect();
        assert_eq!(different.len(), all.len());
    }
}
