//! `Max-Forwards` of TRACE and OPTIONS (RFC 9110 7.6.2), and the response when it is 0.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, MAX_FORWARDS, VIA, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, Method, StatusCode, request};
use tollgate_tower::{ErrorResponse, problem};

/// For the client.
const NOT_A_NUMBER: &str = "Max-Forwards must be a single whole number: send one, or omit the header";
/// The fields of a TRACE that its response repeats: none that may hold a secret.
const REFLECTED: [HeaderName; 3] = [HOST, VIA, MAX_FORWARDS];

/// How far a request may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MaxForwards {
    /// To the upstream.
    Upstream,
    /// Only as far as this gateway.
    Here,
}

/// Takes one step off what a request says, if it is one to which that applies.
///
/// # Errors
/// When it says no number: a sentence for the client.
pub(crate) fn step(parts: &mut request::Parts) -> Result<MaxForwards, &'static str> {
    if parts.method != Method::TRACE && parts.method != Method::OPTIONS {
        return Ok(MaxForwards::Upstream);
    }
    let mut lines = parts.headers.get_all(MAX_FORWARDS).iter();
    let steps = match (lines.next(), lines.next()) {
        (None, _) => return Ok(MaxForwards::Upstream),
        (Some(_), Some(_)) => return Err(NOT_A_NUMBER),
        (Some(line), None) => line.as_bytes().trim_ascii(),
    };
    if steps.is_empty() || !steps.iter().all(u8::is_ascii_digit) {
        return Err(NOT_A_NUMBER);
    }
    // A number with more digits than are counted is replaced by the largest one that is, as the RFC allows.
    let steps = std::str::from_utf8(steps).ok().and_then(|steps| steps.parse().ok()).unwrap_or(u32::MAX);
    match steps.checked_sub(1) {
        None => Ok(MaxForwards::Here),
        Some(left) => {
            parts.headers.insert(MAX_FORWARDS, HeaderValue::from(left));
            Ok(MaxForwards::Upstream)
        }
    }
}

/// The answer to a request that goes no further: of a TRACE, what came here.
pub(crate) fn answer(parts: &request::Parts) -> ErrorResponse {
    let mut answer = problem::answer(StatusCode::OK, "OK", "");
    answer.headers.remove(CONTENT_TYPE);
    answer.body = Bytes::new();
    if parts.method == Method::TRACE {
        answer.headers.insert(CONTENT_TYPE, HeaderValue::from_static("message/http"));
        answer.headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        answer.body = reflected(parts).into();
    }
    answer
}

/// The head of a request as it came here, without what may be secret (RFC 9110 9.3.8).
fn reflected(parts: &request::Parts) -> Vec<u8> {
    let mut head = format!("TRACE {} {:?}\r\n", parts.uri, parts.version).into_bytes();
    for name in REFLECTED {
        for value in parts.headers.get_all(&name) {
            for piece in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
                head.extend_from_slice(piece);
            }
        }
    }
    head.extend_from_slice(b"\r\n");
    head
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn stepped(method: &str, lines: &[&str]) -> (Result<MaxForwards, &'static str>, Option<String>) {
        let mut request = Request::builder().method(method);
        for line in lines {
            request = request.header(MAX_FORWARDS, *line);
        }
        let mut parts = request.body(()).unwrap().into_parts().0;
        let reach = step(&mut parts);
        (reach, parts.headers.get(MAX_FORWARDS).map(|left| left.to_str().unwrap().to_owned()))
    }

    #[test]
    fn a_step_is_taken_off_what_trace_and_options_say() {
        let left = |left: &str| Some(left.to_owned());
        for method in ["TRACE", "OPTIONS"] {
            for (lines, reach, said) in [
                (&[][..], Ok(MaxForwards::Upstream), None),
                (&["0"], Ok(MaxForwards::Here), left("0")),
                (&["00"], Ok(MaxForwards::Here), left("00")),
                (&["1"], Ok(MaxForwards::Upstream), left("0")),
                (&["10"], Ok(MaxForwards::Upstream), left("9")),
                (&["99999999999999999999999"], Ok(MaxForwards::Upstream), left("4294967294")),
                (&[""], Err(NOT_A_NUMBER), left("")),
                (&["+1"], Err(NOT_A_NUMBER), left("+1")),
                (&["1, 2"], Err(NOT_A_NUMBER), left("1, 2")),
                (&["1", "1"], Err(NOT_A_NUMBER), left("1")),
            ] {
                assert_eq!(stepped(method, lines), (reach, said), "{method} {lines:?}");
            }
        }
        for method in ["GET", "POST"] {
            assert_eq!(stepped(method, &["0"]), (Ok(MaxForwards::Upstream), left("0")), "it does not apply");
        }
    }
}
