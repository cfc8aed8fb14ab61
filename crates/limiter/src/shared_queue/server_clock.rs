//! What the store's clock shows: from the reply that says it most exactly.

use tollgate_algorithms::Micros;

/// Replies are remembered for ten seconds, the best of each.
const SECONDS: usize = 10;
/// Clock rates differ by less than this: one part in 2,000.
const DRIFT: u64 = 2_000;
/// A reply contradicts another if they differ by more than their ways and this.
const STEP: u64 = 1_000;

/// A reply: when it was received, by the clock of this process, and the instant that it says.
#[derive(Clone, Copy, Debug)]
struct Sample {
    received: u64,
    server: u64,
    round_trip: u64,
}

/// The latest replies.
///
/// A slot is due when the best reply says so. That is never too early: the reply was on its way back for some time, so that the server's
/// clock is further than it says. It is late by that time at most.
#[derive(Debug, Default)]
pub(super) struct ServerClock {
    samples: [Option<Sample>; SECONDS],
}

impl Sample {
    /// How inexact it has become.
    const fn error(&self, now: u64) -> u64 {
        self.round_trip + now.saturating_sub(self.received) / DRIFT
    }

    /// By how much the server's clock is ahead of this process's, at least and at most.
    fn bounds(&self, now: u64) -> (i128, i128) {
        let ahead = i128::from(self.server) - i128::from(self.received);
        let margin = i128::from(now.saturating_sub(self.received) / DRIFT + STEP);
        (ahead - margin, ahead + i128::from(self.round_trip) + margin)
    }
}

impl ServerClock {
    /// A reply to a call that was sent and received then.
    pub(super) fn note(&mut self, sent: Micros, received: Micros, server: Micros) {
        let (now, round_trip) = (received.get(), received.saturating_sub(sent).get());
        let sample = Sample { received: now, server: server.get(), round_trip };
        self.samples = self
            .samples
            .map(|old| old.filter(|old| now.saturating_sub(old.received) <= SECONDS as u64 * 1_000_000));
        let (low, high) = sample.bounds(now);
        let contradicts = |old: &Sample| {
            let (old_low, old_high) = old.bounds(now);
            old_low > high || old_high < low
        };
        if self.samples.iter().flatten().any(contradicts) {
            // One of the clocks was set.
            self.samples = [None; SECONDS];
        }
        let place = usize::try_from(now / 1_000_000 % SECONDS as u64).unwrap_or(0);
        if let Some(place) = self.samples.get_mut(place) {
            let is_better = place.is_none_or(|old| {
                old.received / 1_000_000 != now / 1_000_000 || sample.error(now) <= old.error(now)
            });
            if is_better {
                *place = Some(sample);
            }
        }
    }

    fn best(&self) -> Option<Sample> {
        let newest = self.samples.iter().flatten().map(|sample| sample.received).max()?;
        self.samples.iter().flatten().min_by_key(|sample| sample.error(newest)).copied()
    }

    /// When an instant of the server's clock is, by that of this process.
    pub(super) fn local(&self, instant: Micros) -> Option<Micros> {
        let best = self.best()?;
        let at = i128::from(best.received) + i128::from(instant.get()) - i128::from(best.server);
        Some(Micros::new(u64::try_from(at.max(0)).unwrap_or(u64::MAX)))
    }

    /// What the server's clock shows at least.
    pub(super) fn now(&self, now: Micros) -> Option<Micros> {
        let best = self.best()?;
        Some(Micros::new(best.server.saturating_add(now.get().saturating_sub(best.received))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Micros {
        Micros::from_millis(millis)
    }

    #[test]
    fn a_slow_reply_is_not_believed_beside_a_fast_one() {
        let mut clock = ServerClock::default();
        assert_eq!(clock.local(ms(5_000)), None);
        // The server is 1,000 s ahead, and a reply takes 0.2 ms each way.
        clock.note(Micros::new(1_000), Micros::new(1_400), Micros::new(1_000_001_200));
        assert_eq!(clock.local(Micros::new(1_000_011_200)), Some(Micros::new(11_400)));
        // This one took 20 ms on its way back.
        clock.note(ms(5), ms(25), Micros::new(1_000_005_200));
        assert_eq!(clock.local(Micros::new(1_000_011_200)), Some(Micros::new(11_400)));
        assert_eq!(clock.now(Micros::new(2_400)), Some(Micros::new(1_000_002_200)));
    }

    #[test]
    fn a_clock_that_was_set_is_believed_at_once() {
        let mut clock = ServerClock::default();
        clock.note(ms(1), ms(2), ms(900_001));
        clock.note(ms(100), ms(101), ms(100_100));
        assert_eq!(clock.local(ms(100_200)), Some(ms(201)));
    }

    #[test]
    fn old_replies_are_forgotten() {
        let mut clock = ServerClock::default();
        clock.note(ms(1), ms(1), ms(1));
        clock.note(ms(11_000), ms(11_004), ms(11_002));
        assert_eq!(clock.local(ms(11_002)), Some(ms(11_004)));
        // No number overflows.
        for at in [0, u64::MAX, 1 << 52] {
            clock.note(Micros::new(at), Micros::new(at), Micros::new(u64::MAX - at));
            let _ = (clock.local(Micros::new(u64::MAX)), clock.now(Micros::new(u64::MAX)));
        }
    }
}
