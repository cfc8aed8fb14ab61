//! From a path to what answers it, after the check of the token.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use super::forward_auth::{self, Dialect, TOKEN};
use super::problem::{Answer, Problem};
use super::{Endpoint, body, explain, index_page, openapi, permits, verbs};
use crate::doors::access::{Access, Denied};

/// The verbs that have a body.
pub(super) const VERBS: [&str; 8] = [
    "/v1/check",
    "/v1/peek",
    "/v1/refund",
    "/v1/reserve",
    "/v1/commit",
    "/v1/cancel",
    "/v1/acquire",
    "/v1/release",
];

/// Answers a request.
pub(super) async fn answer(endpoint: &Endpoint, peer: IpAddr, request: Request<Incoming>) -> Answer {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let dialect = Dialect::of(path);
    if let Err(problem) = check_token(&endpoint.context.access, &parts.headers, dialect) {
        endpoint.context.metrics.denied.inc();
        return problem.answer();
    }
    let live = Arc::clone(&endpoint.context.common.live.load());
    if let Some(dialect) = dialect {
        return forward_auth::answer(endpoint, &live, (dialect, peer, parts)).await;
    }
    let method = &parts.method;
    let is_read = *method == Method::GET || *method == Method::HEAD;
    let result = match path {
        "/" | "/openapi.json" | "/v1/explain" if !is_read => Err(Problem::method("GET, HEAD")),
        "/" => Ok(page(index_page::HTML, "text/html; charset=utf-8")),
        "/openapi.json" => Ok(page(openapi::text(), "application/json")),
        "/v1/explain" => explain::answer(&live, parts.uri.query().unwrap_or_default()),
        verb if VERBS.contains(&verb) && *method != Method::POST => Err(Problem::method("POST")),
        verb if VERBS.contains(&verb) => match body::read(endpoint, &parts, body).await {
            Err(problem) => Err(problem),
            Ok(body) => match verb {
                "/v1/check" => verbs::check(endpoint, &live, body).await,
                "/v1/peek" => verbs::peek(endpoint, &live, body).await,
                "/v1/refund" => verbs::refund(endpoint, &live, body).await,
                "/v1/reserve" => verbs::reserve(endpoint, &live, body).await,
                "/v1/commit" => verbs::commit(&live, body).await,
                "/v1/cancel" => verbs::cancel(&live, body).await,
                "/v1/acquire" => permits::acquire(endpoint, &live, body),
                _ => permits::release(endpoint, body),
            },
        },
        _ => {
            Err(Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path: see / or /openapi.json"))
        }
    };
    result.unwrap_or_else(|problem| {
        if problem.status().is_client_error() {
            endpoint.context.metrics.invalid.inc();
        }
        let mut answer = problem.answer();
        if matches!(problem.status(), StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
            // What is left of the body is not read.
            answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    })
}

/// Whether the client has sent a token that is right: `Authorization: Bearer …`, or, from a proxy, [`TOKEN`].
fn check_token(access: &Access, headers: &HeaderMap, dialect: Option<Dialect>) -> Result<(), Problem> {
    if !access.asks_for_token() {
        return Ok(());
    }
    let name = if dialect.is_some() { TOKEN } else { AUTHORIZATION };
    let mut all = headers.get_all(name).into_iter();
    let one = all.next().filter(|_| all.next().is_none());
    let token = one.and_then(|value| {
        if dialect.is_some() {
            return Some(value.as_bytes());
        }
        let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
    });
    access.check(token).map_err(|denied| match (denied, dialect) {
        (Denied::NoToken, None) => Problem::unauthorized("send a token: `Authorization: Bearer TOKEN`"),
        (Denied::NoToken, Some(_)) => Problem::unauthorized("send a token: `X-Tollgate-Token: TOKEN`"),
        (Denied::WrongToken, _) => Problem::unauthorized("the token is not one of this endpoint"),
    })
}

fn page(text: &'static str, kind: &'static str) -> Answer {
    let mut response = Response::new(Full::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
