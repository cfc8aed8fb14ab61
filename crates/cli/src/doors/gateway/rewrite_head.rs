//! Rewrites the heads of requests and responses for forwarding.

use std::net::IpAddr;
use std::sync::PoisonError;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{CONNECTION, EXPECT, Entry, FORWARDED, HOST, TE, VIA};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri, Version, request};

use super::client_connection::ClientConnection;
use super::sanitize;
use crate::settings::{Forwarding, Upstream};
use crate::telemetry::logs::X_REQUEST_ID;

/// For the client.
pub(crate) const NO_HOST: &str = "the request names no host: send one Host header";
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// A head that is to be forwarded.
pub(crate) struct ForwardedHead<'a> {
    pub(crate) client: &'a ClientConnection,
    /// The address that a trusted proxy gave for the client, if the peer is such a proxy.
    pub(crate) behind: Option<IpAddr>,
    /// The request's name, for the upstream's lines.
    pub(crate) id: &'a HeaderValue,
    /// The path to be forwarded, if it is not the one that came.
    pub(crate) path: Option<&'a str>,
    /// Whether the upstream is spoken to in HTTP/2.
    pub(crate) http2: bool,
}

/// Writes a request's head anew. What does not go on has been taken out of it.
///
/// # Errors
/// When it cannot be written: a sentence for the client.
pub(crate) fn request(
    parts: &mut request::Parts,
    out: &ForwardedHead<'_>,
    settings: (&Forwarding, &Upstream),
) -> Result<(), &'static str> {
    let (forwarding, upstream) = settings;
    let host = host(parts).ok_or(NO_HOST)?;
    // The gateway answers that itself, as soon as the upstream takes the body.
    parts.headers.remove(EXPECT);
    origin(&mut parts.headers, out, &host)?;
    parts.headers.append(VIA, out.client.worker.via.of(parts.version));
    parts.headers.insert(X_REQUEST_ID, out.id.clone());
    let named = if forwarding.keep_host { host } else { authority_of(upstream)? };
    uri(parts, out, &named, upstream.tls)?;
    if out.http2 {
        parts.headers.remove(HOST);
        parts.version = Version::HTTP_2;
    } else {
        if parts.headers.contains_key(TE) {
            // It is for this neighbour, and no further (RFC 9110 10.1.4).
            parts.headers.insert(CONNECTION, HeaderValue::from_static("te"));
        }
        parts.headers.insert(HOST, named);
        parts.version = Version::HTTP_11;
    }
    // What was agreed on with the client's connection is of no meaning on another.
    parts.extensions.clear();
    Ok(())
}

/// Writes a response's head anew.
pub(crate) fn response(headers: &mut HeaderMap, version: Version, via: &Via) {
    sanitize::response(headers);
    headers.append(VIA, via.of(version));
}

/// `Via: 1.1 tollgate`: that something came this way, and in which version. Written once for each.
#[derive(Debug)]
pub(crate) struct Via([HeaderValue; 3]);

impl Via {
    /// By what the gateway calls itself.
    pub(crate) fn new(name: &str) -> Self {
        // Settings are checked before they are in force.
        let unnamed = |_| HeaderValue::from_static("1.1 tollgate");
        Self(
            ["1.0", "1.1", "2"]
                .map(|version| HeaderValue::try_from(format!("{version} {name}")).unwrap_or_else(unnamed)),
        )
    }

    fn of(&self, version: Version) -> HeaderValue {
        let [old, usual, http2] = &self.0;
        match version {
            Version::HTTP_10 => old.clone(),
            Version::HTTP_2 => http2.clone(),
            _ => usual.clone(),
        }
    }
}

/// Whether some host is asked.
pub(crate) fn has_host(parts: &request::Parts) -> bool {
    match parts.uri.authority() {
        Some(authority) => !authority.as_str().is_empty(),
        None => parts.headers.get(HOST).is_some_and(|host| !host.is_empty()),
    }
}

/// The host that is asked: of the target, else of the header. A policy has checked that they agree.
pub(crate) fn host(parts: &request::Parts) -> Option<HeaderValue> {
    let host = match parts.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => parts.headers.get(HOST).cloned(),
    };
    host.filter(|host| !host.is_empty())
}

fn authority_of(upstream: &Upstream) -> Result<HeaderValue, &'static str> {
    let usual = if upstream.tls { 443 } else { 80 };
    let text = if upstream.port == usual {
        upstream.host.clone()
    } else {
        format!("{}:{}", upstream.host, upstream.port)
    };
    HeaderValue::try_from(text).map_err(|_| "the upstream has no host name that can be sent")
}

/// Says where a request comes from. What strangers say of it is gone already; what trusted proxies say is added to. In the
/// list that a trusted proxy does not write, the address that it gave for the client stands before its own.
fn origin(headers: &mut HeaderMap, out: &ForwardedHead<'_>, host: &HeaderValue) -> Result<(), &'static str> {
    let client = out.client;
    let proto = if client.secure { "https" } else { "http" };
    match headers.entry(X_FORWARDED_FOR) {
        Entry::Vacant(place) => {
            place.insert(match out.behind {
                None => client.address.clone(),
                Some(address) => value(format!("{address}, {}", client.peer).into())?,
            });
        }
        Entry::Occupied(_) => {
            let address = joined(headers, &X_FORWARDED_FOR, client.address.as_bytes())?;
            headers.insert(X_FORWARDED_FOR, address);
        }
    }
    if let Entry::Vacant(place) = headers.entry(X_FORWARDED_PROTO) {
        place.insert(HeaderValue::from_static(proto));
    }
    if let Entry::Vacant(place) = headers.entry(X_FORWARDED_HOST) {
        place.insert(host.clone());
    }
    // A connection mostly asks for one host, so what was written last is mostly right.
    let mut last = client.forwarded.lock().unwrap_or_else(PoisonError::into_inner);
    let ours = match &*last {
        Some((asked, ours)) if asked == host => ours.clone(),
        Some(_) | None => {
            let ours = forwarded(client, host, proto)?;
            // A copy: what a client sent is a piece of all that was read with it, which would stay as long as this does.
            *last = HeaderValue::from_bytes(host.as_bytes()).ok().map(|host| (host, ours.clone()));
            ours
        }
    };
    drop(last);
    if let (Some(address), false) = (out.behind, headers.contains_key(FORWARDED)) {
        headers.insert(FORWARDED, value(forwarded_for(address).into())?);
    }
    let all = match headers.contains_key(FORWARDED) {
        true => joined(headers, &FORWARDED, ours.as_bytes())?,
        false => ours,
    };
    headers.insert(FORWARDED, all);
    Ok(())
}

/// An address as a member of `Forwarded`.
pub(crate) fn forwarded_for(address: IpAddr) -> String {
    if address.is_ipv6() { format!("for=\"[{address}]\"") } else { format!("for={address}") }
}

/// Our part of `Forwarded`.
fn forwarded(
    client: &ClientConnection,
    host: &HeaderValue,
    proto: &str,
) -> Result<HeaderValue, &'static str> {
    let mut ours = BytesMut::with_capacity(64);
    ours.put_slice(client.forwarded_for.as_bytes());
    ours.put_slice(b";host=\"");
    ours.put_slice(host.as_bytes());
    ours.put_slice(b"\";proto=");
    ours.put_slice(proto.as_bytes());
    value(ours.freeze())
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
        .map_err(|_| "a header cannot be forwarded: it contains invalid bytes")
}

/// The target: the path that was matched, and the query as it came.
fn uri(
    parts: &mut request::Parts,
    out: &ForwardedHead<'_>,
    host: &HeaderValue,
    secure: bool,
) -> Result<(), &'static str> {
    let unchanged = out.path.is_none() && parts.uri.authority().is_none();
    if unchanged && !out.http2 {
        return Ok(());
    }
    const CANNOT: &str = "the target cannot be forwarded";
    let target = match out.path {
        // Of `http://host?query` the path is empty, and a target in origin form begins with a slash (RFC 9112 3.2.1). The slash is
        // written when the target is displayed.
        None => match parts.uri.path_and_query() {
            Some(target) if target.as_str().starts_with('?') => {
                PathAndQuery::try_from(target.to_string()).map_err(|_| CANNOT)?
            }
            target => target.cloned().ok_or(CANNOT)?,
        },
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
