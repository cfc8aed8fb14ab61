//! Errors of the HTTP endpoint as problem details (RFC 9457), which name the member of the request that is wrong.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::json;

/// A response of the endpoint.
pub(super) type Answer = Response<Full<Bytes>>;

/// A request that is not answered by a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    /// Where in the body it is, as a JSON pointer (RFC 6901).
    pointer: Option<String>,
}

impl Problem {
    /// A problem with this status.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), pointer: None }
    }

    /// A request without a token that is right.
    pub(super) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, detail)
    }

    /// The response.
    pub(super) fn answer(&self) -> Answer {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let mut body = json!({
            "type": "about:blank",
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        if let (Some(pointer), Some(body)) = (&self.pointer, body.as_object_mut()) {
            body.insert("pointer".into(), pointer.as_str().into());
        }
        let mut response = Response::new(Full::from(body.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tollgate\""));
        }
        response
    }
}
