//! Heads written anew: what a request and a response lose and gain on their way. What they mean was decided before.

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, FORWARDED, HOST, TE,
    TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, Version, request};

use super::client::Client;
use crate::settings::{Forwarding, Upstream};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A head that is to be forwarded.
pub(crate) struct Outgoing<'a> {
    pub(crate) client: &'a Client,
    /// Whether what the peer says of where a request comes from is believed.
    pub(crate) peer_trusted: bool,
    /// The path to be forwarded, if it is not the one that came.
    pub(crate) path: Option<&'a str>,
    /// Whether the upstream is spoken to in HTTP/2.
    pub(crate) http2: bool,
}

/// Writes a request's head anew.
///
/// # Errors
/// When it cannot be written: a sentence for the client.
pub(crate) fn request(
    parts: &mut request::Parts,
    out: &Outgoing<'_>,
    settings: (&Forwarding, &Upstream),
) -> Result<(), &'static str> {
    let (forwarding, upstream) = settings;
    let host = host(parts).ok_or("the request names no host: send one Host header")?;
    strip(&mut parts.headers, |name| {
        (!forwarding.method_override && is_method_override(name))
            || name == "proxy"
            || (!out.peer_trusted && is_forwarding(name))
    });
    // The gateway answers that itself, as soon as the upstream takes the body.
    parts.headers.remove(EXPECT);
    origin(&mut parts.headers, out, &host)?;
    append_via(&mut parts.headers, parts.version, &forwarding.via);
    let named = if forwarding.keep_host { host } else { authority_of(upstream)? };
    uri(parts, out, &named, upstream.tls)?;
    if out.http2 {
        parts.headers.remove(HOST);
        parts.version = Version::HTTP_2;
    } else {
        parts.headers.insert(HOST, named);
        parts.version = Version::HTTP_11;
    }
    Ok(())
}

/// Writes a response's head anew.
pub(crate) fn response(headers: &mut HeaderMap, version: Version, forwarding: &Forwarding) {
    strip(headers, |_| false);
    append_via(headers, version, &forwarding.via);
}

/// The host that is asked: of the target, else of the header. A policy has checked that they agree.
fn host(parts: &request::Parts) -> Option<HeaderValue> {
    match parts.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => parts.headers.get(HOST).cloned(),
    }
}

fn authority_of(upstream: &Upstream) -> Result<HeaderValue, &'static str> {
    let usual = if upstream.tls { 443 } else { 80 };
    let text = if upstream.port == usual {
        upstream.host.clone()
    } else {
        format!("{}:{}", upstream.host, upstream.port)
    };
    HeaderValue::try_from(text).map_err(|_| "the upstream has no name that could be sent")
}

/// Takes out what is between two neighbours only (RFC 9110 7.6.1), what `Connection` names, and what `also` says.
fn strip(headers: &mut HeaderMap, also: impl Fn(&HeaderName) -> bool) {
    let mut gone: smallvec::SmallVec<[HeaderName; 4]> = smallvec::SmallVec::new();
    for line in headers.get_all(CONNECTION) {
        let named = line.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let named = named.filter_map(|name| HeaderName::from_bytes(name).ok());
        // Nobody gets to take out what the message cannot do without.
        gone.extend(named.filter(|name| !is_needed(name)));
    }
    for name in headers.keys() {
        if is_hop_by_hop(name) || also(name) {
            gone.push(name.clone());
        }
    }
    // `TE: trailers` is the one thing that goes on: without it gRPC does not work.
    let trailers = headers.get(TE).is_some_and(|te| {
        te.as_bytes()
            .split(|byte| *byte == b',')
            .any(|part| part.trim_ascii().eq_ignore_ascii_case(b"trailers"))
    });
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

/// Fields by which an upstream might take a request for another method than the one that was limited.
fn is_method_override(name: &HeaderName) -> bool {
    matches!(name.as_str(), "x-http-method-override" | "x-http-method" | "x-method-override")
}

fn is_forwarding(name: &HeaderName) -> bool {
    *name == FORWARDED || name.as_str().starts_with("x-forwarded-")
}

/// Says where a request comes from. What strangers say of it is gone already; what trusted proxies say is added to.
fn origin(headers: &mut HeaderMap, out: &Outgoing<'_>, host: &HeaderValue) -> Result<(), &'static str> {
    let client = out.client;
    let proto = if client.secure { "https" } else { "http" };
    let address = joined(headers, &X_FORWARDED_FOR, client.address.as_bytes())?;
    headers.insert(X_FORWARDED_FOR, address);
    if !headers.contains_key(X_FORWARDED_PROTO) {
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(proto));
    }
    if !headers.contains_key(X_FORWARDED_HOST) {
        headers.insert(X_FORWARDED_HOST, host.clone());
    }
    let mut ours = BytesMut::with_capacity(64);
    ours.put_slice(client.forwarded_for.as_bytes());
    ours.put_slice(b";host=\"");
    ours.put_slice(host.as_bytes());
    ours.put_slice(b"\";proto=");
    ours.put_slice(proto.as_bytes());
    let forwarded = joined(headers, &FORWARDED, &ours)?;
    headers.insert(FORWARDED, forwarded);
    Ok(())
}

/// A list with one more at its end.
fn joined(headers: &HeaderMap, name: &HeaderName, last: &[u8]) -> Result<HeaderValue, &'static str> {
    let mut all = BytesMut::with_capacity(last.len());
    for line in headers.get_all(name) {
        all.put_slice(line.as_bytes());
        all.put_slice(b", ");
    }
    all.put_slice(last);
    value(all.freeze())
}

fn value(bytes: Bytes) -> Result<HeaderValue, &'static str> {
    HeaderValue::from_maybe_shared(bytes)
        .map_err(|_| "a header cannot be forwarded: it has bytes that none may have")
}

/// `Via: 1.1 tollgate`: that it came this way, and in which version.
fn append_via(headers: &mut HeaderMap, version: Version, name: &str) {
    let mut via = BytesMut::with_capacity(name.len().saturating_add(4));
    via.put_slice(match version {
        Version::HTTP_10 => b"1.0 ",
        Version::HTTP_2 => b"2 ".as_slice(),
        _ => b"1.1 ",
    });
    via.put_slice(name.as_bytes());
    if let Ok(via) = value(via.freeze()) {
        headers.append(VIA, via);
    }
}

/// The target: the path that was matched, and the query as it came.
fn uri(
    parts: &mut request::Parts,
    out: &Outgoing<'_>,
    host: &HeaderValue,
    secure: bool,
) -> Result<(), &'static str> {
    let unchanged = out.path.is_none() && parts.uri.authority().is_none();
    if unchanged && !out.http2 {
        return Ok(());
    }
    const CANNOT: &str = "the target cannot be forwarded";
    let target = match out.path {
        None => parts.uri.path_and_query().cloned().ok_or(CANNOT)?,
        Some(path) => {
            let mut target = String::with_capacity(path.len().saturating_add(16));
            target.push_str(path);
            if let Some(query) = parts.uri.query() {
                target.push('?');
                target.push_str(query);
            }
            PathAndQuery::try_from(target).map_err(|_| CANNOT)?
        }
    };
    let mut uri = http::uri::Parts::default();
    uri.path_and_query = Some(target);
    if out.http2 {
        uri.scheme = Some(if secure { Scheme::HTTPS } else { Scheme::HTTP });
        uri.authority = Some(Authority::try_from(host.as_bytes()).map_err(|_| CANNOT)?);
    }
    parts.uri = Uri::from_parts(uri).map_err(|_| CANNOT)?;
    Ok(())
}
