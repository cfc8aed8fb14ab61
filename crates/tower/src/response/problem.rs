//! Error responses in the problem format of RFC 9457. `refusal` writes those of exceeded limits.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};

use tollgate_engine::CheckError;

use crate::peer::unknown_peer;
use crate::response::error_response::{ErrorKind, ErrorResponse};
use crate::response::json;

/// The members of a problem body, in the order written.
pub const MEMBERS: [&str; 7] =
    ["type", "title", "status", "detail", "violated-policies", "retry_after", "policies"];

/// Creates a problem response with a status, a short title and a detail sentence.
///
/// Neither text may contain bytes that the client sent, unless the caller has escaped them: people read these texts.
///
/// ```
/// use http::StatusCode;
/// let answer = tollgate_tower::problem::answer(StatusCode::BAD_GATEWAY, "Bad Gateway", "The upstream is unreachable.");
/// let body = r#"{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"The upstream is unreachable."}"#;
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

/// 400.
pub(crate) fn bad_request(why: &str) -> ErrorResponse {
    answer(StatusCode::BAD_REQUEST, "Bad Request", why)
}

/// The response to a request that the enforcer could not check.
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

/// 401: the token that identifies the client is not valid (RFC 6750, section 3).
fn invalid_token(why: &str) -> ErrorResponse {
    let mut answer = answer(StatusCode::UNAUTHORIZED, "Unauthorized", why);
    let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
    answer.headers.insert(WWW_AUTHENTICATE, challenge);
    answer
}

/// 404: no operation has this path.
pub(crate) fn not_found() -> ErrorResponse {
    answer(StatusCode::NOT_FOUND, "Not Found", "This API has no operation at this path.")
}

/// 405, with the methods that the path supports.
pub(crate) fn method_not_allowed(methods: &str) -> ErrorResponse {
    let detail = "This path does not support this method.";
    let mut answer = answer(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed", detail);
    answer.headers.extend(HeaderValue::from_str(methods).ok().map(|methods| (ALLOW, methods)));
    answer
}

/// 500: the server is misconfigured or failed.
pub(crate) fn internal(why: &str) -> ErrorResponse {
    answer(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error", why)
}

/// Writes the members that every problem starts with.
pub(crate) fn head(body: &mut Vec<u8>, kind: &str, title: &str, status: StatusCode) {
    json::text(body, "type", kind);
    json::text(body, "title", title);
    json::number(body, "status", u64::from(status.as_u16()));
}

/// Adds the headers of every problem. Caches must not store it: the next request may be admitted (RFC 6585).
pub(crate) fn common(headers: &mut HeaderMap) {
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
}
