//! The latency of a server that is not overloaded, and when to probe for it.

use super::window::LATENCY_MAX;

/// Windows between two probes that overload asks for, at first.
const BACKOFF_MIN: u64 = 10;
/// The same at most, and the windows after which a limit that is reached is probed without any sign of overload.
const BACKOFF_MAX: u64 = 200;
/// So many shrinking windows in a row ask for a probe, subject to the backoff.
const BAD: u64 = 2;
/// So many ask for one at once, with at least [`BAD_MANY`] windows between two of them.
const BAD_MANY: u64 = 4;

/// The latency that a limit is compared with, in microseconds.
///
/// It is learnt from probes, from windows that used at most half of the limit, and from lower latencies. Never from an
/// average over an overload: such a baseline follows the overload upwards, and the limit follows the baseline.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    latency: Option<u64>,
    /// Shrinking windows in a row.
    bad: u64,
    /// Windows since the last probe.
    since: u64,
    backoff: u64,
    probes: u64,
    seed: u64,
}

impl Baseline {
    pub(super) const fn new(seed: u64) -> Self {
        Self { latency: None, bad: 0, since: 0, backoff: BACKOFF_MIN, probes: 0, seed }
    }

    /// The baseline. None until the first window is complete.
    #[must_use]
    pub const fn latency(&self) -> Option<u64> {
        self.latency
    }

    /// The probes so far.
    #[must_use]
    pub const fn probes(&self) -> u64 {
        self.probes
    }

    /// What one latency may count, and what a dropped request counts: four baselines.
    pub(super) fn ceiling(&self) -> Option<u64> {
        self.latency.map(|latency| latency.saturating_mul(4))
    }

    /// The end of a window without a probe. A window is free if it used at most half of the limit.
    pub(super) fn observe(&mut self, latency: u64, is_free: bool) -> u64 {
        let learnt = match self.latency {
            None => latency,
            Some(known) if is_free => known.saturating_mul(3).saturating_add(latency) / 4,
            Some(known) => known.saturating_sub(known.saturating_sub(latency) / 8),
        };
        self.set(learnt)
    }

    /// The end of a probe: its latency is the baseline, higher or lower.
    pub(super) fn probed(&mut self, latency: u64) {
        let known = self.latency.unwrap_or(latency);
        let is_same = latency.abs_diff(known).saturating_mul(16) <= known;
        self.backoff = if is_same { self.backoff.saturating_mul(2).min(BACKOFF_MAX) } else { BACKOFF_MIN };
        self.probes = self.probes.saturating_add(1);
        self.abandon();
        self.set(latency);
    }

    /// A window showed nothing, or a probe was given up: the next probe is not due sooner for it.
    pub(super) const fn abandon(&mut self) {
        self.bad = 0;
        self.since = 0;
    }

    /// Counts a window that shrank the limit or did not.
    pub(super) const fn count(&mut self, shrank: bool) {
        self.bad = if shrank { self.bad.saturating_add(1) } else { 0 };
        self.since = self.since.saturating_add(1);
    }

    /// Whether to probe, after a window in which the limit was the limiting factor or was not.
    pub(super) fn is_probe_due(&self, limited: bool) -> bool {
        (self.bad >= BAD && self.since >= self.backoff.saturating_add(self.jitter(self.backoff)))
            || (self.bad >= BAD_MANY && self.since >= BAD_MANY)
            || (limited && self.since >= BACKOFF_MAX.saturating_add(self.jitter(BACKOFF_MAX)))
    }

    /// Up to a quarter of the windows, drawn from the seed and the number of probes, so that many processes in front of
    /// one server do not lower their limits in step.
    fn jitter(&self, windows: u64) -> u64 {
        let mixed = (self.seed ^ self.probes).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32).checked_rem((windows / 4).saturating_add(1)).unwrap_or(0)
    }

    fn set(&mut self, latency: u64) -> u64 {
        let latency = latency.clamp(1, LATENCY_MAX);
        self.latency = Some(latency);
        latency
    }
}

#[cfg(test)]
mod tests {
    use super::{BACKOFF_MAX, Baseline};

    fn windows_until_due(baseline: &mut Baseline, shrank: impl Fn(u64) -> bool, limited: bool) -> u64 {
        let is_due = |number: &u64| {
            baseline.count(shrank(*number));
            baseline.is_probe_due(limited)
        };
        (1..).find(is_due).unwrap()
    }

    #[test]
    fn it_rises_only_by_probes_and_free_windows() {
        let mut baseline = Baseline::new(0);
        assert_eq!(baseline.observe(20_000, false), 20_000);
        assert_eq!(baseline.observe(60_000, false), 20_000);
        assert_eq!(baseline.observe(12_000, false), 19_000);
        assert_eq!(baseline.observe(23_000, true), 20_000);
        baseline.probed(60_000);
        assert_eq!((baseline.latency(), baseline.probes()), (Some(60_000), 1));
    }

    #[test]
    fn probes_that_find_the_same_become_rare() {
        let mut baseline = Baseline::new(0);
        baseline.observe(20_000, false);
        // Three bad windows, then a good one: four in a row would ask for a probe at once.
        let wait = |baseline: &mut Baseline| windows_until_due(baseline, |number| number % 4 > 0, false);
        let mut waits = [0; 6];
        for wait_until in &mut waits {
            *wait_until = wait(&mut baseline);
            baseline.probed(20_500);
        }
        assert!(waits.is_sorted() && waits[0] < 15 && waits[5] >= BACKOFF_MAX, "{waits:?}");
        baseline.probed(30_000);
        assert!(wait(&mut baseline) < 15);
    }

    #[test]
    fn four_shrinking_windows_ask_for_a_probe_at_once() {
        let mut baseline = Baseline::new(7);
        baseline.observe(20_000, false);
        baseline.probed(20_000);
        assert_eq!(windows_until_due(&mut baseline, |_| true, true), 4);
    }

    #[test]
    fn a_reached_limit_is_probed_now_and_then_and_other_seeds_at_other_times() {
        let wait = |seed| windows_until_due(&mut Baseline::new(seed), |_| false, true);
        let waits = [0, 1, 2, 3].map(wait);
        assert!(waits.iter().all(|wait| (200..=250).contains(wait)), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
    }
}
