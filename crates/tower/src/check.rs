//! Checks a limit inside a handler, such as logins per account, and returns the response if it refuses.

use tollgate::{AsKey, HitError, Kind, NamedLimit, Verdict};
use tollgate_engine::{CheckError, DescriptorId, LimitDescriptor, LimitStatus};

use crate::response::config::ResponseConfig;
use crate::response::error_response::ErrorResponse;
use crate::response::problem;
use crate::response::writer::ResponseWriter;

/// Charges one key of a limit from within a handler. For what the head of a request does not say: the account of a login, or the
/// size of a job.
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::extract::State;
/// use tollgate::NamedLimit;
/// use tollgate_tower::ErrorResponse;
///
/// async fn login(State(logins): State<NamedLimit>, account: String) -> Result<String, ErrorResponse> {
///     tollgate_tower::check(&logins, &account).await?;
///     Ok(format!("welcome, {account}"))
/// }
/// # let logins = tollgate::Limiter::new().unwrap().limit("logins", tollgate::Limit::per_minute(5).burst(5).unwrap());
/// # let _: axum::Router = axum::Router::new().route("/login", axum::routing::post(login)).with_state(logins);
/// # }
/// ```
///
/// # Errors
/// The response for the client: 429 with `Retry-After` if the limit refuses, 503 if it cannot be decided, 500 if the key is too
/// long. With the feature `axum` a handler can return it.
pub async fn check(limit: &NamedLimit, key: impl AsKey) -> Result<Verdict, ErrorResponse> {
    let verdict = limit.check(key).await?;
    match verdict.kind() {
        Kind::Granted => Ok(verdict),
        Kind::Refused => Err(refused(limit, &verdict)),
        Kind::Unavailable(_) => Err(crate::response::refusal::unavailable()),
    }
}

fn refused(limit: &NamedLimit, verdict: &Verdict) -> ErrorResponse {
    let descriptors = [Some(LimitDescriptor::new(limit.name(), limit.limit()))];
    let writer = ResponseWriter::for_descriptors(&descriptors, ResponseConfig::default());
    let statuses = descriptors.iter().flatten().zip(verdict.results());
    let statuses = statuses
        .map(|(descriptor, answer)| LimitStatus::new(DescriptorId::from(0), descriptor, answer.decision()));
    // A refusal always has a decision that refuses.
    writer.refused(statuses, limit.limiter().now()).unwrap_or_else(crate::response::refusal::unavailable)
}

impl From<HitError> for ErrorResponse {
    fn from(error: HitError) -> Self {
        problem::of_error(&CheckError::Hit(error))
    }
}
