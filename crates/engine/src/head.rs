//! The head of a request, independent of the protocol.

use std::any::Any;
use std::net::IpAddr;
use std::time::Duration;

use http::{Extensions, HeaderMap, Uri};

/// The head of a request: everything an [`Enforcer`](crate::Enforcer) may read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RequestHead<'a> {
    /// The method.
    pub method: &'a str,
    /// The target: path and query, or a URI in absolute form.
    pub target: &'a str,
    /// The host of the target, if the protocol carries it outside the headers; otherwise the `Host` header is read.
    pub authority: Option<&'a str>,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// What earlier middleware attached to the request. Only rules read it.
    pub extensions: Option<&'a Extensions>,
    /// The address at the other end of the connection.
    pub peer: Option<IpAddr>,
    /// What is known about the body.
    pub body: Body,
    /// The body itself, if it was read and is not larger than [`BodyWanted::max_key`](crate::RequiredBody::max_key).
    pub body_text: Option<&'a [u8]>,
    /// A tier that replaces the one the policy would find.
    pub tier: Option<&'a str>,
    /// How long its client still waits for a response. A request never waits for a limit for longer. `None` if that is not known.
    pub time_left: Option<Duration>,
}

/// What is known about a request's body.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub enum Body {
    /// It cannot be read. A limit that counts the operations in it charges its maximum, and a key in it counts as missing.
    #[default]
    Unreadable,
    /// It has not been read. If a limit counts the operations in it or looks for a key in it, the check charges nothing and returns
    /// [`Outcome::NeedsBody`](crate::Outcome::NeedsBody).
    #[cfg(feature = "policy")]
    Unread,
    /// It was read.
    #[cfg(feature = "policy")]
    Read {
        /// The operations in it; `None` if they could not be counted, which costs the maximum.
        operations: Option<u64>,
        /// What the check that asked for the body found out, so that it is not looked up again.
        matched: tollgate_policy::RequestMatch,
    },
}

impl<'a> RequestHead<'a> {
    /// A head without a peer and without a readable body.
    #[must_use]
    pub const fn new(method: &'a str, target: &'a str, headers: &'a HeaderMap) -> Self {
        let (authority, extensions, peer, body_text, tier, time_left) = (None, None, None, None, None, None);
        let body = Body::Unreadable;
        Self { method, target, authority, headers, extensions, peer, body, body_text, tier, time_left }
    }

    /// A head whose target is a parsed URI.
    #[must_use]
    pub fn of_uri(method: &'a http::Method, uri: &'a Uri, headers: &'a HeaderMap) -> Self {
        let authority = uri.authority().map(http::uri::Authority::as_str);
        let target = match uri.path_and_query().map(http::uri::PathAndQuery::as_str) {
            // `CONNECT host:port`
            None | Some("") => authority.unwrap_or(""),
            Some(target) => target,
        };
        Self { authority, ..Self::new(method.as_str(), target, headers) }
    }

    /// Sets the address at the other end of the connection.
    #[must_use]
    pub const fn with_peer(self, peer: IpAddr) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// Sets what is known about the body.
    #[must_use]
    pub const fn with_body(self, body: Body) -> Self {
        Self { body, ..self }
    }

    /// Sets the text of a body that was read. Limits that look for a key in the body need it.
    #[must_use]
    pub const fn with_body_text(self, body_text: Option<&'a [u8]>) -> Self {
        Self { body_text, ..self }
    }

    /// Sets what earlier middleware attached to the request.
    #[must_use]
    pub const fn with_extensions(self, extensions: &'a Extensions) -> Self {
        Self { extensions: Some(extensions), ..self }
    }

    /// Sets how long its client still waits for a response.
    #[must_use]
    pub const fn with_time_left(self, time_left: Option<Duration>) -> Self {
        Self { time_left, ..self }
    }

    /// Sets the tier, in place of the one the policy would find.
    #[must_use]
    pub const fn with_tier(self, tier: Option<&'a str>) -> Self {
        Self { tier, ..self }
    }

    /// The path of the target, as it was sent.
    #[must_use]
    pub fn path(&self) -> &'a str {
        self.target.split_once('?').map_or(self.target, |(path, _)| path)
    }

    /// What earlier middleware attached to the request, by its type: a verified user, say.
    #[must_use]
    pub fn extension<T: Any + Clone + Send + Sync>(&self) -> Option<&'a T> {
        self.extensions?.get()
    }

    /// The normalised path, if it differs from the path that was sent: what was matched must be what is forwarded.
    #[cfg(feature = "policy")]
    pub(crate) fn other_path(&self, normal: &str) -> Option<String> {
        if normal.as_ptr() == self.target.as_ptr() {
            // Most paths are normal already: the same text in the same place.
            let rest = self.target.as_bytes().get(normal.len()..).unwrap_or(&[]);
            if matches!(rest.first(), None | Some(b'?')) {
                return None;
            }
        }
        let sent = match self.path() {
            "" => "/",
            path if path.starts_with('/') || path == "*" => path,
            // An authority, or a URI in absolute form: there is no path to replace.
            _ => return None,
        };
        (sent != normal).then(|| normal.to_owned())
    }
}
