//! Errors of the HTTP endpoint as problem details (RFC 9457), which name the member of the request that is wrong.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
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
    /// The methods that the path has.
    allow: Option<&'static str>,
}

impl Problem {
    /// A problem with this status.
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), pointer: None, allow: None }
    }

    /// A request without a token that is right.
    pub(super) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, detail)
    }

    /// A method that the path does not have.
    pub(super) fn method(allow: &'static str) -> Self {
        let detail = format!("this path has the method {allow}");
        Self { allow: Some(allow), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// No decision, because something makes none now. It is neither a grant nor a refusal.
    pub(super) fn undetermined(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// With another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// With its place in the body.
    pub(super) fn at(self, pointer: String) -> Self {
        Self { pointer: Some(pointer), ..self }
    }

    /// The status.
    pub(super) const fn status(&self) -> StatusCode {
        self.status
    }

    #[cfg(test)]
    pub(super) fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }

    #[cfg(test)]
    pub(super) fn detail(&self) -> &str {
        &self.detail
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
        headers.extend(self.allow.map(|allow| (ALLOW, HeaderValue::from_static(allow))));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"tollgate\""));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
