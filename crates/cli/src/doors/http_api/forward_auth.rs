//! Forward authentication: a proxy asks whether it may pass on a request, which it describes in headers.
//!
//! There is a path for each dialect, so that a client cannot choose which headers are read by sending others.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, request};
use http_body_util::Full;
use tollgate_engine::Outcome;
use tollgate_tower::{ErrorKind, ErrorResponse, Reply};

use super::Endpoint;
use super::problem::{Answer, Problem};
use super::request_facts::{Described, TARGET_CHARS_MAX, ask};
use crate::active_policy::ActivePolicy;

/// The header that a proxy sends its token in: `Authorization` is the client's.
pub(super) const TOKEN: HeaderName = HeaderName::from_static("x-tollgate-token");
/// The header that tells nginx which status to answer with: of `auth_request` it knows only 401 and 403.
const STATUS: HeaderName = HeaderName::from_static("x-tollgate-status");

/// How a proxy describes a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    /// nginx's `auth_request`: `X-Original-Method` and `X-Original-URI`.
    Nginx,
    /// Traefik's `forwardAuth` and Caddy's `forward_auth`: `X-Forwarded-Method` and `X-Forwarded-Uri`.
    Forwarded,
    /// Envoy's `ext_authz` over HTTP: its own method, and its own path behind the prefix.
    Envoy,
}

/// The path of Envoy's dialect; the request's own path follows.
const ENVOY: &str = "/v1/auth/envoy";

impl Dialect {
    /// The dialect of a path.
    pub(super) fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/auth/nginx" => Some(Self::Nginx),
            "/v1/auth/forwarded" => Some(Self::Forwarded),
            _ => path.strip_prefix(ENVOY).filter(|rest| rest.starts_with('/')).map(|_| Self::Envoy),
        }
    }

    /// The headers with the method, the target and the host.
    const fn headers(self) -> Option<[&'static str; 3]> {
        match self {
            Self::Nginx => Some(["x-original-method", "x-original-uri", "x-original-host"]),
            Self::Forwarded => Some(["x-forwarded-method", "x-forwarded-uri", "x-forwarded-host"]),
            Self::Envoy => None,
        }
    }
}

/// Answers a proxy.
pub(super) async fn answer(
    endpoint: &Endpoint,
    live: &Arc<ActivePolicy>,
    (dialect, peer, parts): (Dialect, IpAddr, request::Parts),
) -> Answer {
    // Envoy asks with the method of the request itself.
    let is_asked = matches!(parts.method, Method::GET | Method::HEAD) || dialect == Dialect::Envoy;
    if !is_asked {
        return Problem::method("GET, HEAD").answer();
    }
    let trusted = &live.limits.policy().settings().trusted_proxies;
    if !trusted.peer_is_trusted(peer) {
        endpoint.context.metrics.denied.inc();
        let detail =
            "this peer is not one of the `trusted_proxies` of the policy, so its headers are not believed";
        return Problem::new(StatusCode::FORBIDDEN, detail).answer();
    }
    let described = match describe(dialect, peer, parts) {
        Ok(described) => described,
        Err(problem) => {
            endpoint.context.metrics.invalid.inc();
            return problem.answer();
        }
    };
    let outcome = ask(live, &described).await;
    let metrics = &endpoint.context.metrics;
    match &outcome {
        Ok(Outcome::Admitted(_)) => metrics.granted.inc(),
        Ok(Outcome::Refused(_)) => metrics.refused.inc(),
        Ok(Outcome::Undetermined(_)) => metrics.undetermined.inc(),
        _ => metrics.invalid.inc(),
    }
    match live.responses.reply(outcome, &described.headers) {
        Reply::Admitted(admission) => {
            let mut response = Response::new(Full::default());
            live.responses.write(&admission, StatusCode::OK, response.headers_mut());
            response
        }
        Reply::Rejected(rejection) => rejected(dialect, rejection),
    }
}

/// A rejection as the proxy can pass it on.
fn rejected(dialect: Dialect, mut rejection: ErrorResponse) -> Answer {
    let status = rejection.status;
    let is_plain = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if dialect == Dialect::Nginx && !is_plain {
        rejection.status = StatusCode::FORBIDDEN;
    }
    if dialect == Dialect::Nginx {
        rejection.headers.insert(STATUS, HeaderValue::from(status.as_u16()));
    }
    debug_assert!(rejection.kind != ErrorKind::Refused || !status.is_success(), "a refusal is no success");
    rejection.into_response_with(Full::from)
}

/// The request that a proxy describes.
fn describe(dialect: Dialect, peer: IpAddr, parts: request::Parts) -> Result<Described, Problem> {
    let wrong = |detail: String| Problem::new(StatusCode::BAD_REQUEST, detail);
    let request::Parts { method, uri, mut headers, .. } = parts;
    let (method, target, host) = match dialect.headers() {
        None => {
            let target = uri.path_and_query().map_or("", http::uri::PathAndQuery::as_str);
            let target = target.strip_prefix(ENVOY).unwrap_or_default().to_owned();
            (method, target, uri.authority().map(|host| host.as_str().to_owned()))
        }
        Some([method, target, host]) => {
            let sent =
                one(&headers, method)?.ok_or_else(|| wrong(format!("the proxy did not send `{method}`")))?;
            let sent: Method = sent.parse().map_err(|_| wrong(format!("`{method}` is no method")))?;
            let uri =
                one(&headers, target)?.ok_or_else(|| wrong(format!("the proxy did not send `{target}`")))?;
            (sent, uri.to_owned(), one(&headers, host)?.map(str::to_owned))
        }
    };
    if !target.starts_with('/') || target.len() > TARGET_CHARS_MAX {
        return Err(wrong(format!("the target is no path of at most {TARGET_CHARS_MAX} characters")));
    }
    // They are the proxy's: the policy sees the request's own.
    for name in [TOKEN, CONTENT_LENGTH, TRANSFER_ENCODING, HeaderName::from_static("x-tollgate-status")] {
        headers.remove(name);
    }
    for name in dialect.headers().into_iter().flatten() {
        headers.remove(name);
    }
    if let Some(host) = host {
        // The header names the host of this endpoint.
        let value = HeaderValue::from_str(&host).map_err(|_| wrong("the host is none".into()))?;
        headers.insert(HOST, value);
    }
    Ok(Described { method, target, host: None, headers, address: peer })
}

/// The value of a header that is there at most once.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, Problem> {
    let mut all = headers.get_all(name).into_iter();
    let (first, second) = (all.next(), all.next());
    let wrong = |what: &str| Problem::new(StatusCode::BAD_REQUEST, format!("`{name}` {what}"));
    if second.is_some() {
        return Err(wrong("is there twice: let the proxy replace what clients send"));
    }
    first.map(|value| value.to_str().map_err(|_| wrong("is not plain text"))).transpose()
}
