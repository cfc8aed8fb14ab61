//! From a path to what answers it, after the check of the token.

use std::net::IpAddr;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use super::problem::{Answer, Problem};
use super::{Endpoint, index_page};
use crate::doors::access::{Access, Denied};

/// Answers a request.
pub(super) async fn answer(endpoint: &Endpoint, _peer: IpAddr, request: Request<Incoming>) -> Answer {
    if let Err(problem) = check_token(&endpoint.context.access, request.headers()) {
        endpoint.context.metrics.denied.inc();
        return problem.answer();
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => text(index_page::TEXT),
        _ => Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path: see /").answer(),
    }
}

/// Whether the client has sent a token that is right: `Authorization: Bearer …`.
fn check_token(access: &Access, headers: &HeaderMap) -> Result<(), Problem> {
    let mut all = headers.get_all(AUTHORIZATION).into_iter();
    let one = all.next().filter(|_| all.next().is_none());
    let bearer = one.and_then(|value| {
        let (scheme, token) = value.as_bytes().split_at_checked("Bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"Bearer ").then_some(token)
    });
    access.check(bearer).map_err(|denied| match denied {
        Denied::NoToken => Problem::unauthorized("send a token: `Authorization: Bearer TOKEN`"),
        Denied::WrongToken => Problem::unauthorized("the token is not one of this endpoint"),
    })
}

fn text(text: &'static str) -> Answer {
    let mut response = Response::new(Full::from(text));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
