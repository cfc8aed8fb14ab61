//! What comes of asking: a request may pass, or is answered here. How that is worked out is `guard`'s.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tollgate::Retry;
use tollgate_policy::Matched;

use crate::fields::Fields;
use crate::later::Later;

/// What comes of asking.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved once or twice; a box would be an allocation a request"
)]
#[must_use = "a request that was answered must not pass"]
pub enum Asked {
    /// It may pass. What its limits said is in the [room](crate::Room::verdict).
    Pass(Pass),
    /// It is answered here, and does not pass.
    Answered(Box<Answer>),
}

/// A request that may pass, and what is to be done about it.
#[derive(Debug)]
pub struct Pass {
    /// What the request means.
    pub matched: Matched,
    /// What the response has to carry; see [`responded`](Self::responded).
    pub fields: Fields,
    /// The normalised path, if the request's own is another one: this is what was matched, and has to be forwarded.
    pub path: Option<String>,
    /// What is to be done with the response, if anything.
    pub later: Option<Later>,
    /// Whether it was let through without its limits' word: the store could not tell, or had no room for a key, so that a cell
    /// was charged which new keys have in common.
    pub degraded: bool,
}

impl Pass {
    /// Does with the response what is to be done: what it says about charges, and the fields that tell its client where it
    /// stands. Limits whose charges a 401 gives back are not told: their numbers are those of whom the client claims to be.
    pub fn responded(self, status: StatusCode, headers: &mut HeaderMap) {
        let Self { mut fields, later, .. } = self;
        if let Some(mut later) = later {
            if later.settling.denied(status) != 0 {
                fields = later.unclaimed.take().map_or_else(Fields::default, |unclaimed| *unclaimed);
            }
            later.responded(status, headers);
        }
        fields.write(headers);
    }
}

/// A whole answer to a request that does not pass. Its body is a problem (RFC 9457).
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its fields, but for `Content-Length`.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// What kind of answer it is.
    pub kind: AnswerKind,
    /// What the request means, if its limits were asked.
    pub matched: Option<Matched>,
    /// The limit that refused, by number: of several, the one that has to wait longest.
    pub refused_by: Option<usize>,
    /// How long the client has to wait, exactly: `Retry-After` is this in whole seconds, with the jitter.
    pub retry: Option<Retry>,
}

impl Answer {
    /// As a response, whose body is made by this.
    pub fn into_response_with<B>(self, body: impl FnOnce(Bytes) -> B) -> Response<B> {
        let mut response = Response::new(body(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

/// What kind of answer it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AnswerKind {
    /// A limit is used up: 429.
    Refused,
    /// A limit is smaller than what was asked for, so that waiting does not help: 422.
    Never,
    /// A limit is 0, so that no request is granted: 403 or 429, as the policy says.
    Zero,
    /// It cannot be told whether a limit is used up: 503.
    Unavailable,
    /// The request is wrong: 400.
    BadRequest,
    /// No operation has this path: 404.
    NotFound,
    /// No operation of this path has this method: 405.
    MethodNotAllowed,
    /// Another problem.
    Other,
}

impl AnswerKind {
    /// The kind of a problem that no limit is the reason for.
    pub(crate) fn of(status: StatusCode) -> Self {
        match status {
            StatusCode::BAD_REQUEST => Self::BadRequest,
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            _ => Self::Other,
        }
    }
}
