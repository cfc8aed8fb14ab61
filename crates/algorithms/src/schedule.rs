//! The schedule of a leaky bucket used as a queue: departures one interval apart. It knows no waiters and reads no clock.
#![expect(
    clippy::arithmetic_side_effects,
    reason = "instants and counts are below 2^52, so that every product is below 2^116; divisors are not zero"
)]

use core::num::NonZeroU64;

use crate::{Micros, Quota};

/// When the next departure of a key may be.
///
/// Departures are `period / count` apart, exactly: the schedule is kept as a fraction, so that 3 per second leave after 333,334, 666,667 and
/// 1,000,000 µs, and do not drift. A departure on time moves the schedule on by one interval, and so does one that is late by at most the
/// *slack*: then the next gap is shorter by what the timer was late. After a longer delay the schedule begins anew at the departure, so that
/// time that was not used is lost and not made up for.
///
/// ```
/// use tollgate_algorithms::{Micros, Quota, Schedule};
/// let (three_per_second, slack) = (Quota::new(10, 3, Micros::SECOND)?, Micros::from_millis(1));
/// let mut schedule = Schedule::default();
/// assert_eq!(schedule.wait(&three_per_second, Micros::ZERO, 0), Micros::ZERO);
/// schedule.depart(&three_per_second, Micros::ZERO, slack);
/// assert_eq!(schedule.wait(&three_per_second, Micros::ZERO, 0), Micros::new(333_334));
/// assert_eq!(schedule.wait(&three_per_second, Micros::ZERO, 2), Micros::SECOND); // behind two others
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The earliest instant of the next departure, in units of 1/`count` µs.
    next: u128,
    count: NonZeroU64,
}

impl Default for Schedule {
    /// A key that nobody has left yet.
    fn default() -> Self {
        Self { next: 0, count: NonZeroU64::MIN }
    }
}

impl Schedule {
    /// The earliest instant of the next departure.
    #[must_use]
    pub fn next(&self) -> Micros {
        micros(self.next.div_ceil(u128::from(self.count.get())))
    }

    /// How long somebody waits from `now` on behind so many others.
    #[must_use]
    pub fn wait(&self, quota: &Quota, now: Micros, ahead: u64) -> Micros {
        let (next, now) = (self.next_under(quota), units(quota, now));
        let until = next.max(now) + u128::from(ahead) * u128::from(quota.period());
        micros((until - now).div_ceil(u128::from(quota.count())))
    }

    /// Somebody leaves at `now`, which is not before [`next`](Self::next). An earlier instant counts as that one.
    pub fn depart(&mut self, quota: &Quota, now: Micros, slack: Micros) {
        let (next, now) = (self.next_under(quota), units(quota, now));
        // Clocks tick in whole microseconds, so nobody can leave before the next one.
        let count = u128::from(quota.count()).max(1);
        let is_on_time = now <= next.div_ceil(count) * count + units(quota, slack);
        let since = if is_on_time { next } else { now };
        let count = NonZeroU64::new(quota.count()).unwrap_or(NonZeroU64::MIN);
        *self = Self { next: since + u128::from(quota.period()), count };
    }

    /// Whether it is as good as that of a key that nobody has left yet.
    #[must_use]
    pub fn is_over(&self, now: Micros) -> bool {
        self.next() <= now
    }

    /// The schedule under other numbers begins where it was, rounded up.
    fn next_under(&self, quota: &Quota) -> u128 {
        if self.count.get() == quota.count() {
            return self.next;
        }
        u128::from(self.next().get().min(Micros::INSTANT_MAX.get())) * u128::from(quota.count())
    }
}

fn units(quota: &Quota, at: Micros) -> u128 {
    u128::from(at.min(Micros::INSTANT_MAX).get()) * u128::from(quota.count())
}

fn micros(micros: u128) -> Micros {
    u64::try_from(micros).map_or(Micros::new(u64::MAX), Micros::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Timers that are late by less than the slack neither drift nor make a gap shorter than that.
    #[test]
    fn late_timers_do_not_slow_the_schedule_down() {
        for (count, period) in [(3, Micros::SECOND), (7, Micros::new(1_000_003)), (100, Micros::SECOND)] {
            let quota = Quota::new(5, count, period).unwrap();
            let interval = quota.period() / quota.count();
            let slack = Micros::new((interval / 8).min(1_000));
            let (mut schedule, mut last, start) =
                (Schedule::default(), None, Micros::from_secs(1_763_208_000));
            schedule.depart(&quota, start, slack);
            for number in 1..=10_000_u64 {
                let exact = u128::from(number) * u128::from(quota.period());
                let exact = start.get() + u64::try_from(exact.div_ceil(u128::from(quota.count()))).unwrap();
                assert_eq!(schedule.next().get(), exact, "number {number} of {quota}");
                let at = exact + number * 7_919 % (slack.get() + 1);
                schedule.depart(&quota, Micros::new(at), slack);
                let gap = at - last.replace(at).unwrap_or(at - interval);
                assert!(gap >= interval - slack.get(), "a gap of {gap} µs under {quota}");
            }
        }
    }

    #[test]
    fn time_that_was_not_used_is_not_made_up_for() {
        let quota = Quota::new(5, 1, Micros::from_millis(10)).unwrap();
        let slack = Micros::from_millis(1);
        let mut schedule = Schedule::default();
        schedule.depart(&quota, Micros::from_millis(100), slack);
        schedule.depart(&quota, Micros::from_millis(115), slack);
        assert_eq!(schedule.next(), Micros::from_millis(125));
        assert!(!schedule.is_over(Micros::from_millis(124)) && schedule.is_over(Micros::from_millis(125)));
        // Strictly: a gap is never shorter than the interval.
        schedule.depart(&quota, Micros::new(125_500), Micros::ZERO);
        assert_eq!(schedule.next(), Micros::new(135_500));
    }

    #[test]
    fn other_numbers_take_the_schedule_over() {
        let (old, new) =
            (Quota::new(5, 3, Micros::SECOND).unwrap(), Quota::new(5, 2, Micros::SECOND).unwrap());
        let mut schedule = Schedule::default();
        schedule.depart(&old, Micros::ZERO, Micros::ZERO);
        assert_eq!(schedule.wait(&new, Micros::ZERO, 1), Micros::new(833_334));
        schedule.depart(&new, Micros::new(333_334), Micros::ZERO);
        assert_eq!(schedule.next(), Micros::new(833_334));
    }

    #[test]
    fn no_number_overflows() {
        let quota = Quota::new(1, (1 << 51) - 1, Micros::new(7)).unwrap();
        let mut schedule = Schedule::default();
        for at in [Micros::ZERO, Micros::INSTANT_MAX, Micros::new(u64::MAX)] {
            schedule.depart(&quota, at, Micros::new(u64::MAX));
            let _ = schedule.wait(&quota, Micros::ZERO, u64::MAX);
        }
    }
}
