//! A prepared refusal by one limit: only the numbers are filled in per request. It is created from a normal refusal with placeholder
//! numbers, so that the wording exists once.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use tollgate_algorithms::{Decision, Micros, Mode, Outcome, Retry};
use tollgate_engine::Visibility;

use super::{refused, seconds_to_wait};
use crate::response::config::ResponseConfig;
use crate::response::error_response::{ErrorKind, ErrorResponse};
use crate::response::headers::{LimitHeaders, RenderedStatus};
use crate::response::rendered_limit::RenderedLimit;
use crate::response::{decimal, structured_fields};

/// Placeholder numbers that no limit has: the wait, the remaining quota and the reset.
const WAIT: u64 = 4_111_222_333;
const REMAINING: u64 = 4_222_333_444;
const RESET: u64 = 4_333_444_555;
/// The instant of the refusal with the placeholders.
const NOW: u64 = 500_000_000;

/// Placeholders in header values, for a number or for the member of `RateLimit`.
const BLANKS: [&str; 5] = ["~wait", "~state", "~remaining", "~reset", "~until"];

/// A prepared refusal by one visible limit, for requests that match only this limit.
#[derive(Debug)]
pub(crate) struct PreparedRefusal {
    headers: HeaderMap,
    /// The body between its numbers, which are: wait, wait, remaining, reset.
    body: [Box<[u8]>; 5],
    /// The maximum length of a body in bytes.
    length: usize,
    /// The limit's capacity. A fraction of the limit (`local 1/N`) has another.
    limit: u64,
}

impl PreparedRefusal {
    /// Prepares the refusal. `None` if the limit is not visible or counts requests in progress, if its name contains a placeholder,
    /// or if responses carry a partition key.
    pub(crate) fn new(rendered: &RenderedLimit, config: &ResponseConfig) -> Option<Box<Self>> {
        let is_shown = rendered.visibility == Visibility::Shown;
        if !is_shown || config.partition_key || rendered.busy_status.is_some() {
            return None;
        }
        let decision = Decision {
            outcome: Outcome::Refused(Retry::After(Micros::from_secs(WAIT))),
            limit: rendered.capacity,
            remaining: REMAINING,
            reset_after: Micros::from_secs(RESET),
            charged: 0,
            at: Micros::ZERO,
        };
        let (mode, is_shown, partition) = (Mode::Enforced, true, 0);
        let line = RenderedStatus { rendered, decision, mode, is_shown, partition };
        let plainly = ResponseConfig { retry_jitter: Micros::ZERO, ..*config };
        let answer = refused(&[line], &plainly, Micros::from_secs(NOW))?;
        let mut headers = answer.headers;
        headers.values_mut().for_each(blank);
        let body = pieces(&answer.body)?;
        let length = body.iter().map(|piece| piece.len()).sum::<usize>().checked_add(4 * 20)?;
        Some(Box::new(Self { headers, body, length, limit: rendered.capacity }))
    }

    /// The refusal with the numbers of a status. `None` if the status is no refusal, if retrying will never succeed, or if it is
    /// about a fraction of the limit.
    pub(crate) fn response(
        &self,
        line: &RenderedStatus<'_>,
        config: &ResponseConfig,
        now: Micros,
    ) -> Option<ErrorResponse> {
        let RenderedStatus { rendered, decision, mode, .. } = line;
        let Some(retry @ Retry::After(wait)) = decision.retry() else { return None };
        if decision.limit != self.limit || *mode != Mode::Enforced {
            return None;
        }
        let seconds = seconds_to_wait(wait, config);
        let (remaining, until) = (decision.remaining, decision.reset_after.secs_rounded_up());
        let mut headers = self.headers.clone();
        for value in headers.values_mut() {
            *value = match value.as_bytes() {
                b"~wait" => decimal::value(seconds),
                b"~remaining" => decimal::value(remaining),
                b"~until" => decimal::value(until),
                b"~reset" => decimal::value(now.saturating_add(decision.reset_after).secs_rounded_up()),
                b"~state" => LimitHeaders::state(rendered, remaining, wait),
                _ => continue,
            };
        }
        let [start, waits, policies, resets, end] = &self.body;
        let mut body = Vec::with_capacity(self.length);
        for (piece, number) in [(start, seconds), (waits, seconds), (policies, remaining), (resets, until)] {
            body.extend_from_slice(piece);
            structured_fields::digits(&mut body, number);
        }
        body.extend_from_slice(end);
        let (status, kind) = (http::StatusCode::TOO_MANY_REQUESTS, ErrorKind::Refused);
        let (body, retry) = (Bytes::from(body), Some(retry));
        Some(ErrorResponse { status, headers, body, kind, retry })
    }
}

/// Replaces a header value that is a placeholder number.
fn blank(value: &mut HeaderValue) {
    let texts = [WAIT, 0, REMAINING, NOW + RESET, RESET].map(|number| number.to_string());
    let state = format!(";r={REMAINING};t={WAIT}");
    for (text, blank) in texts.iter().zip(BLANKS) {
        let is_state = blank == "~state" && value.as_bytes().ends_with(state.as_bytes());
        if is_state || (blank != "~state" && value == text) {
            *value = HeaderValue::from_static(blank);
            return;
        }
    }
}

/// Splits the body at its numbers. `None` if a number does not occur as often as expected: a name may look like one.
fn pieces(body: &[u8]) -> Option<[Box<[u8]>; 5]> {
    let text = std::str::from_utf8(body).ok()?;
    let mut rest = text;
    let mut pieces = Vec::new();
    for number in [WAIT, WAIT, REMAINING, RESET] {
        let (piece, after) = rest.split_once(&number.to_string())?;
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    let numbers = [WAIT, REMAINING, RESET, NOW + RESET].map(|number| number.to_string());
    if pieces.iter().any(|piece| numbers.iter().any(|number| piece.contains(number.as_str()))) {
        return None;
    }
    let pieces: Vec<Box<[u8]>> = pieces.into_iter().map(|piece| piece.as_bytes().into()).collect();
    pieces.try_into().ok()
}

#[cfg(test)]
mod tests;
