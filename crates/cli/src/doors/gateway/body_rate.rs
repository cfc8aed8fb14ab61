//! Checks that a request's body arrives fast enough. Reads no clock.

use std::time::Duration;

/// The pace of a body: so many bytes in every stretch of time during which the client is waited for. While the upstream takes
/// nothing, nobody waits for the client, and that time is not counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyRate {
    /// The bytes that have to come in a stretch.
    bytes: u64,
    /// The length of a stretch, in ticks.
    ticks: u64,
    /// What has come in the present one.
    come: u64,
    /// What is left of it.
    left: u64,
    /// Since when the client is waited for.
    since: Option<u64>,
}

impl BodyRate {
    /// So many bytes a second, averaged over a `stretch` of time, which has so many ticks.
    pub(crate) fn new(rate: u64, stretch: Duration, ticks: u64) -> Self {
        let bytes = u128::from(rate).saturating_mul(stretch.as_millis()).div_ceil(1_000);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Self { bytes, ticks, come: 0, left: ticks, since: None }
    }

    /// The client is waited for, from `now` on. Says until when at most; nothing if it has a whole stretch.
    pub(crate) fn wait(&mut self, now: u64) -> Option<u64> {
        self.passed(now);
        self.since = Some(now);
        (self.left < self.ticks).then(|| now.saturating_add(self.left))
    }

    /// Some of the body has come.
    pub(crate) fn came(&mut self, now: u64, bytes: u64) {
        self.passed(now);
        self.come = self.come.saturating_add(bytes);
        if self.come >= self.bytes {
            (self.come, self.left) = (0, self.ticks);
        }
    }

    /// Takes the time that the client was waited for off what is left.
    fn passed(&mut self, now: u64) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(now.saturating_sub(since));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 bytes a second over 10 s, in ticks of a second.
    fn pace() -> BodyRate {
        BodyRate::new(10, Duration::from_secs(10), 10)
    }

    #[test]
    fn who_drips_has_the_rest_of_the_stretch_and_no_more() {
        let mut pace = pace();
        assert_eq!(pace.wait(0), None, "a whole stretch");
        for now in 1..10 {
            pace.came(now, 1);
            assert_eq!(pace.wait(now), Some(10), "at {now}");
        }
        pace.came(10, 1);
        assert_eq!(pace.wait(10), Some(10), "it is late at once");
    }

    #[test]
    fn who_sends_enough_has_a_new_stretch_whenever_it_has() {
        let mut pace = pace();
        for round in 0..20 {
            let start = round * 9;
            assert_eq!(pace.wait(start), None, "round {round}");
            pace.came(start + 4, 99);
            assert_eq!(pace.wait(start + 4), Some(start + 10), "one byte is missing");
            pace.came(start + 9, 1);
        }
    }

    #[test]
    fn while_nobody_waits_for_it_no_time_passes() {
        let mut pace = pace();
        assert_eq!(pace.wait(0), None);
        pace.came(3, 1);
        // The upstream takes nothing for a while.
        assert_eq!(pace.wait(1_000), Some(1_007));
    }
}
