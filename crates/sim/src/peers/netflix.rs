//! Gradient2 of Netflix's concurrency-limits with its window, reimplemented from the published formulas and defaults.
//!
//! One difference: the published maximum is 200. The simulations use 1,000, as for every other limit, so that the growth of
//! the limit can be seen.

use tollgate_algorithms::adaptive::Outcome;

use crate::limiter::Limiter;

const MIN: f64 = 20.0;
const MAX: f64 = 1_000.0;
const QUEUE: f64 = 4.0;
const SMOOTHING: f64 = 0.2;
const TOLERANCE: f64 = 1.5;
/// The long average's window, and how many samples it warms up with.
const LONG: f64 = 600.0;
const WARMUP: u32 = 10;
/// Both the shortest and the longest window, in microseconds.
const WINDOW: u64 = 1_000_000;
const WINDOW_SAMPLES: u64 = 10;
const LATENCY_MIN: u64 = 100;

/// The limit.
#[derive(Clone, Debug)]
pub struct Netflix {
    limit: f64,
    long: f64,
    long_samples: u32,
    sum: u64,
    count: u64,
    peak: u32,
    next_update: u64,
}

impl Default for Netflix {
    fn default() -> Self {
        Self { limit: MIN, long: 0.0, long_samples: 0, sum: 0, count: 0, peak: 0, next_update: 0 }
    }
}

impl Netflix {
    fn update(&mut self, latency: f64, peak: u32) {
        if self.long_samples < WARMUP {
            // The warm-up is a plain mean.
            self.long_samples += 1;
            self.long += (latency - self.long) / f64::from(self.long_samples);
        } else {
            self.long += (latency - self.long) * 2.0 / (LONG + 1.0);
        }
        let long = self.long;
        if long / latency > 2.0 {
            self.long *= 0.95;
        }
        if f64::from(peak) < self.limit / 2.0 {
            return;
        }
        let gradient = (TOLERANCE * long / latency).clamp(0.5, 1.0);
        let suggested = self.limit * gradient + QUEUE;
        self.limit = (self.limit * (1.0 - SMOOTHING) + suggested * SMOOTHING).clamp(MIN, MAX);
    }
}

impl Limiter for Netflix {
    type Ticket = (u64, u32);

    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn start(&mut self, now: u64, in_flight: u32) -> (u64, u32) {
        (now, in_flight)
    }

    fn refuse(&mut self, _now: u64) {}

    fn end(&mut self, now: u64, (started, in_flight): (u64, u32), outcome: Outcome) {
        let latency = now - started;
        if outcome == Outcome::Ignored || latency < LATENCY_MIN {
            return;
        }
        self.sum += latency;
        self.count += 1;
        self.peak = self.peak.max(in_flight);
        if now > self.next_update {
            self.next_update = now + WINDOW;
            if self.count >= WINDOW_SAMPLES {
                self.update(self.sum as f64 / self.count as f64, self.peak);
            }
            (self.sum, self.count, self.peak) = (0, 0, 0);
        }
    }

    fn baseline(&self) -> Option<u64> {
        Some(self.long as u64)
    }
}
