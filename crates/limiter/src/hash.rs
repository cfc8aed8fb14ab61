//! From a key's bytes to the number it goes by: keyed SipHash-1-3, or a faster hash where the caller vouches for the keys.
//! Not the table, which takes the number as it comes.

use std::hash::{BuildHasher as _, Hasher as _};

/// How keys are hashed. The secret is drawn anew for each limiter.
#[derive(Clone, Debug)]
pub(crate) enum Hashing {
    /// For keys from outside: without the secret, nobody can make two keys collide.
    Keyed(Secret),
    /// For keys that are known not to be chosen by an attacker.
    Vouched(u64, foldhash::quality::FixedState),
}

/// A SipHash key. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) u64, pub(crate) u64);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// SipHash-1-3 in the middle of a message of whole words: what all keys of one limit have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    v: [u64; 4],
    pub(crate) space: u64,
}

impl Hashing {
    /// A hash for keys that somebody vouches for.
    pub(crate) fn vouched(seed: u64) -> Self {
        Self::Vouched(seed, foldhash::quality::FixedState::with_seed(seed))
    }

    /// What the keys of a space have in common.
    pub(crate) fn prefix(&self, space: u64) -> Prefix {
        let v = match self {
            Self::Keyed(secret) => {
                let mut v = [
                    secret.0 ^ 0x736f_6d65_7073_6575,
                    secret.1 ^ 0x646f_7261_6e64_6f6d,
                    secret.0 ^ 0x6c79_6765_6e65_7261,
                    secret.1 ^ 0x7465_6462_7974_6573,
                ];
                absorb(&mut v, space);
                v
            }
            Self::Vouched(..) => [0; 4],
        };
        Prefix { v, space }
    }

    /// The hash of a key in a space: of the space's eight bytes, then the key's.
    #[inline]
    pub(crate) fn hash(&self, prefix: &Prefix, key: &[u8]) -> u64 {
        match self {
            Self::Keyed(_) => sip(prefix.v, key),
            Self::Vouched(_, state) => {
                let mut hasher = state.build_hasher();
                hasher.write_u64(prefix.space);
                hasher.write(key);
                hasher.finish()
            }
        }
    }
}

/// The rest of SipHash-1-3, after eight bytes.
#[inline]
fn sip(mut v: [u64; 4], key: &[u8]) -> u64 {
    let (words, tail) = key.as_chunks::<8>();
    for word in words {
        absorb(&mut v, u64::from_le_bytes(*word));
    }
    // The last word: what is left of the message, and its length, modulo 256, in the highest byte.
    let length = (key.len() as u64).wrapping_add(8) << 56;
    let last = match (words.last(), tail) {
        (_, []) => 0,
        // The last eight bytes, without those that have been absorbed.
        (Some(_), tail) => {
            let bytes = key.last_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            bytes >> (64 - 8 * tail.len())
        }
        (None, tail) => tail.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    absorb(&mut v, last | length);
    v[2] ^= 0xff;
    for _ in 0..3 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[inline]
fn absorb(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    v[0] ^= word;
}

#[inline]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher as _;

    use super::{Hashing, Secret};

    #[test]
    fn keys_are_hashed_by_siphash_1_3() {
        let (a, b) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let hashing = Hashing::Keyed(Secret(a, b));
        let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
        for space in [0, 1, u64::MAX] {
            for length in 0..bytes.len() {
                let mut oracle = siphasher::sip::SipHasher13::new_with_keys(a, b);
                oracle.write(&space.to_le_bytes());
                oracle.write(&bytes[..length]);
                let ours = hashing.hash(&hashing.prefix(space), &bytes[..length]);
                assert_eq!(ours, oracle.finish(), "{length} bytes in space {space}");
            }
        }
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", Hashing::Keyed(Secret(12_345, 67_890))), "Keyed(Secret(..))");
    }
}
