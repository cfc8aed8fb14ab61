//! A complete response to a rejected request. `refusal` and `problem` write it.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tollgate_algorithms::Retry;
use tollgate_engine::Refusal;

use super::config::ResponseConfig;
use super::writer::ResponseWriter;

/// A complete response to a rejected request. Its body is a problem (RFC 9457), unless a hook replaced it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ErrorResponse {
    /// The HTTP status.
    pub status: StatusCode,
    /// The headers, without `Content-Length`.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Why the request was rejected.
    pub kind: ErrorKind,
    /// The exact wait, if a limit refused the request. `Retry-After` is this wait in whole seconds, plus jitter.
    pub retry: Option<Retry>,
}

impl ErrorResponse {
    /// Converts this into a [`Response`], with a body made from the bytes.
    pub fn into_response_with<B>(self, body: impl FnOnce(Bytes) -> B) -> Response<B> {
        let mut response = Response::new(body(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// The response that the layer would send, for services that check requests with an [`Enforcer`](crate::Enforcer) themselves.
impl From<&Refusal> for ErrorResponse {
    fn from(refusal: &Refusal) -> Self {
        let descriptors = refusal.enforcer().descriptors();
        ResponseWriter::for_descriptors(descriptors, ResponseConfig::default()).refusal(refusal)
    }
}

/// Why a request was rejected.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A limit is exhausted: 429.
    Refused,
    /// The request costs more than a limit's capacity, so retrying will never succeed: 422.
    Never,
    /// A limit is 0 and admits no request: 403 or 429, as the policy chooses.
    Zero,
    /// The store failed and no decision was possible: 503.
    Unavailable,
    /// The request is malformed: 400.
    BadRequest,
    /// No operation has this path: 404.
    NotFound,
    /// No operation of this path has this method: 405.
    MethodNotAllowed,
    /// Another problem.
    Other,
}

impl ErrorKind {
    /// The kind of a problem that no limit caused.
    pub(crate) fn of(status: StatusCode) -> Self {
        match status {
            StatusCode::BAD_REQUEST => Self::BadRequest,
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            _ => Self::Other,
        }
    }
}
