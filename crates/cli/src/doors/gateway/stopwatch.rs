//! Measures durations for metrics. No decision depends on it.

use std::time::Instant;

/// A stopwatch that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[expect(clippy::disallowed_methods, reason = "a stopwatch for metrics")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it has run, in nanoseconds.
    #[expect(clippy::disallowed_methods, reason = "a stopwatch for metrics")]
    pub(crate) fn nanos(&self) -> u64 {
        u64::try_from(Instant::now().saturating_duration_since(self.0).as_nanos()).unwrap_or(u64::MAX)
    }
}
