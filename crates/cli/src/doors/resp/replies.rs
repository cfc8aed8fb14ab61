//! Verdicts as replies: the second half of the mapping.

use tollgate::{Decision, KeyStatus, Kind, Micros, Retry, Verdict};
use tollgate_resp::{Protocol, Writer};

use super::arguments::Refusal;
use crate::telemetry::metrics::EndpointMetrics;

/// Counts a decision by its result.
#[inline]
pub(super) fn count(metrics: &EndpointMetrics, verdict: &Verdict) {
    match verdict.kind() {
        Kind::Granted => metrics.granted.inc(),
        Kind::Refused => metrics.refused.inc(),
        Kind::Unavailable(_) => metrics.undetermined.inc(),
    }
}

/// Writes the five integers of `CL.THROTTLE`: limited, limit, remaining, seconds to the retry, seconds to the reset; an error if there is no
/// decision.
#[inline]
pub(super) fn write_throttle(out: &mut Vec<u8>, verdict: &Verdict) {
    // Integers and errors are the same in both protocols.
    let mut reply = Writer::new(out, Protocol::Resp2);
    let (kind, result) = (verdict.kind(), verdict.results().first());
    let Some(result) = result.filter(|_| !matches!(kind, Kind::Unavailable(_))) else {
        let Refusal(message) = no_decision(verdict);
        reply.error(&message);
        return;
    };
    let decision = result.decision();
    let retry = match decision.retry() {
        Some(Retry::After(wait)) => ceil_to(wait, Micros::SECOND),
        Some(Retry::Never) | None => -1,
    };
    reply.array(5);
    reply.integer((!decision.is_granted()).into());
    reply.integer(number(decision.limit));
    reply.integer(number(decision.remaining));
    reply.integer(retry);
    reply.integer(ceil_to(decision.reset_after, Micros::SECOND));
}

/// Why there is no decision.
pub(super) fn no_decision(verdict: &Verdict) -> Refusal {
    match verdict.kind() {
        Kind::Unavailable(why) => Refusal::unavailable(why),
        Kind::Granted | Kind::Refused => Refusal::unavailable("the store gave no numbers"),
    }
}

/// Writes a verdict on one hit as a map. The last field is an ID with its name, if the command makes one.
pub(super) fn write_verdict(
    reply: &mut Writer<'_>,
    verdict: &Verdict,
    id: Option<(&str, Option<String>)>,
) -> Result<(), Refusal> {
    let (Kind::Granted | Kind::Refused, Some(result)) = (verdict.kind(), verdict.results().first()) else {
        return Err(no_decision(verdict));
    };
    let decision = result.decision();
    let shown = result.source().has_numbers();
    reply.map(usize::from(id.is_some()).saturating_add(8));
    reply.bulk("granted");
    reply.boolean(verdict.is_granted());
    reply.bulk("charged");
    reply.integer(number(decision.charged));
    numbers(reply, &decision, shown);
    reply.bulk("retry_ms");
    match decision.retry() {
        Some(Retry::After(wait)) => reply.integer(ceil_to(wait, Micros::MILLISECOND)),
        Some(Retry::Never) => reply.integer(-1),
        None => reply.null(),
    }
    reply.bulk("shadow_refused");
    reply.boolean(verdict.is_granted() && !result.is_granted());
    reply.bulk("degraded");
    reply.boolean(verdict.is_degraded());
    if let Some((name, id)) = id {
        reply.bulk(name);
        match id {
            Some(id) => reply.bulk(id),
            None => reply.null(),
        }
    }
    Ok(())
}

/// Writes the state of a key as a map.
pub(super) fn write_status(reply: &mut Writer<'_>, status: &KeyStatus) {
    reply.map(5);
    reply.bulk("known");
    reply.boolean(status.known);
    reply.bulk("overflow");
    reply.boolean(status.shared);
    numbers(reply, &status.decision, true);
}

/// Limit, remaining and reset; null where there is no such number.
fn numbers(reply: &mut Writer<'_>, decision: &Decision, shown: bool) {
    for (name, value) in [("limit", decision.limit), ("remaining", decision.remaining)] {
        reply.bulk(name);
        if value == Decision::UNLIMITED || !shown { reply.null() } else { reply.integer(number(value)) }
    }
    reply.bulk("reset_ms");
    if shown { reply.integer(ceil_to(decision.reset_after, Micros::MILLISECOND)) } else { reply.null() }
}

/// A number of ours, all of which are below 2^53.
pub(super) fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A time in units, rounded up: who waits so long is never too early.
pub(super) fn ceil_to(time: Micros, unit: Micros) -> i64 {
    number(time.get().div_ceil(unit.get().max(1)))
}
