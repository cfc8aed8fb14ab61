//! Rejects requests whose head is ambiguous, and removes the headers that are not forwarded. It checks no limits.

use http::header::HOST;
use http::uri::Scheme;
use http::{Method, StatusCode, Version, request};
use tollgate_http::trusted::TrustedProxies;
use tollgate_tower::{ErrorResponse, problem};

use super::client_connection::ClientConnection;
use super::error_response::Rejected;
use super::{framing, rewrite_head, sanitize};
use crate::active_policy::ActivePolicy;

/// Rejects an ambiguous head and removes headers that are not forwarded, so that the limits see exactly what the upstream gets.
pub(super) fn prepare(
    parts: &mut request::Parts,
    client: &ClientConnection,
    live: &ActivePolicy,
) -> Result<(), Rejected> {
    framing::of_request(&parts.headers).map_err(bad)?;
    let nowhere = parts.version == Version::HTTP_11 && !parts.headers.contains_key(HOST);
    if nowhere || !rewrite_head::has_host(parts) {
        return Err(bad(rewrite_head::NO_HOST));
    }
    if parts.uri.scheme().is_some_and(|scheme| *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS) {
        return Err(bad("the request target has an unsupported scheme: use http or https"));
    }
    if parts.method == Method::CONNECT {
        return Err(Rejected::Answer(Box::new(not_implemented("this gateway does not support CONNECT"))));
    }
    let policy = live.limits.policy();
    let peer_trusted = policy.settings().trusted_proxies.peer_is_trusted(client.peer);
    sanitize::request(&mut parts.headers, &client.worker.settings.forwarding, peer_trusted, policy);
    if parts.version == Version::HTTP_2 {
        sanitize::join_cookies(&mut parts.headers);
    }
    Ok(())
}

pub(super) fn trusted_proxies(live: &ActivePolicy) -> &TrustedProxies {
    &live.limits.policy().settings().trusted_proxies
}

pub(super) fn bad(detail: &str) -> Rejected {
    Rejected::Answer(Box::new(problem::answer(StatusCode::BAD_REQUEST, "Bad Request", detail)))
}

pub(super) fn not_implemented(detail: &str) -> ErrorResponse {
    problem::answer(StatusCode::NOT_IMPLEMENTED, "Not Implemented", detail)
}
