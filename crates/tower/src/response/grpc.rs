//! Converts error responses for gRPC: such clients read a gRPC status and would take a problem body for a broken message.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tollgate::Retry;
use tollgate_http::header::whole_number;

use crate::response::error_response::{ErrorKind, ErrorResponse};
use crate::response::json;

/// The content type of gRPC calls and responses; `+` and a message encoding may follow.
const TYPE: &[u8] = b"application/grpc";

const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// Milliseconds after which a client that retries automatically should do so.
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
/// Clients parse the value as an `i32`.
const PUSHBACK_MAX: u64 = i32::MAX.unsigned_abs() as u64;

/// Returns true if a request is a gRPC call, which its content type shows. A message encoding or parameters may follow the type.
/// gRPC-Web is a different protocol, for browsers and HTTP/1.1.
#[must_use]
pub fn is_call(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.as_bytes().split_at_checked(TYPE.len()));
    kind.is_some_and(|(kind, rest)| {
        kind.eq_ignore_ascii_case(TYPE) && matches!(rest.first(), None | Some(b'+' | b';' | b' ' | b'\t'))
    })
}

/// Converts a response to a gRPC "Trailers-Only" response: HTTP status 200, the gRPC status in a header, and the problem's detail
/// as its message. All rate-limit headers stay, including `Retry-After`. `grpc-retry-pushback-ms` tells clients that retry
/// automatically how long to wait, to the millisecond.
pub fn answer_call(answer: &mut ErrorResponse) {
    if let Some(Retry::After(wait)) = answer.retry {
        // Add the same whole seconds of jitter as in `Retry-After`; otherwise all clients would retry at once.
        let told =
            answer.headers.get(RETRY_AFTER).and_then(|told| whole_number(told.as_bytes())).unwrap_or(0);
        let later = told.saturating_sub(wait.secs_rounded_up().max(1)).saturating_mul(1_000);
        let millis = wait.get().div_ceil(1_000).saturating_add(later).min(PUSHBACK_MAX);
        answer.headers.insert(PUSHBACK, HeaderValue::from(millis));
    }
    let (status, message) = (status_of(answer), message_of(&answer.body));
    answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    answer.headers.insert(STATUS, HeaderValue::from_static(status));
    answer.headers.extend(message.map(|message| (MESSAGE, message)));
    (answer.status, answer.body) = (StatusCode::OK, Bytes::new());
}

/// The gRPC status of a response, as the number sent on the wire.
fn status_of(answer: &ErrorResponse) -> &'static str {
    const INVALID_ARGUMENT: &str = "3";
    const DEADLINE_EXCEEDED: &str = "4";
    const PERMISSION_DENIED: &str = "7";
    const RESOURCE_EXHAUSTED: &str = "8";
    const UNIMPLEMENTED: &str = "12";
    const INTERNAL: &str = "13";
    const UNAVAILABLE: &str = "14";
    const UNAUTHENTICATED: &str = "16";
    match answer.kind {
        ErrorKind::Refused => RESOURCE_EXHAUSTED,
        // Clients may retry after RESOURCE_EXHAUSTED, and a policy that chooses 429 may want that.
        ErrorKind::Zero if answer.status == StatusCode::TOO_MANY_REQUESTS => RESOURCE_EXHAUSTED,
        ErrorKind::Zero => PERMISSION_DENIED,
        // Retrying will not succeed, but clients may retry after RESOURCE_EXHAUSTED.
        ErrorKind::Never | ErrorKind::BadRequest => INVALID_ARGUMENT,
        ErrorKind::Unavailable => UNAVAILABLE,
        ErrorKind::NotFound | ErrorKind::MethodNotAllowed => UNIMPLEMENTED,
        ErrorKind::Other => match answer.status {
            StatusCode::UNAUTHORIZED => UNAUTHENTICATED,
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => RESOURCE_EXHAUSTED,
            StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT => DEADLINE_EXCEEDED,
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE => UNAVAILABLE,
            StatusCode::NOT_IMPLEMENTED => UNIMPLEMENTED,
            _ => INTERNAL,
        },
    }
}

/// The detail of a problem as a header value: everything but printable ASCII, and `%`, is percent-encoded.
fn message_of(body: &[u8]) -> Option<HeaderValue> {
    let mut message = Vec::new();
    for byte in json::find_text(body, "detail")?.bytes() {
        if matches!(byte, b' '..=b'~') && byte != b'%' {
            message.push(byte);
        } else {
            message.push(b'%');
            message.extend([byte >> 4, byte & 15].map(|digit| b"0123456789ABCDEF"[usize::from(digit)]));
        }
    }
    HeaderValue::from_maybe_shared(Bytes::from(message)).ok()
}

#[cfg(test)]
mod tests {
    use super::{answer_call, is_call};
    use crate::response::problem;
    use http::{HeaderMap, HeaderValue, StatusCode};
    use tollgate::{Micros, Retry};

    #[test]
    fn jitter_of_retry_after_is_also_added_to_the_pushback() {
        for (wait, told, pushback) in [
            (300, "1", "300"),
            (1_000, "1", "1000"),
            (1_001, "2", "1001"),
            (1_001, "7", "6001"),
            (300, "4", "3300"),
        ] {
            let mut answer = problem::answer(StatusCode::TOO_MANY_REQUESTS, "Title", "detail");
            answer.retry = Some(Retry::After(Micros::from_millis(wait)));
            answer.headers.insert("retry-after", HeaderValue::from_static(told));
            answer_call(&mut answer);
            assert_eq!(answer.headers["grpc-retry-pushback-ms"], pushback, "{wait} {told}");
        }
    }

    #[test]
    fn a_call_is_recognised_by_its_content_type() {
        for (kind, is) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("Application/GRPC", true),
            ("application/grpc;charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/grpc-web+proto", false),
            ("application/json", false),
            ("", false),
        ] {
            let headers =
                HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(is_call(&headers), is, "{kind}");
        }
        assert!(!is_call(&HeaderMap::new()));
    }

    #[test]
    fn a_problem_is_a_status_and_its_sentence() {
        for (status, expected) in [
            (StatusCode::BAD_REQUEST, "3"),
            (StatusCode::NOT_FOUND, "12"),
            (StatusCode::METHOD_NOT_ALLOWED, "12"),
            (StatusCode::PAYLOAD_TOO_LARGE, "8"),
            (StatusCode::GATEWAY_TIMEOUT, "4"),
            (StatusCode::BAD_GATEWAY, "14"),
            (StatusCode::INTERNAL_SERVER_ERROR, "13"),
        ] {
            let mut answer = problem::answer(status, "Title", "100 % of it,\nand more: é");
            answer_call(&mut answer);
            assert_eq!((answer.status, answer.body.len()), (StatusCode::OK, 0));
            assert_eq!(answer.headers["grpc-status"], expected, "{status}");
            assert_eq!(answer.headers["grpc-message"], "100 %25 of it,%0Aand more: %C3%A9");
            assert_eq!(answer.headers["content-type"], "application/grpc");
            assert_eq!(answer.headers["cache-control"], "no-store");
        }
    }
}
