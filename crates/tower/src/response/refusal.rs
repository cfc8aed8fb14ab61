//! The response to a refused request: its status, headers and body.

mod ready;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use smallvec::SmallVec;
use tollgate_algorithms::{Micros, Mode, Retry};
use tollgate_engine::{BusyStatus, Visibility, ZeroStatus};

use crate::response::config::ResponseConfig;
use crate::response::error_response::{ErrorKind, ErrorResponse};
use crate::response::headers::{LimitHeaders, RenderedStatus};
use crate::response::rendered_limit::RenderedLimit;
use crate::response::{decimal, jitter, json, problem, structured_fields};

pub(crate) use ready::PreparedRefusal;

/// Start of the body of a 429: the problem type and title that IANA registers for an exceeded quota.
const REFUSED: &str = concat!(
    r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","#,
    r#""title":"Request cannot be satisfied as assigned quota has been exceeded","status":429"#,
);
/// Start of the body if retrying will never succeed.
const NEVER: &str = r#"{"type":"about:blank","title":"Unprocessable Content","status":422"#;
/// Start of the body if the limit is 0 and the policy chooses 403.
const FORBIDDEN: &str = r#"{"type":"about:blank","title":"Forbidden","status":403"#;
/// Start of the body if as many requests as a limit allows are in progress and the policy chooses 503.
const BUSY: &str = concat!(
    r#"{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","#,
    r#""title":"Request cannot be satisfied due to temporary server capacity constraints","status":503"#,
);
/// Problem type if the store fails; registered with IANA.
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
/// The title registered for this type.
const REDUCED_CAPACITY_TITLE: &str =
    "Request cannot be satisfied due to temporary server capacity constraints";

/// The response if an enforced limit refuses the request; `None` if none does.
///
/// The status is 429, with the wait in whole seconds, rounded up, so that a client that waits as told is admitted. A cost
/// above the limit's capacity gets 422: after a 429, clients would retry forever, and 422 tells them to change the request. It
/// is not 413, because the body need not be what is too large. A limit of 0 gets 403 or 429, as the policy chooses.
pub(crate) fn refused(
    lines: &[RenderedStatus<'_>],
    config: &ResponseConfig,
    now: Micros,
) -> Option<ErrorResponse> {
    let enforced = lines.iter().filter(|line| line.mode == Mode::Enforced);
    let refusing = enforced.filter_map(|line| Some((line.rendered, line.decision.retry()?)));
    let (mut longest, mut violated) = (None, SmallVec::<[_; 4]>::new());
    for (rendered, retry) in refusing {
        // Of two limits that will never admit the request, prefer one that admits no request at all.
        let rank = |rendered: &RenderedLimit, retry: Retry| (retry, rendered.capacity == 0);
        if longest.is_none_or(|(other, longest)| rank(rendered, retry) > rank(other, longest)) {
            longest = Some((rendered, retry));
        }
        let known = violated.iter().any(|known: &&RenderedLimit| known.name == rendered.name);
        if rendered.visibility != Visibility::Hidden && !known {
            violated.push(rendered);
        }
    }
    let (rendered, retry) = longest?;
    let seconds = match retry {
        Retry::After(wait) => Some(seconds_to_wait(wait, config)),
        Retry::Never => None,
    };
    let mut headers = HeaderMap::with_capacity(10);
    headers.extend(seconds.map(|seconds| (RETRY_AFTER, decimal::value(seconds))));
    LimitHeaders::of(lines.iter().copied().filter(|line| line.is_shown), config, now).write(&mut headers);
    problem::common(&mut headers);
    let (status, kind, start) = match (retry, rendered.capacity, rendered.zero_status) {
        (Retry::After(_), _, _)
            if rendered.busy_status == Some(BusyStatus::ServiceUnavailable) || is_shed(lines, rendered) =>
        {
            (StatusCode::SERVICE_UNAVAILABLE, ErrorKind::Refused, BUSY)
        }
        (Retry::After(_), _, _) => (StatusCode::TOO_MANY_REQUESTS, ErrorKind::Refused, REFUSED),
        (Retry::Never, 0, ZeroStatus::Forbidden) => (StatusCode::FORBIDDEN, ErrorKind::Zero, FORBIDDEN),
        (Retry::Never, 0, ZeroStatus::TooManyRequests) => {
            (StatusCode::TOO_MANY_REQUESTS, ErrorKind::Zero, REFUSED)
        }
        (Retry::Never, _, _) => (StatusCode::UNPROCESSABLE_ENTITY, ErrorKind::Never, NEVER),
    };
    let mut body = Vec::with_capacity(512);
    body.extend_from_slice(start.as_bytes());
    detail(&mut body, rendered, seconds);
    rest(&mut body, &violated, seconds, lines.iter().copied().filter(|line| line.is_shown));
    body.push(b'}');
    let body = Bytes::from(body);
    Some(ErrorResponse { status, headers, body, kind, retry: Some(retry) })
}

/// Whether a limit refuses a request because what is left of it is for more important ones: that is the service's state, and no fault of
/// the client.
fn is_shed(lines: &[RenderedStatus<'_>], rendered: &RenderedLimit) -> bool {
    let is_same = |line: &&RenderedStatus<'_>| line.rendered.number == rendered.number;
    rendered.busy_status.is_some()
        && lines
            .iter()
            .filter(is_same)
            .any(|line| line.decision.retry().is_some() && line.decision.remaining > 0)
}

/// The time until a permit is free is an estimate: nobody knows how long the requests in progress take.
const BUSY_DETAIL: &str = " allows are in progress. One of them may finish in ";
/// The same after the limit's name.
const BUSY_DETAIL_NAMED: &str = "' allows are in progress. One of them may finish in ";

/// The value of `Retry-After`.
fn seconds_to_wait(wait: Micros, config: &ResponseConfig) -> u64 {
    jitter::lengthen(wait, config.retry_jitter).secs_rounded_up().max(1)
}

/// Writes the `detail` member: the limit, the wait, and the limit's description.
fn detail(body: &mut Vec<u8>, rendered: &RenderedLimit, seconds: Option<u64>) {
    json::member(body, "detail");
    let hidden = rendered.visibility == Visibility::Hidden;
    let is_busy = rendered.busy_status.is_some();
    let (start, end) = match (seconds, hidden) {
        (Some(_), false) if is_busy => ("\"As many requests as limit '", BUSY_DETAIL_NAMED),
        (Some(_), true) if is_busy => ("\"As many requests as a limit", BUSY_DETAIL),
        (Some(_), false) => ("\"Rate limit '", "' exceeded. Retry in "),
        (Some(_), true) => ("\"Rate limit", " exceeded. Retry in "),
        (None, false) if rendered.capacity == 0 => ("\"Rate limit '", "' is 0: it allows no requests."),
        (None, true) if rendered.capacity == 0 => ("\"The rate limit", " is 0: it allows no requests."),
        (None, false) => {
            ("\"The request costs more than rate limit '", "' can ever allow. Retrying will not succeed.")
        }
        (None, true) => {
            ("\"The request costs more than a rate limit", " can ever allow. Retrying will not succeed.")
        }
    };
    let name = if hidden { "" } else { &rendered.name_json };
    for part in [start, name, end] {
        body.extend_from_slice(part.as_bytes());
    }
    if let Some(seconds) = seconds {
        structured_fields::digits(body, seconds);
        body.extend_from_slice(if is_busy { b" s (an estimate)." } else { b" s." });
    }
    if let Some(says) = rendered.description_json.as_deref().filter(|_| !hidden) {
        body.push(b' ');
        body.extend_from_slice(says.as_bytes());
    }
    body.push(b'"');
}

/// Writes the extension members: the violated limits, the wait, and the numbers of the visible limits.
fn rest<'a>(
    body: &mut Vec<u8>,
    violated: &[&RenderedLimit],
    seconds: Option<u64>,
    shown: impl Iterator<Item = RenderedStatus<'a>>,
) {
    json::member(body, "violated-policies");
    body.push(b'[');
    for (place, rendered) in violated.iter().enumerate() {
        body.extend_from_slice(if place > 0 { b",\"" } else { b"\"" });
        body.extend_from_slice(rendered.name_json.as_bytes());
        body.push(b'"');
    }
    body.push(b']');
    if let Some(seconds) = seconds {
        json::number(body, "retry_after", seconds);
    }
    let mut shown = shown.peekable();
    if shown.peek().is_none() {
        return;
    }
    json::member(body, "policies");
    body.push(b'[');
    for (place, line) in shown.enumerate() {
        body.extend_from_slice(if place > 0 { b",{" } else { b"{" });
        json::plain(body, "name", &line.rendered.name_json);
        json::number(body, "limit", line.decision.limit);
        json::number(body, "remaining", line.decision.remaining);
        json::number(body, "reset", line.decision.reset_after.secs_rounded_up());
        body.push(b'}');
    }
    body.push(b']');
}

/// The response if the store fails and a limit's failure rule denies the request.
pub(crate) fn unavailable() -> ErrorResponse {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    problem::common(&mut headers);
    let (status, kind) = (StatusCode::SERVICE_UNAVAILABLE, ErrorKind::Unavailable);
    let mut body = b"{".to_vec();
    problem::head(&mut body, REDUCED_CAPACITY, REDUCED_CAPACITY_TITLE, status);
    json::plain(&mut body, "detail", "Rate limiting is temporarily unavailable. Retry in 1 s.");
    // The names of the limits would not help the client, and some may be hidden.
    json::member(&mut body, "violated-policies");
    body.extend_from_slice(b"[]");
    json::number(&mut body, "retry_after", 1);
    body.push(b'}');
    let body = Bytes::from(body);
    ErrorResponse { status, headers, body, kind, retry: None }
}
