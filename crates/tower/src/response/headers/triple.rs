//! `RateLimit-Limit`, `-Remaining` and `-Reset`, of the drafts up to 06. Their `RateLimit-Policy` is not sent: it has another form now.

use http::HeaderName;

/// The limit, what remains, and the reset, in seconds from now.
pub(super) const NAMES: [HeaderName; 3] = [
    HeaderName::from_static("ratelimit-limit"),
    HeaderName::from_static("ratelimit-remaining"),
    HeaderName::from_static("ratelimit-reset"),
];
