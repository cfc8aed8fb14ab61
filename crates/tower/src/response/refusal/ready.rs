//! A refusal by one limit, written down beforehand but for its numbers. What it says is the parent's: it is made by asking for one
//! with numbers that can be found in it again, so that there are no two ways of saying it.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use tollgate_algorithms::{Decision, Micros, Mode, Outcome, Retry};
use tollgate_engine::Visibility;

use super::{refused, seconds_to_wait};
use crate::response::config::ResponseConfig;
use crate::response::error_response::{ErrorKind, ErrorResponse};
use crate::response::headers::{LimitHeaders, RenderedStatus};
use crate::response::rendered_limit::RenderedLimit;
use crate::response::{numbers, sf};

/// Numbers that no limit has, by which their places are found: of the wait, of what remains, and until when.
const WAIT: u64 = 4_111_222_333;
const REMAINING: u64 = 4_222_333_444;
const RESET: u64 = 4_333_444_555;
/// The instant of the refusal whose numbers they are.
const NOW: u64 = 500_000_000;

/// What stands for a number, or for the member of `RateLimit`, in a field that is ready but for it.
const BLANKS: [&str; 5] = ["~wait", "~state", "~remaining", "~reset", "~until"];

/// A refusal by one limit that is shown, if it is the only one that a request meets.
#[derive(Debug)]
pub(crate) struct Ready {
    headers: HeaderMap,
    /// Between them stand the wait, the wait again, what remains, and until when.
    body: [Box<[u8]>; 5],
    /// How many bytes a body takes at most.
    length: usize,
    /// The number that the limit has: a part of a limit has another.
    limit: u64,
}

impl Ready {
    /// Writes it down. `None` if it cannot be: for a limit that is not shown, or whose name looks like one of the numbers, or if
    /// clients are told whose budget it is.
    pub(crate) fn new(rendered: &RenderedLimit, config: &ResponseConfig) -> Option<Box<Self>> {
        if rendered.visibility != Visibility::Shown || config.partition_key {
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

    /// The refusal with a line's numbers. `None` if the line does not refuse, or will for ever, or is of a part of the limit.
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
                b"~wait" => numbers::value(seconds),
                b"~remaining" => numbers::value(remaining),
                b"~until" => numbers::value(until),
                b"~reset" => numbers::value(now.saturating_add(decision.reset_after).secs_rounded_up()),
                b"~state" => LimitHeaders::state(rendered, remaining, wait),
                _ => continue,
            };
        }
        let [start, waits, policies, resets, end] = &self.body;
        let mut body = Vec::with_capacity(self.length);
        for (piece, number) in [(start, seconds), (waits, seconds), (policies, remaining), (resets, until)] {
            body.extend_from_slice(piece);
            sf::digits(&mut body, number);
        }
        body.extend_from_slice(end);
        let (status, kind) = (http::StatusCode::TOO_MANY_REQUESTS, ErrorKind::Refused);
        let (body, retry) = (Bytes::from(body), Some(retry));
        Some(ErrorResponse { status, headers, body, kind, retry })
    }
}

/// Puts a blank in place of a value that is one of the numbers.
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

/// The body between its numbers. `None` if it does not have each as often as it must: a name may look like a number.
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
