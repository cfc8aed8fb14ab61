//! `RateLimit-Limit`, `-Remaining` and `-Reset`, of drafts up to 06. Their `RateLimit-Policy` is not sent: its format has changed since.

use http::HeaderName;

/// Limit, remaining quota, and seconds until reset.
pub(super) const NAMES: [HeaderName; 3] = [
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];
