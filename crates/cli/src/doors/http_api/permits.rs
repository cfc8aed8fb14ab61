//! `POST /v1/acquire` and `/v1/release`: permits that clients hold by an id.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use tokio::time::Instant;
use tollgate::{AcquireError, CONCURRENCY_MAX, ConcurrencyLimit, Key, Mode};
use tollgate_engine::{CountedBy, LimitByName};

use super::Endpoint;
use super::decision::json;
use super::limits::{KEY_CHARS_MAX, NAME_CHARS_MAX};
use super::problem::{Answer, Problem};
use super::strict_json::Object;
use super::verbs::{ID_CHARS_MAX, gone};
use crate::active_policy::ActivePolicy;

/// Permits that clients hold at once. Further ones are 503.
pub(super) const PERMITS_MAX: usize = 1 << 16;
/// The longest time of a permit, in milliseconds: 1 hour. A longer one is an error.
pub(super) const PERMIT_MS_MAX: u64 = 3_600_000;
/// The time of a permit, unless it is said. After it, the permit is released: its holder may have crashed.
const PERMIT_MS: u64 = 60_000;
/// The limiter's name for all concurrency limits that clients bring. Their own names are in keys.
const FAMILY: &str = "\u{1}api";

/// Acquires a permit, if the key has fewer than the limit. It never waits.
pub(super) fn acquire(endpoint: &Endpoint, live: &ActivePolicy, mut body: Object) -> Result<Answer, Problem> {
    let key = body.required_text("key", KEY_CHARS_MAX)?;
    let time = body.number("expires_in_ms", (1, PERMIT_MS_MAX))?.unwrap_or(PERMIT_MS);
    let most = body.number("concurrency", (0, CONCURRENCY_MAX.into()))?;
    let name = match most {
        Some(_) => body.text("limit", NAME_CHARS_MAX)?.unwrap_or_default(),
        None => body.required_text("limit", NAME_CHARS_MAX)?,
    };
    let (limit, key): (ConcurrencyLimit, Vec<u8>) = match most {
        Some(most) => {
            let most = u32::try_from(most).unwrap_or(CONCURRENCY_MAX);
            let key = Key::of([name.as_str(), key.as_str()]);
            (live.limits.limiter().concurrency(FAMILY, most), key.as_ref().to_vec())
        }
        None => {
            let found = live.limits.limit_by_name(&name, None);
            let Ok(LimitByName { counted: CountedBy::Concurrency(limit), mode: Mode::Enforced, .. }) = found
            else {
                let detail = "is no concurrency limit of the policy that is enforced; give `concurrency` for a limit of your own";
                return Err(body.bad("limit", detail).with_status(StatusCode::NOT_FOUND));
            };
            (limit, key.into_bytes())
        }
    };
    body.end()?;
    let now = Instant::now();
    endpoint.permits.sweep(now);
    let metrics = &endpoint.context.metrics;
    match limit.try_acquire(&key[..]) {
        Ok(permit) => {
            let remaining = permit.remaining();
            let id = endpoint.permits.put(permit, Duration::from_millis(time), now).map_err(
                |(permit, problem)| {
                    drop(permit);
                    metrics.undetermined.inc();
                    problem
                },
            )?;
            metrics.granted.inc();
            Ok(json(format!(
                "{{\"result\":\"granted\",\"permit\":\"{id}\",\"remaining\":{remaining},\"expires_in_ms\":{time}}}"
            )))
        }
        Err(AcquireError::Busy(busy)) => {
            metrics.refused.inc();
            let wait = busy.estimated_wait().map(|wait| wait.max(Duration::from_millis(1)));
            let millis = wait.map_or_else(|| "null".into(), |wait| wait.as_millis().to_string());
            let in_progress = busy.in_flight();
            let mut response = json(format!(
                "{{\"result\":\"refused\",\"in_progress\":{in_progress},\"retry_after_ms\":{millis}}}"
            ));
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            if let Some(wait) = wait {
                let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
            }
            Ok(response)
        }
        Err(error) => Err(Problem::new(StatusCode::BAD_REQUEST, error.to_string())),
    }
}

/// Releases a permit.
pub(super) fn release(endpoint: &Endpoint, mut body: Object) -> Result<Answer, Problem> {
    let id = body.required_text("permit", ID_CHARS_MAX)?;
    body.end()?;
    let permit = endpoint.permits.take(&id, Instant::now());
    drop(permit.ok_or_else(|| gone("permit", "it was released before, has expired, or never was"))?);
    Ok(json("{\"released\":true}"))
}
