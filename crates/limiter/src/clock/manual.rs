//! A clock for tests that moves only when the test moves it, and wakes futures that wait for that time.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tollgate_algorithms::Micros;

use super::{Clock, Kind};
use crate::timers::Shared;

/// Controls a [manual clock](Clock::manual): every limiter with that clock sees the change.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<ManualTime>);

#[derive(Debug)]
struct ManualTime {
    micros: AtomicU64,
    correction: AtomicI64,
    /// Fired when the clock is moved on.
    timers: Mutex<Vec<Weak<Shared>>>,
}

impl ManualClock {
    pub(super) fn new(now: Micros) -> Self {
        let (micros, correction) = (AtomicU64::new(now.get()), AtomicI64::new(0));
        Self(Arc::new(ManualTime { micros, correction, timers: Mutex::new(Vec::new()) }))
    }

    pub(super) fn correction(&self) -> i64 {
        self.0.correction.load(Ordering::Acquire)
    }

    /// Fires these timers whenever the clock is moved on.
    pub(super) fn on_advance(&self, timers: Weak<Shared>) {
        self.0.timers.lock().unwrap_or_else(PoisonError::into_inner).push(timers);
    }

    /// The clock, for [`Builder::clock`](crate::Builder::clock).
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock(Kind::Manual(self.clone()))
    }

    /// The current time of the clock.
    #[must_use]
    pub fn now(&self) -> Micros {
        Micros::new(self.0.micros.load(Ordering::Acquire))
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        self.set(self.now().saturating_add(Micros::from_duration(by)));
    }

    /// Sets the clock to an instant, unless that has passed: it does not run back.
    ///
    /// Whoever waits for that instant, or an earlier one, is woken.
    pub fn set(&self, to: Micros) {
        self.0.micros.fetch_max(to.get(), Ordering::AcqRel);
        let timers: Vec<_> = {
            let mut timers = self.0.timers.lock().unwrap_or_else(PoisonError::into_inner);
            timers.retain(|timers| timers.strong_count() > 0);
            timers.iter().filter_map(Weak::upgrade).collect()
        };
        timers.iter().for_each(|timers| timers.fire());
    }

    /// The first instant at which somebody waits to be woken; `None` if nobody does. It may have passed already.
    ///
    /// A simulation goes from one such instant to the next.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Micros> {
        let timers = self.0.timers.lock().unwrap_or_else(PoisonError::into_inner);
        timers.iter().filter_map(Weak::upgrade).filter_map(|timers| timers.next()).min()
    }

    /// Corrects the wall clock by this many microseconds, forwards or back, without advancing the time.
    pub fn correct_wall_clock(&self, by_micros: i64) {
        self.0.correction.fetch_add(by_micros, Ordering::AcqRel);
    }
}
