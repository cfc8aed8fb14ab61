//! A service with tower_governor: one limit by API key that never refuses, and its fields on.

use std::time::Duration;

use axum::Router;
use axum::http::Request;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::KeyExtractor;
use tower_governor::{GovernorError, GovernorLayer};

/// Whose budget it is: the API key, as text.
#[derive(Clone, Copy)]
struct ApiKey;

impl KeyExtractor for ApiKey {
    type Key = String;

    fn extract<T>(&self, request: &Request<T>) -> Result<String, GovernorError> {
        let key = request.headers().get("x-api-key").and_then(|value| value.to_str().ok());
        key.map(str::to_owned).ok_or(GovernorError::UnableToExtractKey)
    }
}

/// The service behind a limit.
pub(crate) fn limited(service: Router) -> Result<Router, String> {
    let config = GovernorConfigBuilder::default()
        .key_extractor(ApiKey)
        .period(Duration::from_micros(1))
        .burst_size(1_000_000)
        .use_headers()
        .finish();
    let config = config.ok_or("tower_governor takes no such limit")?;
    Ok(service.layer(GovernorLayer::new(config)))
}
