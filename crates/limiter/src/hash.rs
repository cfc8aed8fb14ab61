//! Hashes keys to the numbers that the table uses: with a keyed hash, or a faster one for trusted keys.

use std::hash::{BuildHasher as _, Hasher as _};

mod aes;
mod sip;

/// How keys are hashed. The secret is drawn anew for each limiter.
#[derive(Clone, Debug)]
pub(crate) enum Hashing {
    /// For keys from outside: without the secret, nobody can make two keys collide. AES-CMAC.
    Aes(Secret, Box<AesKey>),
    /// The same for processors without AES: SipHash-1-3.
    Sip(Secret),
    /// For keys that are known not to be chosen by an attacker: foldhash, with a seed.
    Vouched(u64),
}

/// 128 bits that nobody else knows. Its `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) u64, pub(crate) u64);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A secret as AES has it.
#[derive(Clone)]
pub(crate) struct AesKey(aes::Cmac);

impl std::fmt::Debug for AesKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// How the keys of one name are hashed: the same bytes under two names are two keys.
#[derive(Clone)]
pub(crate) struct KeyHash(Kind);

#[derive(Clone)]
enum Kind {
    Aes(aes::Cmac),
    Sip(sip::Sip),
    Vouched(foldhash::quality::FixedState),
}

impl std::fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyHash(..)")
    }
}

impl Hashing {
    /// The best keyed hash that the processor has.
    pub(crate) fn keyed(secret: Secret) -> Self {
        Self::aes(secret.clone()).unwrap_or(Self::Sip(secret))
    }

    /// By AES; `None` if the processor has none.
    pub(crate) fn aes(secret: Secret) -> Option<Self> {
        let key = aes::Cmac::new(secret.0, secret.1)?;
        Some(Self::Aes(secret, Box::new(AesKey(key))))
    }

    /// How the keys of a name are hashed, by the name's number.
    pub(crate) fn of_name(&self, number: u64) -> KeyHash {
        KeyHash(match self {
            Self::Aes(_, key) => Kind::Aes(key.0.derived(number)),
            Self::Sip(secret) => Kind::Sip(sip::Sip::new(secret, number)),
            Self::Vouched(seed) => {
                let mut hasher = foldhash::quality::FixedState::with_seed(*seed).build_hasher();
                hasher.write_u64(number);
                Kind::Vouched(foldhash::quality::FixedState::with_seed(hasher.finish()))
            }
        })
    }
}

impl KeyHash {
    /// The hash of a key.
    #[inline(always)]
    pub(crate) fn of(&self, key: &[u8]) -> u64 {
        match &self.0 {
            Kind::Aes(cmac) => cmac.of(key),
            Kind::Sip(sip) => sip.of(key),
            Kind::Vouched(state) => {
                let mut hasher = state.build_hasher();
                hasher.write(key);
                hasher.finish()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hashing, Secret};

    #[test]
    fn every_hash_tells_names_and_lengths_apart() {
        for hashing in [Hashing::keyed(Secret(1, 2)), Hashing::Sip(Secret(1, 2)), Hashing::Vouched(3)] {
            let mut seen = std::collections::HashSet::new();
            for name in 0..16 {
                let hash = hashing.of_name(name);
                // Keys of zeros, which padding must not make alike.
                assert!((0..200).all(|length| seen.insert(hash.of(&vec![0; length]))), "{hashing:?}");
            }
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Hashing::Sip(Secret(12_345, 67_890))), "Sip(Secret(..))");
        let hash = Hashing::Sip(Secret(12_345, 67_890)).of_name(0);
        assert_eq!(format!("{hash:?}"), "KeyHash(..)");
    }
}
