//! Reads the time for the report, and for nothing else.

use std::time::Instant;

/// The time now.
#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
pub(crate) fn start() -> Instant {
    Instant::now()
}
