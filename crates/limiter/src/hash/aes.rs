//! AES-CMAC (RFC 4493) with the processor's instructions: the keyed hash where they exist.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "instructions that not every processor has: see the safety argument")
)]
//!
//! Why not a crate: the ones there are hand a block over in memory, which costs more than the ten rounds do. A key of up to
//! 16 bytes is one block here, and stays in registers.
//!
//! **Safety.** The functions that need the instructions are safe themselves; to call them from elsewhere is not, unless the
//! processor has them. They are called from the methods of [`Cmac`] only, and there is no `Cmac` before [`Cmac::new`] has
//! looked.

#[cfg(target_arch = "x86_64")]
pub(super) use with::Cmac;
#[cfg(not(target_arch = "x86_64"))]
pub(super) use without::Cmac;

#[cfg(target_arch = "x86_64")]
mod with {
    //! The instructions of x86-64.

    use core::arch::x86_64::{
        __m128i, _mm_aesenc_si128, _mm_aesenclast_si128, _mm_aeskeygenassist_si128, _mm_cvtsi128_si64,
        _mm_set_epi64x, _mm_shuffle_epi32, _mm_slli_si128, _mm_unpackhi_epi64, _mm_xor_si128,
    };

    /// A key, expanded.
    #[derive(Clone, Copy)]
    pub(in crate::hash) struct Cmac {
        rounds: [__m128i; 11],
        /// What the last block is mixed with before the first round: if it is a whole one, and if not.
        last_whole: __m128i,
        last_part: __m128i,
    }

    impl Cmac {
        /// With this key; `None` if the processor has no AES.
        pub(in crate::hash) fn new(low: u64, high: u64) -> Option<Self> {
            // SAFETY: the processor has just been asked.
            std::arch::is_x86_feature_detected!("aes").then(|| unsafe { expanded(vector(low, high)) })
        }

        /// The first eight bytes of the message's code.
        #[inline]
        pub(in crate::hash) fn of(&self, message: &[u8]) -> u64 {
            // SAFETY: there is a `Cmac`, so the processor has the instructions.
            unsafe { first_half(self, message) }
        }

        /// One with a key that is made from this one, by a number.
        pub(in crate::hash) fn derived(&self, number: u64) -> Self {
            // SAFETY: as above.
            unsafe { expanded(encrypted(&self.rounds, last(self, &number.to_le_bytes()))) }
        }
    }

    #[target_feature(enable = "aes")]
    #[inline]
    fn vector(low: u64, high: u64) -> __m128i {
        _mm_set_epi64x(high.cast_signed(), low.cast_signed())
    }

    #[target_feature(enable = "aes")]
    #[inline]
    fn halves(vector: __m128i) -> (u64, u64) {
        let (low, high) = (_mm_cvtsi128_si64(vector), _mm_cvtsi128_si64(_mm_unpackhi_epi64(vector, vector)));
        (low.cast_unsigned(), high.cast_unsigned())
    }

    /// All rounds but the mixing that comes before the first.
    #[target_feature(enable = "aes")]
    #[inline]
    fn encrypted(rounds: &[__m128i; 11], mut block: __m128i) -> __m128i {
        for round in &rounds[1..10] {
            block = _mm_aesenc_si128(block, *round);
        }
        _mm_aesenclast_si128(block, rounds[10])
    }

    #[target_feature(enable = "aes")]
    fn first_half(key: &Cmac, message: &[u8]) -> u64 {
        let last = if message.len() <= 16 { last(key, message) } else { mixed(key, message) };
        _mm_cvtsi128_si64(encrypted(&key.rounds, last)).cast_unsigned()
    }

    /// A message of any length up to where its last block goes into the first round.
    #[target_feature(enable = "aes")]
    #[inline(never)]
    fn mixed(key: &Cmac, mut message: &[u8]) -> __m128i {
        let mut state = vector(0, 0);
        // A block is followed by another one, or is the last.
        while let Some((block, rest)) = message.split_first_chunk::<16>()
            && !rest.is_empty()
        {
            let whole = _mm_xor_si128(last(key, block), _mm_xor_si128(key.last_whole, key.rounds[0]));
            state = encrypted(&key.rounds, _mm_xor_si128(state, whole));
            message = rest;
        }
        _mm_xor_si128(state, last(key, message))
    }

    /// The last block of a message, of at most 16 bytes: padded, and mixed with the mask that says whether it was.
    #[target_feature(enable = "aes")]
    #[inline]
    fn last(key: &Cmac, bytes: &[u8]) -> __m128i {
        let bits = 8 * bytes.len();
        if let Some((first, rest)) = bytes.split_first_chunk::<8>() {
            let last = bytes.get(rest.len()..rest.len() + 8).and_then(|last| last.try_into().ok());
            let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(last.unwrap_or_default()));
            if bits >= 128 {
                return _mm_xor_si128(vector(first, last), key.last_whole);
            }
            // The last eight bytes, without those that are in the first eight. In two steps: 64 is too far for one.
            let high = last >> 1 >> (127 - bits) | 0x80 << (bits - 64);
            return _mm_xor_si128(vector(first, high), key.last_part);
        }
        let low = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            // They overlap, in bytes that are the same in both.
            (Some(first), Some(last)) => {
                let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
                u64::from(first) | u64::from(last) << (bits - 32)
            }
            _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        _mm_xor_si128(vector(low | 0x80 << bits, 0), key.last_part)
    }

    /// One step of the key's expansion, with the round's constant.
    #[target_feature(enable = "aes")]
    fn step<const CONSTANT: i32>(key: __m128i) -> __m128i {
        let word = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<CONSTANT>(key));
        let mut mixed = key;
        for _ in 0..3 {
            mixed = _mm_xor_si128(key, _mm_slli_si128::<4>(mixed));
        }
        _mm_xor_si128(mixed, word)
    }

    #[target_feature(enable = "aes")]
    fn expanded(key: __m128i) -> Cmac {
        let mut rounds = [key; 11];
        rounds[1] = step::<0x01>(rounds[0]);
        rounds[2] = step::<0x02>(rounds[1]);
        rounds[3] = step::<0x04>(rounds[2]);
        rounds[4] = step::<0x08>(rounds[3]);
        rounds[5] = step::<0x10>(rounds[4]);
        rounds[6] = step::<0x20>(rounds[5]);
        rounds[7] = step::<0x40>(rounds[6]);
        rounds[8] = step::<0x80>(rounds[7]);
        rounds[9] = step::<0x1b>(rounds[8]);
        rounds[10] = step::<0x36>(rounds[9]);
        let whole = doubled(halves(encrypted(&rounds, rounds[0])));
        let part = doubled(whole);
        let masked = |mask: (u64, u64)| _mm_xor_si128(vector(mask.0, mask.1), rounds[0]);
        Cmac { last_whole: masked(whole), last_part: masked(part), rounds }
    }

    /// Twice an element of a field, the bytes of which are in the order of a message.
    fn doubled((low, high): (u64, u64)) -> (u64, u64) {
        let (first, second) = (low.swap_bytes(), high.swap_bytes());
        let carry = if first >> 63 == 0 { 0 } else { 0x87 };
        ((first << 1 | second >> 63).swap_bytes(), (second << 1 ^ carry).swap_bytes())
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod without {
    //! No instructions that are known here: there is no `Cmac` at all.

    /// Cannot be had.
    #[derive(Clone, Copy)]
    pub(in crate::hash) enum Cmac {}

    impl Cmac {
        pub(in crate::hash) fn new(_low: u64, _high: u64) -> Option<Self> {
            None
        }

        pub(in crate::hash) fn of(&self, _message: &[u8]) -> u64 {
            match *self {}
        }

        pub(in crate::hash) fn derived(&self, _number: u64) -> Self {
            *self
        }
    }
}

#[test]
fn it_is_aes_cmac() {
    use cmac::{KeyInit as _, Mac as _};
    let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
    for (low, high) in [(0, 0), (0xa6d2_ae28_1615_7e2b, 0x3c4f_cf09_8815_f7ab), (u64::MAX, u64::MAX)] {
        // Where there is no AES, keys must be hashed without it.
        let Some(ours) = Cmac::new(low, high) else {
            let hashing = super::Hashing::keyed(super::Secret(low, high));
            assert!(matches!(hashing, super::Hashing::Sip(_)), "{hashing:?}");
            continue;
        };
        let key = (u128::from(high) << 64 | u128::from(low)).to_le_bytes();
        for length in 0..bytes.len() {
            let mut oracle = cmac::Cmac::<aes::Aes128>::new(&key.into());
            oracle.update(&bytes[..length]);
            let code: [u8; 16] = oracle.finalize().into_bytes().into();
            assert_eq!(ours.of(&bytes[..length]).to_le_bytes(), code[..8], "{length} bytes");
        }
    }
}
