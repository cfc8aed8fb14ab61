//! ResponseConfig that say what is wrong, as problems (RFC 9457). What a refusal says is `refusal`'s.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};

use tollgate_engine::CheckError;

use crate::peer::unknown_peer;
use crate::response::error_response::{ErrorKind, ErrorResponse};
use crate::response::json;

/// The members of a problem's body, in the order in which they are written.
pub const MEMBERS: [&str; 7] =
    ["type", "title", "status", "detail", "violated-policies", "retry_after", "policies"];

/// A problem in answer to a request: for any status, with a title of a few words and a detail that is a sentence.
///
/// Neither may hold what a client sent, unless it was escaped: they are written as text, and people read them.
///
/// ```
/// use http::StatusCode;
/// let answer = tollgate_tower::problem::answer(StatusCode::BAD_GATEWAY, "Bad Gateway", "The upstream cannot be reached.");
/// let body = r#"{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"The upstream cannot be reached."}"#;
/// assert_eq!(answer.body, body);
/// assert_eq!(answer.headers["content-type"], "application/problem+json");
/// assert_eq!(answer.headers["cache-control"], "no-store");
/// ```
#[must_use]
pub fn answer(status: StatusCode, title: &str, detail: &str) -> ErrorResponse {
    let mut body = Vec::with_capacity(128);
    body.push(b'{');
    head(&mut body, "about:blank", title, status);
    json::text(&mut body, "detail", detail);
    body.push(b'}');
    let mut headers = HeaderMap::with_capacity(4);
    common(&mut headers);
    let kind = ErrorKind::of(status);
    ErrorResponse { status, headers, body: Bytes::from(body), kind, retry: None }
}

/// The request is wrong.
pub(crate) fn bad_request(why: &str) -> ErrorResponse {
    answer(StatusCode::BAD_REQUEST, "Bad Request", why)
}

/// The response to a request that could not be checked.
pub(crate) fn of_error(error: &CheckError) -> ErrorResponse {
    match error {
        CheckError::BadRequest(why) => bad_request(why),
        CheckError::InvalidToken(why) => invalid_token(why),
        CheckError::NotFound => not_found(),
        CheckError::MethodNotAllowed { allowed } => method_not_allowed(allowed),
        CheckError::UnknownPeer => internal(&unknown_peer()),
        // The server is misconfigured.
        error @ (CheckError::Hit(_) | _) => internal(&error.to_string()),
    }
}

/// The token that says who is asking is not valid (RFC 6750 3).
fn invalid_token(why: &str) -> ErrorResponse {
    let mut answer = answer(StatusCode::UNAUTHORIZED, "Unauthorized", why);
    let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
    answer.headers.insert(WWW_AUTHENTICATE, challenge);
    answer
}

/// No operation has this path.
pub(crate) fn not_found() -> ErrorResponse {
    answer(StatusCode::NOT_FOUND, "Not Found", "No operation of this API has this path.")
}

/// The path is there, with these methods.
pub(crate) fn method_not_allowed(methods: &str) -> ErrorResponse {
    let detail = "The path is there, but not with this method.";
    let mut answer = answer(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed", detail);
    answer.headers.extend(HeaderValue::from_str(methods).ok().map(|methods| (ALLOW, methods)));
    answer
}

/// Something is wrong on this side.
pub(crate) fn internal(why: &str) -> ErrorResponse {
    answer(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", why)
}

/// The members that every problem begins with.
pub(crate) fn head(body: &mut Vec<u8>, kind: &str, title: &str, status: StatusCode) {
    json::text(body, "type", kind);
    json::text(body, "title", title);
    json::number(body, "status", u64::from(status.as_u16()));
}

/// The fields that every problem has. No cache may keep it: the next request may be granted (RFC 6585).
pub(crate) fn common(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
}
