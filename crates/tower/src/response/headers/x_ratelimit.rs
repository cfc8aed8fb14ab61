//! `X-RateLimit-Limit`, `-Remaining` and `-Reset`: what most clients know. They have room for one limit, and no standard.

use http::HeaderName;

/// The limit, what remains, and the reset: in seconds since 1970, unless the settings say seconds from now.
pub(super) const NAMES: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];
