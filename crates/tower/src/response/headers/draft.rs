//! `RateLimit-Policy` and `RateLimit`, as draft-ietf-httpapi-ratelimit-headers has them from 08 to 11. No other generation.

use bytes::Bytes;
use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_algorithms::Micros;

use crate::response::numbers::in_digits;
use crate::response::remembered::Remembered;
use crate::response::rendered_limit::RenderedLimit;
use crate::response::sf::{self, INTEGER_MAX};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const STATE: HeaderName = HeaderName::from_static("ratelimit");

thread_local! {
    /// Most clients are far from their limits, so that a limit says the same to many: whose it is, what remains, and for how long.
    static STATES: Remembered<(u64, u64, u64)> = const { Remembered::new() };
}

/// `RateLimit`, if it has one member.
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
    // A thread that is ending remembers nothing any more.
    remembered.unwrap_or_else(|_| write())
}

/// Writes a member of `RateLimit`: `"name";r=4;t=10`. The first takes no more room than it needs: its bytes become the value's without
/// another allocation.
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

/// Writes both fields.
pub(super) fn write(headers: &mut HeaderMap, policy: HeaderValue, state: HeaderValue) {
    put(headers, POLICY, policy);
    put(headers, STATE, state);
}

/// Ours first, then what the upstream sent: several lines of a list are one list. But a line of another form (a generation
/// before this one, say) would make readers ignore ours, and goes.
fn put(headers: &mut HeaderMap, name: HeaderName, ours: HeaderValue) {
    match headers.entry(name) {
        Entry::Vacant(place) => {
            place.insert(ours);
        }
        Entry::Occupied(mut place) => {
            let good = |value: &&HeaderValue| sf::is_list_of_strings(value.as_bytes());
            let theirs: Vec<_> = place.iter().filter(good).cloned().collect();
            place.insert(ours);
            theirs.into_iter().for_each(|value| place.append(value));
        }
    }
}
