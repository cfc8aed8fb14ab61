//! `X-RateLimit-Limit`, `-Remaining` and `-Reset`: what most clients understand. They show one limit and follow no standard.

use http::HeaderName;

/// Limit, remaining quota, and reset: a Unix time by default, or seconds from now.
pub(super) const NAMES: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];
