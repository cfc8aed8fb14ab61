//! Reads the body of a request, up to a size and within a time.

use bytes::Bytes;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::Endpoint;
use super::problem::Problem;
use super::strict_json::{Object, parse};

/// Bytes of a request's body: more are 413.
pub(super) const BODY_BYTES_MAX: usize = 64 << 10;

/// Reads the body as a JSON object.
///
/// # Errors
/// 400, 408, 413 or 415.
pub(super) async fn read(endpoint: &Endpoint, parts: &Parts, body: Incoming) -> Result<Object, Problem> {
    let kind = parts.headers.get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default());
    let kind = kind.map(|kind| kind.split(';').next().unwrap_or_default().trim());
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        let detail = "send the body as `Content-Type: application/json`";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    Object::new(parse(&whole(endpoint, body).await?)?, String::new())
}

async fn whole(endpoint: &Endpoint, body: Incoming) -> Result<Bytes, Problem> {
    let time = endpoint.context.common.settings.timeouts.body;
    let collected = timeout(time, Limited::new(body, BODY_BYTES_MAX).collect()).await;
    let collected = collected.map_err(|_| {
        let detail = format!("the body did not arrive within {} s", time.as_secs());
        Problem::new(StatusCode::REQUEST_TIMEOUT, detail)
    })?;
    collected.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            let detail = format!("the body has more than {BODY_BYTES_MAX} bytes");
            return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail);
        }
        Problem::new(StatusCode::BAD_REQUEST, "the body cannot be read")
    })
}
