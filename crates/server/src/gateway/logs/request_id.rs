//! A name for each request, by which its lines are found. It says nothing about the client, and nothing a client says is in it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use http::HeaderValue;

/// A request's name: 128 bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RequestId(u64, u64);

impl RequestId {
    /// As a header's value.
    #[must_use]
    pub fn header(self) -> HeaderValue {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'0'; 32];
        let bytes = self.0.to_be_bytes().into_iter().chain(self.1.to_be_bytes());
        for (place, byte) in text.chunks_exact_mut(2).zip(bytes) {
            for (digit, half) in place.iter_mut().zip([byte >> 4, byte & 15]) {
                *digit = DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
            }
        }
        HeaderValue::from_bytes(&text).expect("hexadecimal digits can stand in a header")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0, self.1)
    }
}

/// Odd, so that multiples of it take each of the 2^64 values once; and far from regular, so that neighbours do not look it.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Gives names. One for each worker: no two count at one place, and 64 random bits tell them apart.
#[derive(Debug)]
pub struct RequestIds {
    /// The upper half, random.
    own: u64,
    /// The lower half of the next one; it begins at random.
    next: AtomicU64,
}

impl RequestIds {
    /// A source of names. They are not secrets: who has seen one may guess others.
    #[must_use]
    pub fn new() -> Self {
        // The standard library takes its keys from the system's randomness.
        let random = || RandomState::new().hash_one(0);
        Self { own: random(), next: AtomicU64::new(random()) }
    }

    /// The next name. No other of this source is the same before 2^64 were given.
    #[inline]
    pub fn next(&self) -> RequestId {
        let low = self.next.fetch_add(STEP, Ordering::Relaxed);
        RequestId(self.own, low)
    }
}

impl Default for RequestIds {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_never_the_same_within_a_source_or_between_two() {
        let sources = [RequestIds::new(), RequestIds::new()];
        let names: HashSet<_> = sources.iter().flat_map(|ids| (0..1_000).map(|_| ids.next())).collect();
        assert_eq!(names.len(), 2_000);
        let halves: HashSet<_> = names.iter().map(|id| id.0).collect();
        assert_eq!(halves.len(), 2);
    }

    #[test]
    fn a_name_is_32_digits_whatever_it_is() {
        assert_eq!(RequestId(0, 0xab).to_string(), "000000000000000000000000000000ab");
        assert_eq!(RequestId(u64::MAX, u64::MAX).header(), "f".repeat(32));
    }
}
