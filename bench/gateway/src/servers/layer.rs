//! A service with our layer: the same document as the gateway's, and its fields on. The clock is the default one, not the
//! faster one that other measurements may choose.

use std::sync::Arc;

use axum::Router;
use tollgate::{Gate, Limiter};
use tollgate_policy::Policy;
use tollgate_tower::{Answers, Guard, TollgateLayer};

use crate::measure::document::{Limits, openapi};

/// The service behind the limits of the document.
pub(crate) fn limited(service: Router) -> Result<Router, String> {
    let limiter = Limiter::builder().build().map_err(|error| error.to_string())?;
    let policy =
        Policy::parse("openapi.yaml", &openapi(Limits::Generous)).map_err(|error| error.to_string())?;
    let guard = Guard::new(Gate::new(limiter, Arc::new(policy), None), Answers::default());
    Ok(service.layer(TollgateLayer::new(guard)))
}
