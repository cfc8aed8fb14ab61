//! The axum extractor for [`Admitted`].

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::response::{IntoResponse, Response};
use http::request::Parts;

use crate::admitted::Admitted;
use crate::response::error_response::ErrorResponse;
use crate::response::problem;

/// The rejection if a handler takes [`Admitted`] and no layer is in front of it: the server is misconfigured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingLayer;

impl IntoResponse for MissingLayer {
    fn into_response(self) -> Response {
        problem::internal("This handler takes `Admitted`, but no `TollgateLayer` is in front of it. Add one.")
            .into_response()
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.body).into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Admitted {
    type Rejection = MissingLayer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingLayer> {
        parts.extensions.get::<Self>().cloned().ok_or(MissingLayer)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Admitted {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
