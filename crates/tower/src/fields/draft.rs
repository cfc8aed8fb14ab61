//! `RateLimit-Policy` and `RateLimit`, as draft-ietf-httpapi-ratelimit-headers has them from 08 to 11. No other generation.

use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_core::Micros;

use crate::card::Card;
use crate::sf;

static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static STATE: HeaderName = HeaderName::from_static("ratelimit");

/// Writes a member of `RateLimit`: `"name";r=4;t=10`.
pub(super) fn state(out: &mut Vec<u8>, card: &Card, remaining: u64, until: Micros) {
    out.extend_from_slice(&card.state);
    sf::integer(out, remaining);
    out.extend_from_slice(b";t=");
    sf::integer(out, until.secs_rounded_up());
}

/// How many bytes a member has.
pub(super) fn state_len(card: &Card, remaining: u64, until: Micros) -> usize {
    let numbers = sf::integer_len(remaining).saturating_add(sf::integer_len(until.secs_rounded_up()));
    card.state.len().saturating_add(numbers).saturating_add(b";t=".len())
}

/// Writes both fields.
pub(super) fn write(headers: &mut HeaderMap, policy: HeaderValue, state: HeaderValue) {
    put(headers, &POLICY, policy);
    put(headers, &STATE, state);
}

/// Ours first, then what the upstream sent: several lines of a list are one list. But a line of another form (a generation
/// before this one, say) would make readers ignore ours, and goes.
fn put(headers: &mut HeaderMap, name: &HeaderName, ours: HeaderValue) {
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
