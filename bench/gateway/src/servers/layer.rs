//! A service with our layer, of the same document as the gateway's or of one limit in Rust, and its fields on. The clock is the default one, not the
//! faster one that other measurements may choose.

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderName;
use tollgate::{Limit, Limiter, Micros};
use tollgate_policy::Policy;
use tollgate_tower::{HeaderFormats, KeyExtractor, PolicyLimits, ResponseConfig, Rule, Rules, TollgateLayer};

use crate::measure::document::{Limits, openapi};

/// The service behind one limit that is written in Rust: what tower_governor does, by the same key, with more fields.
pub(crate) fn one_limit(service: Router) -> Result<Router, String> {
    Ok(service.layer(TollgateLayer::new(rules()?)))
}

/// The same, and as near to what tower_governor does as the settings allow: its two fields and when more comes, and handlers are told
/// nothing.
pub(crate) fn as_little(service: Router) -> Result<Router, String> {
    let generations = HeaderFormats { draft: false, x_ratelimit: true, triple: false };
    let config = ResponseConfig { generations, ..ResponseConfig::default() };
    Ok(service.layer(TollgateLayer::new(rules()?).with_responses(config).without_admitted()))
}

fn rules() -> Result<Rules, String> {
    let said = |error: &dyn std::error::Error| error.to_string();
    let limiter = Limiter::builder().build().map_err(|error| said(&error))?;
    let limit = Limit::token_bucket(1_000_000, 1_000_000, Micros::SECOND).map_err(|error| said(&error))?;
    let rule = Rule::new("api", limit).keyed_by(KeyExtractor::header(HeaderName::from_static("x-api-key")));
    Rules::new(limiter, [rule]).map_err(|error| said(&error))
}

/// The service behind the limits of the document.
pub(crate) fn limited(service: Router) -> Result<Router, String> {
    let limiter = Limiter::builder().build().map_err(|error| error.to_string())?;
    let policy =
        Policy::parse("openapi.yaml", &openapi(Limits::Generous)).map_err(|error| error.to_string())?;
    Ok(service.layer(TollgateLayer::new(PolicyLimits::new(limiter, Arc::new(policy), None))))
}
