//! A service whose responses get five constant fields, as ours have, and that has no limiter: what a limiter that tells as much as
//! ours cannot do without.

use axum::Router;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use tower::util::MapResponseLayer;

/// Names and values as a response of ours has them.
const FIELDS: [(HeaderName, &str); 5] = [
    (HeaderName::from_static("ratelimit-policy"), "\"api\";q=1000000;w=1"),
    (HeaderName::from_static("ratelimit"), "\"api\";r=999999;t=1"),
    (HeaderName::from_static("x-ratelimit-limit"), "1000000"),
    (HeaderName::from_static("x-ratelimit-remaining"), "999999"),
    (HeaderName::from_static("x-ratelimit-reset"), "1800000000"),
];

/// The service with fields and without a limit.
pub(crate) fn told(service: Router) -> Router {
    service.layer(MapResponseLayer::new(|mut response: Response| {
        for (name, value) in FIELDS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }))
}
