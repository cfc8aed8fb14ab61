//! Times of repeated runs: the median, with the least and the most. On a shared machine the spread says how much to believe.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Times of one thing, sorted.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Runs something so many times, and once before to warm up.
    #[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
    pub(crate) fn of<T>(rounds: usize, mut run: impl FnMut() -> T) -> Self {
        black_box(run());
        let mut times: Vec<_> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                black_box(run());
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        Self(times)
    }

    /// As `median (least to most)` in nanoseconds, for so many repetitions in each run.
    pub(crate) fn nanoseconds(&self, repetitions: u32) -> String {
        let shown = |time: Option<&Duration>| time.map_or(0, |time| (*time / repetitions).as_nanos());
        let median = self.0.get(self.0.len() / 2);
        format!("{} ns ({} to {})", shown(median), shown(self.0.first()), shown(self.0.last()))
    }

    /// As `median (least to most)` in milliseconds.
    pub(crate) fn milliseconds(&self) -> String {
        let shown = |time: Option<&Duration>| time.map_or(0, Duration::as_millis);
        let median = self.0.get(self.0.len() / 2);
        format!("{} ms ({} to {})", shown(median), shown(self.0.first()), shown(self.0.last()))
    }
}
