//! The ID of each request, for its log lines: generated here, or taken from a trusted proxy.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The field that carries it, from and to peers.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// A longer ID of a peer is not kept.
const KEPT_CHARS_MAX: usize = 128;

/// The ID of a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum RequestId {
    /// Made here: 128 bits, written as 32 hexadecimal digits.
    Made(u64, u64),
    /// Given by a trusted peer.
    Kept(Arc<str>),
}

impl RequestId {
    /// The ID that a peer gives, if it gives one that can be written anywhere: up to 128 letters, digits and `-._~:=+/@`. Whether
    /// the peer is trusted is for the caller to know.
    #[must_use]
    pub fn of_peer(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(X_REQUEST_ID).iter();
        let (Some(id), None) = (lines.next(), lines.next()) else { return None };
        let id = id.to_str().ok().filter(|id| !id.is_empty() && id.len() <= KEPT_CHARS_MAX)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:=+/@".contains(&byte);
        id.bytes().all(plain).then(|| Self::Kept(id.into()))
    }

    /// As a header's value.
    #[must_use]
    pub fn header(&self) -> HeaderValue {
        match self {
            Self::Made(high, low) => made(*high, *low),
            Self::Kept(id) => HeaderValue::from_str(id).expect("it came in a header"),
        }
    }
}

fn made(high: u64, low: u64) -> HeaderValue {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'0'; 32];
    let bytes = high.to_be_bytes().into_iter().chain(low.to_be_bytes());
    for (place, byte) in text.chunks_exact_mut(2).zip(bytes) {
        for (digit, half) in place.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = DIGITS.get(usize::from(half)).copied().unwrap_or(b'0');
        }
    }
    HeaderValue::from_bytes(&text).expect("hexadecimal digits can stand in a header")
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made(high, low) => write!(f, "{high:016x}{low:016x}"),
            Self::Kept(id) => f.write_str(id),
        }
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
        RequestId::Made(self.own, low)
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
        let halves: HashSet<_> = names.iter().map(|id| id.to_string()[..16].to_owned()).collect();
        assert_eq!(halves.len(), 2);
    }

    #[test]
    fn a_name_is_32_digits_whatever_it_is() {
        assert_eq!(RequestId::Made(0, 0xab).to_string(), "000000000000000000000000000000ab");
        assert_eq!(RequestId::Made(u64::MAX, u64::MAX).header(), "f".repeat(32));
    }
    #[test]
    fn a_peers_id_is_kept_if_it_is_one_plain_word() {
        let kept = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(X_REQUEST_ID, HeaderValue::from_str(value).unwrap());
            }
            RequestId::of_peer(&headers).map(|id| (id.to_string(), id.header()))
        };
        for id in ["7d0f4a52-1a2b-4c3d-8e9f-001122334455", "Root=1-67891233-abcdef", "a", &"x".repeat(128)] {
            assert_eq!(kept(&[id]), Some((id.to_owned(), HeaderValue::from_str(id).unwrap())));
        }
        for not in [&["a b"][..], &[""], &["a\"b"], &["a\u{e4}"], &[&"x".repeat(129)], &["a", "a"], &[]] {
            assert_eq!(kept(not), None, "{not:?}");
        }
    }
}
