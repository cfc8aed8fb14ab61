//! A text as a number by which it is found. A short text is its own number; a long one is hashed and has to be compared.

use crate::template::Case;

/// A text of up to so many bytes is its own number, if case is kept: with its length it fits into eight.
const WHOLE_MAX: usize = 7;

/// In the highest byte, where a short text has its length.
const HASHED: u64 = 0xff << 56;

/// Two texts of one key are the same, if the key is [whole](Self::is_whole). All keys come from the operator's templates, and a
/// request only looks up, so the hash needs no secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key(u64);

impl Key {
    /// For a slot that has none; it may be some text's, too.
    pub(super) const NONE: Self = Self(0);

    /// Eight bytes at a time. Where case is ignored, one bit of each byte is.
    #[inline]
    pub(super) fn of(text: &[u8], case: Case) -> Self {
        let length = text.len() as u64;
        let ignored = match case {
            Case::Kept if text.len() <= WHOLE_MAX => return Self(few(text) | length << 56),
            Case::Kept => 0,
            Case::Ignored => 0x2020_2020_2020_2020,
        };
        let mut hash = length;
        for chunk in text.as_chunks::<8>().0 {
            hash = mix(hash ^ (u64::from_le_bytes(*chunk) | ignored));
        }
        // The last eight are read as they are: that some of them are read twice tells no two texts of one length less apart.
        let last = text.last_chunk::<8>().map_or_else(|| few(text), |last| u64::from_le_bytes(*last));
        Self(mix(hash ^ (last | ignored)) | HASHED)
    }

    /// Whether it says all of its text.
    pub(super) const fn is_whole(self) -> bool {
        self.0 < HASHED
    }

    /// A number for a table of texts that stand at places.
    #[inline]
    pub(super) fn at(self, place: u32) -> usize {
        let hash = mix(self.0 ^ u64::from(place).wrapping_mul(0xd1b5_4a32_d192_ed03));
        usize::try_from(hash >> 32).unwrap_or(0)
    }
}

/// Up to seven bytes as they are, and zeros.
#[inline]
fn few(text: &[u8]) -> u64 {
    match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        // From four bytes on both overlap, or touch: the same bytes in the same places.
        (Some(first), Some(last)) => {
            let shift = 8 * (text.len() & 7).saturating_sub(4);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift
        }
        _ => text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Spreads what differs to the upper half, and back into the lower.
const fn mix(bits: u64) -> u64 {
    let spread = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread ^ spread >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_testing::dice::Dice;

    #[test]
    fn whole_keys_are_the_same_for_the_same_text_alone() {
        let alphabet = [0, b'a', b'b', b'/', 0xff];
        let (mut same, mut whole) = (0, 0);
        for seed in 0..200_000 {
            let mut dice = Dice::new(seed);
            let one = dice.soup(&alphabet, 9);
            let mut two = one.clone();
            match dice.below(4) {
                0 => two.push(0),
                1 => drop(two.pop()),
                2 => two = dice.soup(&alphabet, 9),
                _ => {}
            }
            let (first, second) = (Key::of(&one, Case::Kept), Key::of(&two, Case::Kept));
            assert_eq!(first.is_whole(), one.len() <= WHOLE_MAX, "{one:?}");
            assert!(one != two || first == second, "{one:?}");
            same += u32::from(one == two);
            if first.is_whole() {
                assert_eq!(first == second, one == two, "seed {seed}: {one:?} {two:?}");
                whole += 1;
            }
        }
        assert!(same > 10_000 && whole > 100_000, "{same} {whole}");
    }

    #[test]
    fn texts_that_differ_in_case_alone_have_one_key_where_case_is_ignored() {
        for text in ["", "a", "Ab", "aBcD", "Login", "RESOURCE", "Resource-Seven", "sixteen-letters-"] {
            let lower = text.to_ascii_lowercase();
            let of = |text: &str| Key::of(text.as_bytes(), Case::Ignored);
            assert_eq!(of(text), of(&lower), "{text}");
            assert!(!of(text).is_whole(), "{text}: it has to be compared");
        }
    }

    #[test]
    fn long_texts_of_one_template_have_keys_of_their_own() {
        let texts = (0..50_000).map(|n| format!("resource-{n}"));
        let mut keys: Vec<u64> = texts.map(|text| Key::of(text.as_bytes(), Case::Kept).0).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 50_000);
    }
}
