//! A request as a policy sees it: normalised path, single-valued headers, client address.

use std::fmt;
use std::net::IpAddr;

use http::{HeaderMap, header};
use tollgate_algorithms::Micros;

use crate::matching::body::RequestBody;
use crate::policy::Policy;
use tollgate_http::found::Lookup;
use tollgate_http::host::{self, HostError};
use tollgate_http::method::{self, MethodError};
use tollgate_http::path::{self, PathError};
use tollgate_http::target::{self, TargetError};
use tollgate_http::trusted::Origin;

/// A request as it came.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The method.
    pub method: &'a str,
    /// The target: `/p?q`, or in absolute form.
    pub target: &'a str,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// The authority of the connection, as in HTTP/2; else the `Host` header is read.
    pub authority: Option<&'a str>,
    /// Who is at the other end of the connection.
    pub peer: IpAddr,
    /// The wall clock, for tokens.
    pub now: Micros,
}

/// Room that is used again and again, so that requests are read without allocation.
#[derive(Debug, Default)]
pub struct Scratch {
    path: String,
    host: HostSeen,
}

/// The last host that was read, as it came and in its one form: mostly the next is the same.
#[derive(Debug, Default)]
struct HostSeen {
    raw: Vec<u8>,
    name: String,
    buffer: Vec<u8>,
}

impl HostSeen {
    fn canonical(&mut self, raw: &[u8]) -> Result<&str, HostError> {
        if self.raw != raw || raw.is_empty() {
            // Nothing is remembered of one that is wrong.
            self.raw.clear();
            let name = host::canonical(raw, &mut self.buffer)?.name;
            self.name.clear();
            self.name.push_str(name);
            self.raw.extend_from_slice(raw);
        }
        Ok(&self.name)
    }
}

/// What a policy knows of a request.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The method.
    pub method: &'a str,
    /// The normalised path: what is matched, and what has to be forwarded.
    pub path: &'a str,
    /// The query, without its question mark, as it came.
    pub query: Option<&'a str>,
    /// The host without its port, in lower case; empty if none was sent.
    pub host: &'a str,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The client's address, and how it was found.
    pub origin: Origin,
    /// Whether the peer is a hop whose word is taken.
    pub peer_trusted: bool,
    /// The wall clock.
    pub now: Micros,
    /// The body, if a key may stand in it.
    pub body: RequestBody<'a>,
    /// How many operations the body carries, if that was counted.
    pub body_operations: Option<u64>,
    /// How many GraphQL operations the query string carries: 0 if it carries none, [`u64::MAX`] if that cannot be told.
    pub query_operations: u64,
    /// A tier that is set from outside, in place of the policy's own source: for those who ask "what if".
    pub tier: Option<&'a str>,
}

/// Why a request is refused before any limit is looked at: it is wrong, or could mean two things. Nothing is charged.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadRequest {
    /// The method.
    Method(MethodError),
    /// The target.
    Target(TargetError),
    /// The path.
    Path(PathError),
    /// The host.
    Host(HostError),
    /// The request names two hosts.
    TwoHosts,
    /// A header that selects the route was sent twice or is malformed.
    TwoHeaders {
        /// The header's name.
        name: String,
    },
    /// A limit needs to identify the client, and the request has no credential.
    NoIdentity {
        /// The limit's name.
        limit: String,
    },
    /// A limit needs to identify the client, and the token is not valid.
    InvalidToken {
        /// The limit's name.
        limit: String,
    },
    /// The credential was sent more than once or is malformed.
    TwoIdentities {
        /// The limit's name.
        limit: String,
    },
    /// The cost in the request is not a number, or exceeds the maximum.
    Cost {
        /// The limit's name.
        limit: String,
        /// The maximum cost a client may request.
        max: u64,
    },
}

impl fmt::Display for BadRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(error) => write!(f, "{error}"),
            Self::Target(error) => write!(f, "{error}"),
            Self::Path(error) => write!(f, "{error}"),
            Self::Host(error) => write!(f, "{error}"),
            Self::TwoHosts => f.write_str("the request names two hosts: send one"),
            Self::TwoHeaders { name } => write!(f, "the header {name} was sent more than once: send it once"),
            Self::NoIdentity { limit } => {
                write!(f, "the limit `{limit}` requires a credential: send the one that the API documents")
            }
            Self::InvalidToken { limit } => {
                write!(f, "the token is not valid, and the limit `{limit}` requires one: send a valid token")
            }
            Self::TwoIdentities { limit } => {
                write!(
                    f,
                    "the credential for the limit `{limit}` was sent more than once or is malformed: send one"
                )
            }
            Self::Cost { limit, max } => {
                write!(f, "the cost for the limit `{limit}` must be a whole number from 1 to {max}")
            }
        }
    }
}

impl std::error::Error for BadRequest {}

impl Policy {
    /// Reads a request.
    ///
    /// # Errors
    /// When it is wrong, or could be read in two ways: see [`BadRequest`].
    pub fn facts<'a>(
        &self,
        request: &Request<'a>,
        scratch: &'a mut Scratch,
    ) -> Result<Facts<'a>, BadRequest> {
        let Scratch { path, host: seen } = scratch;
        let method = method::check_text(request.method).map_err(BadRequest::Method)?;
        let ParsedTarget { path, query, host } = match ParsedTarget::plainly(request.target) {
            Some(asked) => asked,
            None => ParsedTarget::in_full(method, request.target, (path, self.allows_slashes))?,
        };
        for name in &self.condition_headers {
            // The upstream may read the other one.
            if matches!(
                tollgate_http::header::find(request.headers, name),
                Lookup::Repeated | Lookup::Malformed
            ) {
                return Err(BadRequest::TwoHeaders { name: name.to_string() });
            }
        }
        let host = the_host([host, request.authority], request.headers)?;
        let host = match host {
            None => "",
            Some(raw) => seen.canonical(raw).map_err(BadRequest::Host)?,
        };
        let proxies = &self.settings.trusted_proxies;
        Ok(Facts {
            method,
            path,
            query,
            host,
            headers: request.headers,
            origin: proxies.client(request.peer, request.headers),
            peer_trusted: proxies.peer_is_trusted(request.peer),
            now: request.now,
            body: RequestBody::Unread,
            body_operations: None,
            query_operations: 0,
            tier: None,
        })
    }
}

/// What a target asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ParsedTarget<'a> {
    /// Normalised.
    path: &'a str,
    query: Option<&'a str>,
    /// In absolute and authority form.
    host: Option<&'a str>,
}

impl<'a> ParsedTarget<'a> {
    /// Of a target in origin form whose path is plainly normal, as most are; `None` for all others, and for those that may be
    /// wrong. It says the same as [`in_full`](Self::in_full), in one look at each byte.
    #[inline]
    fn plainly(target: &'a str) -> Option<Self> {
        let end = path::plain::end(target.as_bytes()).filter(|_| target.len() <= target::TARGET_MAX)?;
        let (path, rest) = target.split_at_checked(end)?;
        if rest.is_empty() {
            return Some(Self { path, query: None, host: None });
        }
        let query = rest.strip_prefix('?')?;
        let fine = query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        fine.then_some(Self { path, query: Some(query), host: None })
    }

    /// Of any target. The normal form of its path is written into `buffer`, unless it is as it came.
    fn in_full(
        method: &str,
        target: &'a str,
        (buffer, keeps_slashes): (&'a mut String, bool),
    ) -> Result<Self, BadRequest> {
        let target = target::parse(method, target.as_bytes()).map_err(BadRequest::Target)?;
        let normalise = if keeps_slashes { path::normalise_with_slashes } else { path::normalise };
        let path = normalise(target.path, buffer).map_err(BadRequest::Path)?;
        Ok(Self { path, query: target.query, host: target.host })
    }
}

/// The host that a request names, as it came: by its target, its connection or its header; `None` if by none of them.
#[inline]
fn the_host<'a>(named: [Option<&'a str>; 2], headers: &'a HeaderMap) -> Result<Option<&'a [u8]>, BadRequest> {
    let mut hosts = headers.get_all(&header::HOST).iter();
    let sent = match (hosts.next(), hosts.next()) {
        (_, Some(_)) => return Err(BadRequest::TwoHosts),
        (sent, None) => sent.map(http::HeaderValue::as_bytes).filter(|raw| !raw.is_empty()),
    };
    if let [None, None] = named {
        return Ok(sent);
    }
    // The target's own host goes before the connection's, and that before the header's (RFC 9112 3.2.2); but who names
    // several and different ones wants to be read in several ways.
    let named = named.into_iter().flatten().map(str::as_bytes).filter(|raw| !raw.is_empty());
    let mut named = named.chain(sent);
    let first = named.next();
    for other in named {
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let one = host::canonical(first.unwrap_or(b""), &mut one).map_err(BadRequest::Host)?.name;
        if one != host::canonical(other, &mut two).map_err(BadRequest::Host)?.name {
            return Err(BadRequest::TwoHosts);
        }
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_testing::dice::Dice;

    #[test]
    fn a_target_read_plainly_is_read_as_in_full() {
        let mut plain = 0;
        for seed in 0..300_000 {
            let mut dice = Dice::new(seed);
            let alphabet: &[u8] =
                if dice.below(2) == 0 { b"//..ab?=&;%%2fF5eE#\\*@: {\x00\x7f" } else { b"//abc.?x=%&" };
            let mut target = String::from_utf8(dice.soup(alphabet, 24)).unwrap();
            if dice.below(8) > 0 {
                target.insert(0, '/');
            }
            let Some(asked) = ParsedTarget::plainly(&target) else { continue };
            let mut buffer = String::new();
            for method in ["GET", "OPTIONS", "CONNECT"] {
                assert_eq!(
                    ParsedTarget::in_full(method, &target, (&mut buffer, false)),
                    Ok(asked),
                    "seed {seed}: {target:?}"
                );
            }
            plain += 1;
        }
        assert!(plain > 30_000, "only {plain} were plain");
    }

    #[test]
    fn what_could_be_wrong_is_not_read_plainly() {
        let longest = format!("/?{}", "q".repeat(target::TARGET_MAX - 2));
        let longer = format!("{longest}q");
        let table = [
            ("/", true),
            ("/a/b/", true),
            ("/a?", true),
            ("/a?b=/../%zz?//", true),
            (&longest, true),
            (&longer, false),
            ("/a?b#c", false),
            ("/a?b c", false),
            ("/a?\u{e9}", false),
            ("/a?\u{7f}", false),
            ("/a#b", false),
            ("/a%41", false),
            ("/a/../b", false),
            ("//a", false),
            ("/a\\b", false),
            ("*", false),
            ("", false),
            ("http://h/a", false),
            ("h:443", false),
        ];
        for (target, plain) in table {
            assert_eq!(ParsedTarget::plainly(target).is_some(), plain, "{target}");
        }
    }
}
