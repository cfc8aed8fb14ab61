//! Verdicts and outcomes as responses: 200 for granted, 429 for refused, 503 if there is no decision.

use std::fmt::Write;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use tollgate::{Decision, HitError, Kind, Micros, Mode, Retry, Verdict};
use tollgate_engine::LimitStatus;

use super::limits::Asked;
use super::problem::{Answer, Problem};
use crate::telemetry::metrics::EndpointMetrics;

/// What a response says of one limit.
struct Line<'a> {
    name: &'a str,
    decision: Decision,
    mode: Mode,
    has_numbers: bool,
}

/// The response of a verdict. `more` are further members, such as `,"receipt":"…"`.
pub(super) fn of_verdict(
    asked: &[Asked],
    verdict: &Verdict,
    more: &str,
    metrics: &EndpointMetrics,
) -> Answer {
    if let Kind::Unavailable(why) = verdict.kind() {
        metrics.undetermined.inc();
        return Problem::undetermined(format!("no decision: {why}; nothing was charged")).answer();
    }
    let lines = asked.iter().zip(verdict.results()).map(|(asked, result)| Line {
        name: &asked.name,
        decision: result.decision(),
        mode: result.mode(),
        has_numbers: result.source().has_numbers(),
    });
    let retry = verdict.retry();
    count(verdict.is_granted(), metrics);
    response(verdict.is_granted(), (lines, verdict.is_degraded()), retry, more)
}

/// The body and status of an outcome, without the headers that show limits.
pub(super) fn of_statuses<'a>(
    is_granted: bool,
    statuses: impl Iterator<Item = LimitStatus<'a>>,
    (retry, is_degraded): (Option<Retry>, bool),
    metrics: &EndpointMetrics,
) -> Answer {
    let lines = statuses.map(|status| Line {
        name: status.name(),
        decision: status.decision,
        mode: status.mode,
        has_numbers: status.source.has_numbers(),
    });
    count(is_granted, metrics);
    response(is_granted, (lines, is_degraded), retry, "")
}

fn count(is_granted: bool, metrics: &EndpointMetrics) {
    if is_granted {
        metrics.granted.inc();
    } else {
        metrics.refused.inc();
    }
}

fn response<'a>(
    is_granted: bool,
    (lines, is_degraded): (impl Iterator<Item = Line<'a>>, bool),
    retry: Option<Retry>,
    more: &str,
) -> Answer {
    let mut body = String::with_capacity(256);
    let result = if is_granted { "granted" } else { "refused" };
    // Writing into a string does not fail.
    let _ = write!(body, "{{\"result\":\"{result}\",\"degraded\":{is_degraded}{more}");
    let mut response_retry = None;
    match retry {
        Some(Retry::After(wait)) => {
            let _ = write!(body, ",\"retry_after_ms\":{}", millis(wait));
            response_retry = Some(wait.secs_rounded_up().max(1));
        }
        Some(Retry::Never) => body.push_str(",\"retry_after_ms\":null"),
        None => {}
    }
    body.push_str(",\"limits\":[");
    for (place, line) in lines.enumerate() {
        let comma = if place > 0 { "," } else { "" };
        let name = serde_json::Value::from(line.name);
        let mode = if line.mode == Mode::Shadow { "shadow" } else { "enforced" };
        let granted = line.decision.is_granted();
        let _ = write!(body, "{comma}{{\"name\":{name},\"mode\":\"{mode}\",\"granted\":{granted}");
        if line.has_numbers && line.decision.limit != Decision::UNLIMITED {
            let Decision { limit, remaining, reset_after, .. } = line.decision;
            let reset = millis(reset_after);
            let _ = write!(body, ",\"limit\":{limit},\"remaining\":{remaining},\"reset_after_ms\":{reset}");
        }
        body.push('}');
    }
    body.push_str("]}");
    let mut response = json(body);
    if !is_granted {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    let headers = response.headers_mut();
    headers.extend(response_retry.map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds))));
    response
}

/// A response with a body of JSON.
pub(super) fn json(body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::from(body.into()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Rounded up: whoever waits for so long is granted.
const fn millis(time: Micros) -> u64 {
    time.get().div_ceil(1_000)
}

/// Why hits cannot be decided.
pub(super) fn of_error(error: &HitError) -> Problem {
    match error {
        HitError::Store { .. } => Problem::undetermined(error.to_string()),
        HitError::SameKeyTwice { .. } => {
            let detail =
                "two hits are on the same key of one limit with different numbers: charge the key once";
            Problem::new(StatusCode::BAD_REQUEST, detail).at("/hits".into())
        }
        HitError::KeyTooLong { .. } | HitError::TooManyHits { .. } => {
            Problem::new(StatusCode::BAD_REQUEST, error.to_string()).at("/hits".into())
        }
        HitError::ForeignLimit { .. } | HitError::WouldBlock { .. } | _ => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the limiter could not be asked")
        }
    }
}
