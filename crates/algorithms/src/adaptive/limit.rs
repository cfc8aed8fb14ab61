//! The adaptive limit: combines windows, the baseline and a method in one state machine.

use super::baseline::Baseline;
use super::config::AdaptiveConfig;
use super::method::{Measurement, Method, ONE, Step};
use super::window::{LATENCY_MAX, Phase, Summary, Window};
use crate::Micros;

/// A concurrency limit that follows what its server can do.
///
/// The limit is always between the configured minimum and maximum, whatever is reported and in whatever order. Instants
/// may repeat; one that runs back counts as no time. Not for several threads at once: put it behind a lock, and keep the
/// count in flight beside it.
#[derive(Clone, Copy, Debug)]
pub struct AdaptiveLimit {
    config: AdaptiveConfig,
    /// In units of 1/1024. A probe lowers what is in force, not this.
    limit: u64,
    baseline: Baseline,
    window: Window,
    /// The number of the window, so that a sample finds the window in which it started.
    number: u64,
    is_probe: bool,
    /// Until the limit first shrinks, it grows by half at a time.
    is_slow_start: bool,
}

/// A request that has started. Hand it back with [`AdaptiveLimit::record`]; losing it counts as a request that never ends.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    at: u64,
    /// None if it teaches nothing, because no window was open.
    window: Option<u64>,
}

/// How a request ended, as far as the server's load is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// The server answered. Its latency counts.
    Success,
    /// Nothing is learnt: the client left, or the answer says nothing about load.
    Ignored,
    /// The server was overloaded: a timeout, a refused or reset connection, 503, 429 or 504. The time that this took says
    /// nothing.
    Dropped,
}

impl AdaptiveLimit {
    /// A limit that has seen nothing.
    #[must_use]
    pub fn new(config: AdaptiveConfig) -> Self {
        Self {
            config,
            limit: u64::from(config.start).saturating_mul(ONE),
            baseline: Baseline::new(config.seed),
            window: Window::new(0, None),
            number: 0,
            is_probe: false,
            is_slow_start: true,
        }
    }

    /// How many requests may be in flight now.
    #[must_use]
    pub fn limit(&self) -> u32 {
        let in_force = match self.config.method.probe_divisor() {
            Some(divisor) if self.is_probe => {
                self.limit.saturating_sub(self.limit.checked_div(divisor).unwrap_or(0))
            }
            _ => self.limit,
        };
        u32::try_from(in_force / ONE).unwrap_or(self.config.max).clamp(self.config.min, self.config.max)
    }

    /// Whether the limit is lowered for one window, to learn the baseline.
    #[must_use]
    pub const fn is_probing(&self) -> bool {
        self.is_probe
    }

    /// What is known about the server without load.
    #[must_use]
    pub const fn baseline(&self) -> &Baseline {
        &self.baseline
    }

    /// The settings.
    #[must_use]
    pub const fn config(&self) -> &AdaptiveConfig {
        &self.config
    }

    /// A request starts, with this many in flight including itself.
    pub fn start(&mut self, now: Micros, in_flight: u32) -> Start {
        self.advance(now);
        let limit = u64::from(self.limit());
        let belongs = self.window.start(u64::from(in_flight), limit);
        Start { at: now.get(), window: belongs.then_some(self.number) }
    }

    /// A request was refused because of this limit.
    pub fn refuse(&mut self, now: Micros) {
        self.advance(now);
        self.window.refuse();
    }

    /// A request ended at `now`: its response's head arrived, or it failed. Report it once.
    ///
    /// The permit usually lasts longer, until the end of the response's body; the length of a stream is not a latency.
    pub fn record(&mut self, now: Micros, start: Start, outcome: Outcome) {
        if start.window == Some(self.number) {
            match outcome {
                Outcome::Success => self.window.succeed(now.get().saturating_sub(start.at).min(LATENCY_MAX)),
                Outcome::Dropped => self.window.drop_one(),
                Outcome::Ignored => self.window.ignore(),
            }
        }
        self.advance(now);
    }

    /// Ends the window if its time has come.
    fn advance(&mut self, now: Micros) {
        match self.window.advance(now.get(), self.baseline.latency()) {
            Phase::Running => return,
            Phase::Empty => {
                if self.is_probe {
                    self.baseline.abandon();
                }
                self.is_probe = false;
            }
            Phase::Complete => self.apply(self.window.summary()),
        }
        self.number = self.number.wrapping_add(1);
        self.window = Window::new(now.get(), self.ceiling());
    }

    fn ceiling(&self) -> Option<u64> {
        match self.config.method {
            // A target far above the baseline must stay visible.
            Method::Aimd { target } => {
                self.baseline.ceiling().map(|four| four.max(target.get().min(LATENCY_MAX).saturating_mul(4)))
            }
            Method::Gradient2 | Method::Vegas | Method::Gradient => self.baseline.ceiling(),
        }
    }

    fn apply(&mut self, summary: Summary) {
        let was_probe = core::mem::take(&mut self.is_probe);
        if summary.blind {
            self.baseline.abandon();
            self.set(self.limit / 2);
            self.is_slow_start = false;
            return;
        }
        let Some(latency) = summary.latency else { return };
        if was_probe {
            self.baseline.probed(latency);
            return;
        }
        let is_free = summary.peak.saturating_mul(2 * ONE) <= self.limit;
        let baseline = self.baseline.observe(latency, is_free);
        let measurement = Measurement {
            limit: self.limit,
            latency,
            baseline,
            dropped: summary.dropped,
            limited: summary.limited,
        };
        let shrank = self.follow(self.config.method.step(measurement));
        self.baseline.count(shrank);
        self.is_probe =
            self.baseline.is_probe_due(summary.limited) && self.config.method.probe_divisor().is_some();
    }

    /// Takes a step, and returns whether it shrank the limit.
    fn follow(&mut self, step: Step) -> bool {
        match step {
            Step::Shrink(limit) => {
                self.is_slow_start = false;
                self.set(limit);
                true
            }
            Step::Grow(_) if self.is_slow_start => {
                self.set(self.limit.saturating_mul(3) / 2);
                false
            }
            Step::Grow(limit) => {
                self.set(limit);
                false
            }
            Step::Keep => false,
        }
    }

    fn set(&mut self, limit: u64) {
        let (min, max) = self.config.range();
        self.limit = limit.clamp(u64::from(min).saturating_mul(ONE), u64::from(max).saturating_mul(ONE));
    }
}
