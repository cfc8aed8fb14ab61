//! `RateLimit-Policy` and `RateLimit`, as in versions 08 to 11 of draft-ietf-httpapi-ratelimit-headers.

use bytes::Bytes;
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_algorithms::Micros;

use crate::response::decimal::in_digits;
use crate::response::header_cache::HeaderCache;
use crate::response::rendered_limit::RenderedLimit;
use crate::response::structured_fields::{self, INTEGER_MAX};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

thread_local! {
    /// Values by limit, remaining quota and seconds. Most clients are far from their limits, so the same values recur.
    static STATES: HeaderCache<(u64, u64, u64)> = const { HeaderCache::new() };
}

/// `RateLimit` with a single member.
pub(super) fn only_state(rendered: &RenderedLimit, remaining: u64, until: Micros) -> HeaderValue {
    let seconds = until.secs_rounded_up();
    let write = || {
        let mut state = Vec::new();
        self::state(&mut state, rendered, remaining, until);
        HeaderValue::from_maybe_shared(Bytes::from(state)).unwrap_or(HeaderValue::from_static(""))
    };
    let mixed = rendered.number ^ remaining ^ seconds.wrapping_mul(37);
    let says = (rendered.number, remaining, seconds);
    let remembered = STATES.try_with(|states| states.value(says, mixed, write));
    // The thread-local is gone while a thread ends.
    remembered.unwrap_or_else(|_| write())
}

/// Writes a member of `RateLimit`: `"name";r=4;t=10`. The first reserves exactly the bytes it needs, so that they become the header
/// value without another allocation.
pub(super) fn state(out: &mut Vec<u8>, rendered: &RenderedLimit, remaining: u64, until: Micros) {
    let (mut first, mut second) = ([b'0'; 20], [b'0'; 20]);
    let remaining = in_digits(remaining.min(INTEGER_MAX), &mut first);
    let until = in_digits(until.secs_rounded_up().min(INTEGER_MAX), &mut second);
    let pieces = [&rendered.state, remaining, b";t=", until];
    if out.is_empty() {
        out.reserve_exact(pieces.iter().fold(0, |length, piece| length.saturating_add(piece.len())));
    }
    pieces.iter().for_each(|piece| out.extend_from_slice(piece));
}

/// Writes both headers.
pub(super) fn write(headers: &mut HeaderMap, policy: HeaderValue, state: HeaderValue) {
    put(headers, POLICY, policy);
    put(headers, STATE, state);
}

/// Writes our value, then the upstream's: several header lines form one list. Lines in another format (an older draft, say) are
/// removed, because they would make parsers ignore ours.
fn put(headers: &mut HeaderMap, name: HeaderName, ours: HeaderValue) {
    match headers.entry(name) {
        Entry::Vacant(place) => {
            place.insert(ours);
        }
        Entry::Occupied(mut place) => {
            let good = |value: &&HeaderValue| structured_fields::is_list_of_strings(value.as_bytes());
            let theirs: Vec<_> = place.iter().filter(good).cloned().collect();
            place.insert(ours);
            theirs.into_iter().for_each(|value| place.append(value));
        }
    }
}
