//! How long permits are held, as a moving average, to estimate the wait of a refused request.

use tollgate_algorithms::Micros;

use crate::sync::{AtomicU64, Ordering};

/// A permit moves the average by one part in so many.
const WEIGHT: u64 = 16;
/// Averages are kept in units of 1/1024 µs, so that short times do not round to none.
const UNITS: u64 = 1_024;
/// The longest time that is told apart, about 200 days.
const LONGEST: u64 = u64::MAX / UNITS / 1_024;

/// The average time for which permits are held. 0 before the first.
#[derive(Debug, Default)]
pub(crate) struct HoldTime(AtomicU64);

impl HoldTime {
    /// Notes that a permit was held for this long. Of two threads at once one may be forgotten: it is an average.
    pub(crate) fn note(&self, held: Micros) {
        let held = held.get().min(LONGEST) * UNITS;
        let average = self.0.load(Ordering::Relaxed);
        let next = match average {
            0 => held,
            known if held >= known => known + (held - known) / WEIGHT,
            known => known - (known - held) / WEIGHT,
        };
        if next != average {
            self.0.store(next, Ordering::Relaxed);
        }
    }

    /// The average.
    pub(crate) fn average(&self) -> Micros {
        Micros::new(self.0.load(Ordering::Relaxed) / UNITS)
    }

    /// How long it may take until a permit is free for a request behind so many others: as many permits as the limit end in the average
    /// time. `None` if no request is ever admitted.
    pub(crate) fn estimated_wait(&self, waiting: u64, limit: u32) -> Option<Micros> {
        let turns = u128::from(self.0.load(Ordering::Relaxed)) * (u128::from(waiting) + 1);
        let wait = turns.checked_div(u128::from(limit))?.div_ceil(u128::from(UNITS));
        Some(u64::try_from(wait).map_or(Micros::new(u64::MAX), Micros::new))
    }
}

#[cfg(test)]
mod tests {
    use super::{HoldTime, Micros};

    #[test]
    fn an_estimate_follows_what_is_observed() {
        let times = HoldTime::default();
        assert_eq!(times.estimated_wait(0, 5), Some(Micros::ZERO));
        times.note(Micros::from_secs(10));
        // Ten seconds among five: one ends every two seconds.
        assert_eq!(times.estimated_wait(0, 5), Some(Micros::from_secs(2)));
        assert_eq!(times.estimated_wait(4, 5), Some(Micros::from_secs(10)));
        assert_eq!(times.estimated_wait(4, 0), None);
        for _ in 0..200 {
            times.note(Micros::from_secs(1));
        }
        let wait = times.estimated_wait(0, 1).unwrap();
        assert!(wait >= Micros::from_secs(1) && wait < Micros::from_millis(1_010), "{wait}");
    }

    #[test]
    fn no_length_of_time_overflows() {
        let times = HoldTime::default();
        for held in [u64::MAX, 0, 1, u64::MAX, u64::MAX / 2] {
            times.note(Micros::new(held));
            assert!(
                times.estimated_wait(u64::MAX, 1).is_some() && times.estimated_wait(0, u32::MAX).is_some()
            );
        }
    }
}
