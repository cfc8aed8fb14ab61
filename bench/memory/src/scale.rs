//! How long and how large a run is: in full for the record, quick for whoever changes the benchmark.

use std::time::Duration;

/// The sizes of a run.
pub(crate) struct Scale {
    /// How often each subject is timed, in turn with the others.
    pub(crate) repetitions: usize,
    /// How long each of these times is, and each warm-up.
    pub(crate) time: Duration,
    /// How many keys there are where there are many.
    pub(crate) keys: u32,
    /// The points of the curve.
    pub(crate) curve: &'static [u32],
    /// The numbers of keys at which memory is measured.
    pub(crate) rss: &'static [u32],
    /// The number of keys of the latencies.
    pub(crate) latency: u32,
    /// How often latencies are taken, each time in a new process.
    pub(crate) latency_repetitions: usize,
}

impl Scale {
    /// For the record.
    pub(crate) const FULL: Self = Self {
        // Often and shortly, because what disturbs a shared machine lasts for seconds: so it hits all of them alike.
        repetitions: 41,
        time: Duration::from_millis(40),
        keys: 1_000_000,
        curve: &[10_000, 100_000, 1_000_000, 10_000_000],
        rss: &[1_000_000, 10_000_000],
        latency: 10_000_000,
        latency_repetitions: 5,
    };
    /// Shows that it works; the figures are not for the record.
    pub(crate) const QUICK: Self = Self {
        repetitions: 3,
        time: Duration::from_millis(40),
        keys: 100_000,
        curve: &[10_000, 100_000],
        rss: &[100_000],
        latency: 500_000,
        latency_repetitions: 1,
    };
}
