//! The verbs of the JSON API on hits: check, peek, refund, reserve, commit, cancel.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use tollgate::{Hit, Limiter, ReservationError, ReservationId};

use super::Endpoint;
use super::decision::{self, json, of_error};
use super::limits::{self, Asked};
use super::problem::{Answer, Problem};
use super::request_facts;
use super::strict_json::{NUMBER_MAX, Object};
use crate::active_policy::ActivePolicy;

/// The longest time of a reservation, in milliseconds: 1 hour. A longer one is an error.
pub(super) const RESERVATION_MS_MAX: u64 = 3_600_000;
/// The time of a reservation, unless it is said.
const RESERVATION_MS: u64 = 60_000;
/// Receipts that can be refunded at once. With more, the oldest is forgotten, and its charge stays.
pub(super) const RECEIPTS_MAX: usize = 1 << 16;
/// How long a receipt can be refunded. After that, its charge stays.
pub(super) const RECEIPT_TIME: Duration = Duration::from_secs(3_600);
/// Characters of an id; a longer text is an error.
pub(super) const ID_CHARS_MAX: usize = 64;

/// `POST /v1/check`: charges hits, or a request by the policy.
pub(super) async fn check(
    endpoint: &Endpoint,
    live: &Arc<ActivePolicy>,
    mut body: Object,
) -> Result<Answer, Problem> {
    if let Some(request) = body.object("request")? {
        body.end()?;
        return request_facts::check(endpoint, live, request).await;
    }
    let asked = limits::hits(&mut body, live, &endpoint.brought)?;
    let wants_receipt = body.flag("receipt")?;
    body.end()?;
    let (limiter, hits) = (live.limits.limiter(), hits_of(&asked));
    let metrics = &endpoint.context.metrics;
    if !wants_receipt {
        let verdict = limiter.charge(&hits).await.map_err(|error| of_error(&error))?;
        return Ok(decision::of_verdict(&asked, &verdict, "", metrics));
    }
    let (verdict, receipt) = limiter.charge_for_receipt(&hits).await.map_err(|error| of_error(&error))?;
    let Some(receipt) = receipt else {
        return Ok(decision::of_verdict(&asked, &verdict, "", metrics));
    };
    match endpoint.receipts.put(receipt, RECEIPT_TIME, Instant::now()) {
        Ok(id) => {
            let more = format!(",\"receipt\":\"{id}\"");
            Ok(decision::of_verdict(&asked, &verdict, &more, metrics))
        }
        Err((receipt, problem)) => {
            // The client is told that nothing was charged.
            let _ = limiter.refund(receipt).await;
            metrics.undetermined.inc();
            Err(problem)
        }
    }
}

/// `POST /v1/peek`: decides, and charges nothing.
pub(super) async fn peek(
    endpoint: &Endpoint,
    live: &ActivePolicy,
    mut body: Object,
) -> Result<Answer, Problem> {
    let asked = limits::hits(&mut body, live, &endpoint.brought)?;
    body.end()?;
    let hits = hits_of(&asked);
    let verdict = live.limits.limiter().peek(&hits).await.map_err(|error| of_error(&error))?;
    Ok(decision::of_verdict(&asked, &verdict, "", &endpoint.context.metrics))
}

/// `POST /v1/refund`: gives back what a receipt's charges still weigh.
pub(super) async fn refund(
    endpoint: &Endpoint,
    live: &ActivePolicy,
    mut body: Object,
) -> Result<Answer, Problem> {
    let id = body.required_text("receipt", ID_CHARS_MAX)?;
    let gone = || gone("receipt", "it was refunded before, has expired, or never was");
    body.end()?;
    let receipt = endpoint.receipts.take(&id, Instant::now()).ok_or_else(gone)?;
    let adjustment = live.limits.limiter().refund(receipt).await.map_err(|error| of_error(&error))?;
    Ok(adjusted(adjustment))
}

/// `POST /v1/reserve`: charges estimates, to be committed or cancelled.
pub(super) async fn reserve(
    endpoint: &Endpoint,
    live: &ActivePolicy,
    mut body: Object,
) -> Result<Answer, Problem> {
    let asked = limits::hits(&mut body, live, &endpoint.brought)?;
    let time = body.number("expires_in_ms", (1, RESERVATION_MS_MAX))?.unwrap_or(RESERVATION_MS);
    body.end()?;
    let hits: Vec<Hit<'_>> = asked.iter().map(Asked::estimate).collect();
    let limiter: &Limiter = live.limits.limiter();
    let reserved = limiter.reserve(&hits, Duration::from_millis(time)).await;
    let (verdict, reservation) = reserved.map_err(|error| of_error(&error))?;
    let id = reservation.map(|reservation| format!(",\"reservation\":\"{}\"", reservation.into_id()));
    Ok(decision::of_verdict(&asked, &verdict, id.as_deref().unwrap_or_default(), &endpoint.context.metrics))
}

/// `POST /v1/commit`: ends a reservation with its actual cost.
pub(super) async fn commit(live: &ActivePolicy, mut body: Object) -> Result<Answer, Problem> {
    let id = reservation(&mut body)?;
    let actual = body.required_number("actual", (0, NUMBER_MAX))?;
    body.end()?;
    let closed = live.limits.limiter().commit(id, actual).await;
    closed.map(|closed| adjusted(closed.adjustment)).map_err(|error| not_closed(&error))
}

/// `POST /v1/cancel`: ends a reservation without a cost.
pub(super) async fn cancel(live: &ActivePolicy, mut body: Object) -> Result<Answer, Problem> {
    let id = reservation(&mut body)?;
    body.end()?;
    let closed = live.limits.limiter().cancel(id).await;
    closed.map(|closed| adjusted(closed.adjustment)).map_err(|error| not_closed(&error))
}

fn hits_of(asked: &[Asked]) -> Vec<Hit<'_>> {
    asked.iter().map(Asked::hit).collect()
}

fn reservation(body: &mut Object) -> Result<ReservationId, Problem> {
    let text = body.required_text("reservation", ID_CHARS_MAX)?;
    text.parse().map_err(|error| body.bad("reservation", &format!("is no id: {error}")))
}

fn not_closed(error: &ReservationError) -> Problem {
    let status = match error {
        ReservationError::Gone => StatusCode::NOT_FOUND,
        ReservationError::Ended(_) => StatusCode::CONFLICT,
        ReservationError::WouldBlock | _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::new(status, error.to_string()).at("/reservation".into())
}

/// Something that is held no more.
pub(super) fn gone(what: &str, why: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("there is no such {what}: {why}")).at(format!("/{what}"))
}

/// What was given back and charged on top. If a store gave no decision for some of it, that is no success.
fn adjusted(adjustment: tollgate::Adjustment) -> Answer {
    let (refunded, charged) = (adjustment.refunded, adjustment.charged);
    if adjustment.unsettled > 0 {
        let count = adjustment.unsettled;
        let detail =
            format!("the shared store made no decision for {count} charges, which stay as they were");
        return Problem::undetermined(detail).answer();
    }
    json(format!("{{\"refunded\":{refunded},\"charged\":{charged}}}"))
}
