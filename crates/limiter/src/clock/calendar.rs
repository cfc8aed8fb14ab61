//! Detects corrections of the wall clock, for calendar windows. Reads only the clock it is given.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use tollgate_algorithms::Micros;

use super::Clock;

/// Differences smaller than this, in microseconds, between the wall clock and the monotonic clock are not corrections, but
/// the time between reading the one and the other.
const CORRECTION_MICROS_MIN: i64 = 500_000;
/// How often, in microseconds, the wall clock is looked at.
const CORRECTION_EVERY: u64 = 1_000_000;

/// The wall clock's correction as far as it has been noticed: it is looked at once a second, and small differences are not
/// taken for one.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    correction: AtomicI64,
    looked_at: AtomicU64,
    looking: AtomicBool,
}

impl Calendar {
    /// The same as far as it is known, without a look.
    pub(crate) fn known(&self) -> i64 {
        self.correction.load(Ordering::Acquire)
    }

    /// By how many microseconds the calendar runs ahead of the clock.
    pub(crate) fn ahead(&self, clock: &Clock, now: Micros) -> i64 {
        let looked_at = self.looked_at.load(Ordering::Acquire);
        let due = looked_at == 0 || now.get() >= looked_at.saturating_add(CORRECTION_EVERY);
        if due && !self.looking.swap(true, Ordering::AcqRel) {
            let (seen, known) = (clock.correction(), self.correction.load(Ordering::Acquire));
            if seen.abs_diff(known) >= CORRECTION_MICROS_MIN.unsigned_abs() {
                self.correction.store(seen, Ordering::Release);
            }
            self.looked_at.store(now.get(), Ordering::Release);
            self.looking.store(false, Ordering::Release);
        }
        self.correction.load(Ordering::Acquire)
    }
}
