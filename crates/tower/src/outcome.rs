//! The outcome of a request at its limits, as an extension of the response, for middleware in front of the layer.

use std::sync::Arc;

use tollgate_engine::{CheckError, Degradation, Refusal, Undetermined};

use crate::admitted::Admitted;

/// What became of a request at its limits. The layer puts it into the extensions of the response, where middleware around the
/// layer finds it: to count refusals, to log them, or to write every rejection in a format of its own.
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Router, middleware, response::Response};
/// use tollgate_tower::RateLimitOutcome;
///
/// async fn log(response: Response) -> Response {
///     if let Some(RateLimitOutcome::Refused(refusal)) = response.extensions().get() {
///         eprintln!("{refusal}"); // refused by "per client", retry after 10 s
///     }
///     response
/// }
/// let app: Router = Router::new(); // …with routes and a `TollgateLayer`
/// let app = app.layer(middleware::map_response(log));
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RateLimitOutcome {
    /// It was admitted.
    Admitted(Admitted),
    /// A limit refused it.
    Refused(Arc<Refusal>),
    /// The limits could not be decided, and they do not allow requests then.
    Undetermined(Undetermined),
    /// It could not be checked.
    NotChecked(CheckError),
}

impl RateLimitOutcome {
    /// Whether the limits did not let the request pass, so that the layers around this one charge nothing for it. A request that
    /// could not be checked was wrong, and has spent what it was charged there.
    pub(crate) const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Undetermined(_))
    }

    /// What stood in for the states of keys.
    pub(crate) fn degradation(&self) -> Degradation {
        match self {
            Self::Refused(refusal) => refusal.degradation(),
            Self::Undetermined(_) => Degradation::Unknown,
            Self::Admitted(admitted) => admitted.degradation(),
            Self::NotChecked(_) => Degradation::None,
        }
    }
}
