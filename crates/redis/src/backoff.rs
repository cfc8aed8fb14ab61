//! Exponential back-off with jitter and a maximum. Does not sleep itself.

use std::time::Duration;

/// Waits that double from `min` to `max`. Each is drawn between its half and its whole, so that many processes that failed
/// together do not come back together. The same seed gives the same waits.
#[derive(Debug)]
pub(crate) struct Backoff {
    min: Duration,
    max: Duration,
    next: Duration,
    random: u64,
}

impl Backoff {
    pub(crate) const fn new(min: Duration, max: Duration, seed: u64) -> Self {
        Self { min, max, next: min, random: seed }
    }

    /// The next wait.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = self.next.min(self.max);
        self.next = whole.saturating_mul(2);
        let half = u64::try_from(whole.as_micros() / 2).unwrap_or(u64::MAX / 2);
        Duration::from_micros(half.saturating_add(self.draw() % (half + 1)))
    }

    /// Begins again with short waits.
    pub(crate) const fn reset(&mut self) {
        self.next = self.min;
    }

    /// `SplitMix64`: enough for jitter, and a page shorter than a dependency.
    const fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_bound_and_are_drawn_between_half_and_whole() {
        for seed in 0..1000 {
            let (min, max) = (Duration::from_millis(20), Duration::from_millis(1000));
            let mut backoff = Backoff::new(min, max, seed);
            for whole in [20, 40, 80, 160, 320, 640, 1000, 1000].map(Duration::from_millis) {
                let wait = backoff.next();
                assert!(whole / 2 <= wait && wait <= whole, "{wait:?} of {whole:?}, seed {seed}");
            }
            backoff.reset();
            assert!(backoff.next() <= min);
        }
    }

    #[test]
    fn two_seeds_wait_differently() {
        let waits =
            [1, 2].map(|seed| Backoff::new(Duration::from_secs(1), Duration::from_secs(1), seed).next());
        assert_ne!(waits[0], waits[1]);
    }
}
