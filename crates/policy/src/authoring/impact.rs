//! What a set of numbers allows a client: in the long run, at once, and in the worst minute. Exact, without floats.

use std::cmp::Ordering;
use std::fmt;

use tollgate_algorithms::{Limit, Micros, Quota, UtcOffset, Window};

use crate::numbers::{Numbers, rate};

/// So much in so much time, in the long run; compared as a fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SustainedRate {
    /// How much.
    pub count: u64,
    /// In how many microseconds; 0 means that there is no limit.
    pub micros: u64,
}

impl SustainedRate {
    /// No limit.
    pub const UNLIMITED: Self = Self { count: 1, micros: 0 };

    /// Which of two is more.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Ordering {
        let (mine, theirs) = (u128::from(self.count), u128::from(other.count));
        (mine * u128::from(other.micros)).cmp(&(theirs * u128::from(self.micros)))
    }
}

impl fmt::Display for SustainedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.micros == 0 {
            return f.write_str("unlimited");
        }
        f.write_str(&rate(self.count, self.micros))
    }
}

/// What numbers mean for one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Impact {
    /// In the long run.
    pub sustained: SustainedRate,
    /// At once; `None` is no limit.
    pub burst: Option<u64>,
    /// The most that any minute can admit; `None` is no limit.
    pub worst_minute: Option<u64>,
}

impl Impact {
    /// What these numbers mean. `None` for numbers that do not limit how often: concurrency.
    #[must_use]
    pub fn of(numbers: &Numbers) -> Option<Self> {
        let minute = Micros::MINUTE.get();
        Some(match numbers {
            Numbers::Unlimited | Numbers::Counted(Limit::Unlimited) => {
                Self { sustained: SustainedRate::UNLIMITED, burst: None, worst_minute: None }
            }
            Numbers::Counted(Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota)) => {
                Self::of_quota(quota)
            }
            Numbers::Queue { quota, .. } => Self::of_quota(quota),
            Numbers::Counted(Limit::FixedWindow(rule)) => {
                let micros = length(rule.window());
                Self::of_window(rule.limit(), micros, windows(minute, micros).saturating_add(1))
            }
            Numbers::Counted(Limit::SlidingWindow(rule)) => {
                let (limit, micros) = (rule.limit(), rule.window().get());
                let mut impact = Self::of_window(limit, micros, windows(minute, micros).saturating_add(1));
                if minute <= micros {
                    // In a span s of at most one window: limit x (1 + s / window).
                    let more = u128::from(limit) * u128::from(minute) / u128::from(micros.max(1));
                    let more = u64::try_from(more).unwrap_or(u64::MAX);
                    impact.worst_minute = Some(limit.saturating_add(more));
                }
                impact
            }
            Numbers::Counted(Limit::SlidingWindowBuckets(rule)) => {
                Self::of_window(rule.limit(), rule.window().get(), windows(minute, rule.window().get()))
            }
            Numbers::Counted(Limit::SlidingWindowLog(rule)) => {
                Self::of_window(rule.limit(), rule.window().get(), windows(minute, rule.window().get()))
            }
            Numbers::Concurrency { .. } | Numbers::Adaptive { .. } => return None,
        })
    }

    fn of_quota(quota: &Quota) -> Self {
        let sustained = SustainedRate { count: quota.count(), micros: quota.period() };
        let minute =
            u128::from(Micros::MINUTE.get()) * u128::from(quota.count()) / u128::from(quota.period());
        let worst = quota.burst().saturating_add(u64::try_from(minute).unwrap_or(u64::MAX));
        // A burst of 0 denies everything, however fast it would come back.
        let worst = if quota.burst() == 0 { 0 } else { worst };
        Self { sustained, burst: Some(quota.burst()), worst_minute: Some(worst) }
    }

    const fn of_window(limit: u64, micros: u64, windows: u64) -> Self {
        let sustained = SustainedRate { count: limit, micros };
        Self { sustained, burst: Some(limit), worst_minute: Some(limit.saturating_mul(windows)) }
    }
}

/// How many windows of this length a span can need.
const fn windows(span: u64, micros: u64) -> u64 {
    if micros == 0 { 1 } else { span.div_ceil(micros) }
}

/// The shortest that a window of the calendar can be: what is allowed in it is then most.
fn length(window: Window) -> u64 {
    let (days, offset) = match window {
        Window::Every(length) => return length.get(),
        Window::Day(offset) => (1, offset),
        Window::Week(offset) => (7, offset),
        Window::Month(offset) => (28, offset),
        Window::Year(offset) => (365, offset),
    };
    Micros::DAY.get().saturating_mul(days).saturating_sub(clocks_change_by(offset))
}

/// By how much a window of the calendar is shorter or longer in which clocks change.
pub(crate) fn clocks_change_by(offset: UtcOffset) -> u64 {
    let minutes = offset.summer_time().map_or(0, |summer| summer.minutes.unsigned_abs());
    Micros::MINUTE.get().saturating_mul(minutes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(limit: Limit) -> (String, u64, u64) {
        let impact = Impact::of(&Numbers::Counted(limit)).expect("it counts");
        (impact.sustained.to_string(), impact.burst.unwrap_or(0), impact.worst_minute.unwrap_or(0))
    }

    #[test]
    fn the_worst_minute_is_the_bound_that_the_algorithm_states() {
        let (second, minute) = (Micros::SECOND, Micros::MINUTE);
        let limits = [
            (Limit::token_bucket(5, 1, Micros::from_secs(10)), ("1 per 10 s", 5, 11)),
            (Limit::gcra(1, 1, second), ("1 per second", 1, 61)),
            (Limit::token_bucket(0, 1, second), ("1 per second", 0, 0)),
            (Limit::fixed_window(10, Window::Every(minute)), ("10 per minute", 10, 20)),
            (Limit::fixed_window(10, Window::Every(second)), ("10 per second", 10, 610)),
            (Limit::sliding_window(10, minute), ("10 per minute", 10, 20)),
            (Limit::sliding_window(120, Micros::HOUR), ("120 per hour", 120, 122)),
            (Limit::sliding_window_buckets(10, minute, 6), ("10 per minute", 10, 10)),
            (Limit::sliding_window_log(10, minute), ("10 per minute", 10, 10)),
            (Limit::sliding_window_log(10, second), ("10 per second", 10, 600)),
        ];
        for (limit, (sustained, burst, worst)) in limits {
            let limit = limit.expect("it fits");
            assert_eq!(of(limit), (sustained.to_owned(), burst, worst), "{limit}");
        }
    }

    #[test]
    fn rates_are_compared_as_fractions() {
        let rate = |count, micros| SustainedRate { count, micros };
        assert_eq!(rate(1, 10).compare(&rate(2, 20)), Ordering::Equal);
        assert_eq!(rate(1, 10).compare(&rate(1, 9)), Ordering::Less);
        assert_eq!(SustainedRate::UNLIMITED.compare(&rate(u64::MAX, 1)), Ordering::Greater);
        assert_eq!(SustainedRate::UNLIMITED.compare(&SustainedRate::UNLIMITED), Ordering::Equal);
    }
}
