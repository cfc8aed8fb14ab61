//! The response to a refused request: its status, headers and body.

mod ready;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use smallvec::SmallVec;
use tollgate_algorithms::{Micros, Mode, Retry};
use tollgate_engine::{Visibility, ZeroStatus};

use crate::response::config::ResponseConfig;
use crate::response::error_response::{ErrorKind, ErrorResponse};
use crate::response::headers::{LimitHeaders, RenderedStatus};
use crate::response::rendered_limit::RenderedLimit;
use crate::response::{jitter, json, numbers, problem, sf};

pub(crate) use ready::Ready;

/// How the body of a refusal begins: with the type that is registered for it, and its words.
const REFUSED: &str = concat!(
    r#"{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","#,
    r#""title":"Request cannot be satisfied as assigned quota has been exceeded","status":429"#,
);
/// How it begins when waiting does not help.
const NEVER: &str = r#"{"type":"about:blank","title":"Unprocessable Content","status":422"#;
/// How it begins where the limit is 0, and the policy says 403.
const FORBIDDEN: &str = r#"{"type":"about:blank","title":"Forbidden","status":403"#;
/// When the store cannot tell.
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
/// The words that are registered for it.
const REDUCED_CAPACITY_TITLE: &str =
    "Request cannot be satisfied due to temporary server capacity constraints";

/// What is answered when a limit does not let a request go on. `None` if no enforced limit refuses it.
///
/// It is 429, with the wait in whole seconds, rounded up, so that whoever obeys is granted. A cost that is larger than a limit
/// ever allows is 422: a client that meets 429 waits and comes again, for ever, and a request that has to be changed is what
/// 422 is for. It is not 413, because what is too large need not be the body. A limit of 0 is 403 or 429, as the policy says:
/// there is no request that it would grant.
pub(crate) fn refused(
    lines: &[RenderedStatus<'_>],
    config: &ResponseConfig,
    now: Micros,
) -> Option<ErrorResponse> {
    let enforced = lines.iter().filter(|line| line.mode == Mode::Enforced);
    let refusing = enforced.filter_map(|line| Some((line.rendered, line.decision.retry()?)));
    let (mut longest, mut violated) = (None, SmallVec::<[_; 4]>::new());
    for (rendered, retry) in refusing {
        // Of two that never grant it, the one that grants no request at all.
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
    headers.extend(seconds.map(|seconds| (RETRY_AFTER, numbers::value(seconds))));
    LimitHeaders::of(lines.iter().copied().filter(|line| line.is_shown), config, now).write(&mut headers);
    problem::common(&mut headers);
    let (status, kind, start) = match (retry, rendered.capacity, rendered.zero_status) {
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

/// What `Retry-After` says.
fn seconds_to_wait(wait: Micros, config: &ResponseConfig) -> u64 {
    jitter::lengthen(wait, config.retry_jitter).secs_rounded_up().max(1)
}

/// The sentence: which limit, how long, and what its author has to say.
fn detail(body: &mut Vec<u8>, rendered: &RenderedLimit, seconds: Option<u64>) {
    json::member(body, "detail");
    let hidden = rendered.visibility == Visibility::Hidden;
    let (start, end) = match (seconds, hidden) {
        (Some(_), false) => ("\"The limit ", " is used up; the same request can be granted in "),
        (Some(_), true) => ("\"A limit", " is used up; the same request can be granted in "),
        (None, false) if rendered.capacity == 0 => ("\"The limit ", " is 0: it grants no request."),
        (None, true) if rendered.capacity == 0 => ("\"A limit", " is 0: it grants no request."),
        (None, false) => ("\"One such request costs more than the limit ", " ever allows."),
        (None, true) => ("\"One such request costs more than a limit", " ever allows."),
    };
    let name = if hidden { "" } else { &rendered.name_json };
    for part in [start, name, end] {
        body.extend_from_slice(part.as_bytes());
    }
    if let Some(seconds) = seconds {
        sf::digits(body, seconds);
        body.extend_from_slice(b" s.");
    }
    if let Some(says) = rendered.description_json.as_deref().filter(|_| !hidden) {
        body.push(b' ');
        body.extend_from_slice(says.as_bytes());
    }
    body.push(b'"');
}

/// The members of our own: which limits, how long, and the numbers of those that are shown.
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

/// What is answered when it cannot be told whether a limit is used up, and a limit says that this is no grant.
pub(crate) fn unavailable() -> ErrorResponse {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    problem::common(&mut headers);
    let (status, kind) = (StatusCode::SERVICE_UNAVAILABLE, ErrorKind::Unavailable);
    let mut body = b"{".to_vec();
    problem::head(&mut body, REDUCED_CAPACITY, REDUCED_CAPACITY_TITLE, status);
    json::plain(
        &mut body,
        "detail",
        "It cannot be told at the moment whether a limit is used up: try again soon.",
    );
    // Which limits they are says nothing to the client, and may be hidden.
    json::member(&mut body, "violated-policies");
    body.extend_from_slice(b"[]");
    json::number(&mut body, "retry_after", 1);
    body.push(b'}');
    let body = Bytes::from(body);
    ErrorResponse { status, headers, body, kind, retry: None }
}
