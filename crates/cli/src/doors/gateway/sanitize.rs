//! Removes hop-by-hop and untrusted forwarding headers, and method overrides.

use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, FORWARDED, HOST, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate_http::header::is_origin;
use tollgate_http::trusted::{ForwardHeader, TrustedProxies};
use tollgate_policy::model::TierFrom;
use tollgate_policy::{Policy, Settings};

use crate::active_policy::ActivePolicy;
use crate::settings::Forwarding;

/// Removes from a request what does not go on, before its limits are asked: a field that only the limits saw would be a way
/// around them.
pub(crate) fn request(headers: &mut HeaderMap, forwarding: &Forwarding, peer_trusted: bool, policy: &Policy) {
    let (settings, filter) = (policy.settings(), policy.header_filter());
    let trusted = &settings.trusted_proxies;
    let own = [own_header(trusted), tier_header(settings), priority_header(settings)];
    strip(headers, own, |name| {
        (!forwarding.method_override && is_override(name))
            || name == "proxy"
            || !filter.passes(name)
            || if peer_trusted {
                // What a proxy does not write is whatever the client sent.
                is_list_of_hops(name) && trusted.header().map(ForwardHeader::name) != Some(name)
            } else {
                is_origin(name) || own.contains(&Some(name))
            }
    });
}

/// Takes out of a response what does not go on.
pub(crate) fn response(headers: &mut HeaderMap) {
    strip(headers, [None; 3], |_| false);
}

/// Removes from trailers what has no place there: a recipient that merges them would read the head otherwise than it was
/// read here. Limits are told in heads only. What the policy reads of a request belongs in its head as well; `live` is
/// given for the trailers of requests.
pub(crate) fn trailers(headers: &mut HeaderMap, live: Option<&ActivePolicy>) {
    let reads = live.map_or(&[][..], |live| &live.reads);
    let filter = live.map(|live| live.limits.policy().header_filter());
    let told = |name: &HeaderName| {
        name.as_str().starts_with("ratelimit") || name.as_str().starts_with("x-ratelimit")
    };
    strip(headers, [None; 3], |name| {
        is_needed(name)
            || filter.is_some_and(|filter| !filter.passes(name))
            || is_origin(name)
            || is_override(name)
            || *name == TRAILER
            || *name == COOKIE
            || told(name)
            || reads.contains(name)
    });
    headers.remove(TE);
}

/// Joins the crumbs of a cookie, which HTTP/2 may send in pieces, as HTTP/1.1 must have it (RFC 9113 8.2.3).
pub(crate) fn join_cookies(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(COOKIE).iter();
    if lines.next().is_none() || lines.next().is_none() {
        return;
    }
    let all: Vec<_> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if let Ok(joined) = HeaderValue::from_bytes(&all.join(&b"; "[..])) {
        headers.insert(COOKIE, joined);
    }
}

/// Removes what is between two neighbours only (RFC 9110 7.6.1), what `Connection` names (but for `own`, the headers by
/// which trusted proxies say who asks), and what `also` says.
fn strip(headers: &mut HeaderMap, own: [Option<&HeaderName>; 3], also: impl Fn(&HeaderName) -> bool) {
    let mut gone: smallvec::SmallVec<[HeaderName; 4]> = smallvec::SmallVec::new();
    gone.extend(headers.keys().filter(|name| is_hop_by_hop(name) || also(name)).cloned());
    if gone.is_empty() {
        // As most messages are. Everything below is about fields that would be among them.
        return;
    }
    for line in headers.get_all(CONNECTION) {
        let named = line.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let named = named.filter_map(|name| HeaderName::from_bytes(name).ok());
        // Nobody may remove what the message cannot do without, or who sent it.
        gone.extend(named.filter(|name| !is_needed(name) && !is_origin(name) && !own.contains(&Some(name))));
    }
    // `TE: trailers` is the only exception: gRPC does not work without it.
    let mut codings = headers.get_all(TE).iter().flat_map(|te| te.as_bytes().split(|byte| *byte == b','));
    let trailers = codings.any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"trailers"));
    for name in gone {
        headers.remove(name);
    }
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

fn is_needed(name: &HeaderName) -> bool {
    [HOST, CONTENT_LENGTH, CONTENT_TYPE, CONTENT_ENCODING].contains(name)
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    *name == CONNECTION
        || *name == TRANSFER_ENCODING
        || *name == UPGRADE
        || *name == TE
        || matches!(
            name.as_str(),
            "keep-alive"
                | "proxy-connection"
                | "proxy-authenticate"
                | "proxy-authorization"
                | "http2-settings"
        )
}

/// Fields by which an upstream might take a request for another method, or another path, than the one that was limited.
fn is_override(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "x-http-method-override" | "x-http-method" | "x-method-override" | "x-original-url" | "x-rewrite-url"
    )
}

/// The two fields that list hops, of which a trusted proxy writes at most the one that the policy names.
fn is_list_of_hops(name: &HeaderName) -> bool {
    *name == FORWARDED || name == "x-forwarded-for"
}

/// The field by which trusted proxies say which tier a client has.
fn tier_header(settings: &Settings) -> Option<&HeaderName> {
    // There is at most one: the settings are refused otherwise.
    settings.tier_from.iter().find_map(|source| match source {
        TierFrom::Header(name) => Some(name),
        TierFrom::Consumers | TierFrom::Jwt(_) => None,
    })
}

/// The field by which trusted proxies say how important a request is.
pub(crate) fn priority_header(settings: &Settings) -> Option<&HeaderName> {
    settings.priorities.as_ref()?.header.as_ref().map(|(name, _)| name)
}

/// The field by which the policy's trusted proxies say it, if it is one of their own.
pub(crate) const fn own_header(trusted: &TrustedProxies) -> Option<&HeaderName> {
    match trusted.header() {
        Some(ForwardHeader::Other(name)) => Some(name),
        Some(ForwardHeader::XForwardedFor | ForwardHeader::Forwarded) | None => None,
    }
}
