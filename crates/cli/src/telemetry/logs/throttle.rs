//! Limits how many refusals per second are logged.

use std::sync::atomic::{AtomicU64, Ordering};

use tollgate_algorithms::Micros;

/// A count that begins anew with every second of a clock. Exact with any number of threads: both numbers are one word.
#[derive(Debug)]
pub(super) struct Throttle {
    /// The second's lower 32 bits, then how many passed in it.
    second_and_count: AtomicU64,
    per_second: u32,
}

const MICROS_PER_SECOND: u64 = 1_000_000;
const COUNT_BITS: u32 = 32;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

impl Throttle {
    pub(super) const fn new(per_second: u32) -> Self {
        Self { second_and_count: AtomicU64::new(0), per_second }
    }

    /// Whether one more may pass now.
    pub(super) fn pass(&self, now: Micros) -> bool {
        let second = (now.get() / MICROS_PER_SECOND) & COUNT_MASK;
        let most = u64::from(self.per_second);
        let next = |word: u64| {
            let same = word >> COUNT_BITS == second;
            let count = if same { word & COUNT_MASK } else { 0 };
            (count < most).then(|| (second << COUNT_BITS) | count.saturating_add(1))
        };
        self.second_and_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pass_in_each_second_as_may() {
        let throttle = Throttle::new(2);
        let table = [(0, true), (1, true), (999_999, false), (1_000_000, true), (1_000_001, true)];
        for (now, passes) in table {
            assert_eq!(throttle.pass(Micros::new(now)), passes, "{now}");
        }
        assert!(!throttle.pass(Micros::new(1_999_999)));
    }

    #[test]
    fn with_none_allowed_none_passes() {
        assert!(!Throttle::new(0).pass(Micros::new(5_000_000)));
    }

    #[test]
    fn threads_together_get_no_more_than_one_would() {
        let throttle = Throttle::new(100);
        let passed = AtomicU64::new(0);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let count = (0..1_000).filter(|_| throttle.pass(Micros::new(7_000_000))).count();
                    passed.fetch_add(count as u64, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(passed.into_inner(), 100);
    }
}
