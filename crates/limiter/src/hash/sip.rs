//! SipHash-1-3: the keyed hash where there are no AES instructions.

use super::Secret;

/// SipHash-1-3 in the middle of a message, after eight bytes: what all keys of one name have in common.
#[derive(Clone, Copy)]
pub(super) struct Sip([u64; 4]);

impl Sip {
    /// After the eight bytes of a number.
    pub(super) fn new(secret: &Secret, number: u64) -> Self {
        let mut v = [
            secret.0 ^ 0x736f_6d65_7073_6575,
            secret.1 ^ 0x646f_7261_6e64_6f6d,
            secret.0 ^ 0x6c79_6765_6e65_7261,
            secret.1 ^ 0x7465_6462_7974_6573,
        ];
        absorb(&mut v, number);
        Self(v)
    }

    /// The hash of the number and these bytes.
    pub(super) fn of(&self, key: &[u8]) -> u64 {
        let mut v = self.0;
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

#[test]
fn it_is_siphash_1_3() {
    use std::hash::Hasher as _;
    let (a, b) = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
    let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
    for number in [0, 1, u64::MAX] {
        for length in 0..bytes.len() {
            let mut oracle = siphasher::sip::SipHasher13::new_with_keys(a, b);
            oracle.write(&number.to_le_bytes());
            oracle.write(&bytes[..length]);
            let ours = Sip::new(&Secret(a, b), number).of(&bytes[..length]);
            assert_eq!(ours, oracle.finish(), "{length} bytes after {number}");
        }
    }
}
