//! A three-byte tag of the numbers under which a state was charged last, and since when.

use tollgate_algorithms::Limit;

use crate::encode;
use crate::state::number;

/// How many microseconds are one step of [`ConfigTag::since`].
pub const STEP: u64 = 4_096;

/// How many bits of a hash are a mark. Of two sets of numbers for one limit the one is taken for the other once in sixteen million
/// times: in what is given back, and in how long a key is kept.
const BITS: u32 = 24;

/// What stands in each state after its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConfigTag {
    /// The [mark](ConfigTag::mark_of) of the numbers that it was charged by last. Of a debt it is the count that drains.
    pub mark: u64,
    /// Since when there have been no others, in [steps](STEP), rounded down: receipts from before are void.
    pub since: u64,
}

impl ConfigTag {
    /// The mark of a limit's numbers: the same in every process. 0 for a limit without any.
    #[must_use]
    pub fn mark_of(limit: &Limit) -> u64 {
        if let Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) = limit {
            return quota.count();
        }
        let argument = encode::limit(limit, 0);
        let at = argument.len().saturating_sub(3);
        argument.get(at..).and_then(|mut bytes| number::<3>(&mut bytes)).unwrap_or(0)
    }

    /// Takes it off the front of a state, after its first byte. A mark has three bytes, and that of a debt which is written at
    /// length seven.
    pub(crate) fn take(bytes: &mut &[u8], is_long: bool) -> Option<Self> {
        let mark = if is_long { number::<7>(bytes)? } else { number::<3>(bytes)? };
        Some(Self { mark, since: number::<5>(bytes)? })
    }
}

/// A mark of an algorithm and the bytes of its numbers. Nobody gains by numbers that are marked alike: who can choose them has no
/// need to.
pub(crate) fn marked(tag: u8, numbers: &[u8]) -> [u8; 3] {
    let mut hash = u64::from(tag);
    for piece in numbers.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    let [_, _, _, _, _, a, b, c] = (hash >> (u64::BITS - BITS)).to_be_bytes();
    [a, b, c]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tollgate_algorithms::{Micros, Window};

    #[test]
    fn other_numbers_have_another_mark_and_a_cost_has_none() {
        let mut limits = Vec::new();
        for size in 1..200 {
            limits.push(Limit::fixed_window(size, Window::Every(Micros::MINUTE)).unwrap());
            limits.push(Limit::sliding_window(size, Micros::MINUTE).unwrap());
            limits.push(Limit::sliding_window_log(size, Micros::MINUTE).unwrap());
        }
        let marks: HashSet<_> = limits.iter().map(ConfigTag::mark_of).collect();
        assert_eq!(marks.len(), limits.len());
        let limit = limits[0];
        let [one, other] = [0, 7].map(|cost| encode::limit(&limit, cost));
        assert_eq!(one[one.len() - 3..], other[other.len() - 3..]);
        assert_eq!(ConfigTag::mark_of(&Limit::Unlimited), 0);
    }

    #[test]
    fn a_mark_is_the_same_in_every_version_of_this_layout() {
        let log = Limit::sliding_window_log(5, Micros::from_secs(10)).unwrap();
        assert_eq!(ConfigTag::mark_of(&log), 11_133_478);
        let bucket = Limit::token_bucket(5, 7, Micros::from_secs(3)).unwrap();
        assert_eq!(ConfigTag::mark_of(&bucket), 7);
    }
}
