//! Envoy's adaptive concurrency filter (gradient controller), reimplemented from the published formulas and defaults.
//!
//! The interval between two measurements of the minimum latency has no default; 60 s is the value of its documentation.

use tollgate_algorithms::adaptive::Outcome;

use crate::limiter::Limiter;
use crate::random::Random;

const MIN: f64 = 3.0;
const MAX: f64 = 1_000.0;
const BUFFER: f64 = 1.25;
/// Between two updates, in microseconds.
const UPDATE: u64 = 100_000;
/// Between two measurements of the minimum latency, in microseconds, and the jitter on it.
const PROBE: u64 = 60_000_000;
const JITTER: u64 = 9_000_000;
const PROBE_REQUESTS: usize = 50;
/// So many updates at the minimum start a measurement at once.
const STUCK: u32 = 5;

/// The limit.
#[derive(Clone, Debug)]
pub struct Envoy {
    limit: f64,
    /// The limit to return to after the minimum latency has been measured. None when it is not being measured.
    deferred: Option<f64>,
    probe_began: u64,
    next_probe: u64,
    next_update: u64,
    minimum: f64,
    latencies: Vec<u64>,
    stuck: u32,
    random: Random,
}

impl Envoy {
    /// A limit with the jitter of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            limit: MIN,
            deferred: Some(MIN),
            probe_began: 0,
            next_probe: 0,
            next_update: UPDATE,
            minimum: 0.0,
            latencies: Vec::new(),
            stuck: 0,
            random: Random::new(seed),
        }
    }

    /// What its timers would have done by now.
    fn advance(&mut self, now: u64) {
        if self.deferred.is_some() {
            return;
        }
        if now >= self.next_update {
            self.next_update = now + UPDATE;
            if let Some(latency) = self.median() {
                let scaled = self.limit * (BUFFER * self.minimum / latency).clamp(0.5, 2.0);
                self.set((scaled + scaled.sqrt()).floor().clamp(MIN, MAX));
            }
        }
        if now >= self.next_probe || self.stuck >= STUCK {
            self.deferred = Some(self.limit);
            self.limit = MIN;
            self.stuck = 0;
            self.latencies.clear();
            self.probe_began = now;
        }
    }

    fn set(&mut self, limit: f64) {
        self.stuck = if limit <= MIN && self.limit <= MIN { self.stuck + 1 } else { 0 };
        self.limit = limit;
    }

    fn median(&mut self) -> Option<f64> {
        if self.latencies.is_empty() {
            return None;
        }
        let middle = self.latencies.len() / 2;
        let (_, median, _) = self.latencies.select_nth_unstable(middle);
        let median = *median as f64;
        self.latencies.clear();
        Some(median.max(1.0))
    }
}

impl Limiter for Envoy {
    type Ticket = u64;

    fn limit(&self) -> u32 {
        self.limit as u32
    }

    fn start(&mut self, now: u64, _in_flight: u32) -> u64 {
        self.advance(now);
        now
    }

    fn refuse(&mut self, now: u64) {
        self.advance(now);
    }

    fn end(&mut self, now: u64, started: u64, outcome: Outcome) {
        if outcome != Outcome::Ignored && started >= self.probe_began {
            self.latencies.push(now - started);
        }
        if self.latencies.len() >= PROBE_REQUESTS
            && let Some(limit) = self.deferred.take()
        {
            self.minimum = self.median().unwrap_or(self.minimum);
            self.limit = limit;
            self.next_probe = now + PROBE + self.random.next() % JITTER;
            self.next_update = now + UPDATE;
        }
        self.advance(now);
    }

    fn baseline(&self) -> Option<u64> {
        Some(self.minimum as u64)
    }
}
