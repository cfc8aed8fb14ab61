//! The axum extractor: a handler takes [`Admitted`] as an argument. Nothing is decided here.

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::response::{IntoResponse, Response};
use http::request::Parts;

use crate::admitted::Admitted;
use crate::asked::Answer;
use crate::problem;

/// Said when a handler asks for limits, and no layer has put any in front of it. It is the server's mistake, never "not limited".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoLayer;

impl IntoResponse for NoLayer {
    fn into_response(self) -> Response {
        problem::internal(
            "This handler wants to know its limits, and none stand in front of it: add a `TollgateLayer`.",
        )
        .into_response()
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.body).into_response()
    }
}

impl<S: Sync> FromRequestParts<S> for Admitted {
    type Rejection = NoLayer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, NoLayer> {
        parts.extensions.get::<Self>().cloned().ok_or(NoLayer)
    }
}

impl<S: Sync> OptionalFromRequestParts<S> for Admitted {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Self::Rejection> {
        Ok(parts.extensions.get::<Self>().cloned())
    }
}
