//! The atomics and locks of the store, as an exploration sees them: each access is a point where another thread may come in, and a
//! load may return any value that the memory order allows. Not the ones that ship.

use std::cell::Cell;

pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
pub(crate) use loom::sync::{Mutex, MutexGuard};

/// As many threads as a scenario may have.
pub(crate) const THREADS_MAX: usize = 3;

loom::thread_local! {
    /// The number of the thread.
    static THREAD: Cell<usize> = Cell::new(0);
}

thread_local! {
    /// How many threads an exploration has started. Its threads are one to the system.
    static STARTED: Cell<usize> = const { Cell::new(0) };
}

/// Begins an order: the thread that calls has number 0.
pub(crate) fn begin() {
    STARTED.set(0);
}

/// Gives the thread that calls a number of its own.
pub(crate) fn number_thread() {
    STARTED.set(STARTED.get() + 1);
    THREAD.with(|number| number.set(STARTED.get()));
}

/// A number in memory.
#[derive(Debug)]
pub(crate) struct AtomicU64 {
    value: loom::sync::atomic::AtomicU64,
    /// For each thread, written when it has loaded the value, and when another one has stored one.
    ///
    /// The search for orders that matter knows the latest access to a thing only. A thread that loads and then stores
    /// would hide that another one had loaded before; here, it meets that one's mark.
    loaded: [loom::sync::atomic::AtomicU64; THREADS_MAX],
}

impl Default for AtomicU64 {
    fn default() -> Self {
        Self::new(0)
    }
}

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> Self {
        let new = loom::sync::atomic::AtomicU64::new;
        Self { value: new(value), loaded: std::array::from_fn(|_| new(0)) }
    }

    pub(crate) fn load(&self, order: Ordering) -> u64 {
        let loaded = self.value.load(order);
        let me = THREAD.with(Cell::get);
        self.mark(|thread| thread == me);
        loaded
    }

    /// Nothing is let go of on the way out of a failed exploration: it would go on, and nobody would stop it.
    pub(crate) fn store(&self, value: u64, order: Ordering) {
        if !std::thread::panicking() {
            self.value.store(value, order);
            self.mark_stored();
        }
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        let found = self.value.compare_exchange(current, new, success, failure);
        self.mark_stored();
        found
    }

    pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        let before = self.value.fetch_add(value, order);
        self.mark_stored();
        before
    }

    pub(crate) fn fetch_max(&self, value: u64, order: Ordering) -> u64 {
        let before = self.value.fetch_max(value, order);
        self.mark_stored();
        before
    }

    fn mark_stored(&self) {
        let me = THREAD.with(Cell::get);
        self.mark(|thread| thread != me);
    }

    /// Nobody comes in between: whoever has to come before this comes before the access.
    fn mark(&self, which: impl Fn(usize) -> bool) {
        loom::stop_exploring();
        for (_, mark) in self.loaded.iter().enumerate().filter(|(thread, _)| which(*thread)) {
            mark.store(0, Ordering::Relaxed);
        }
        loom::explore();
    }
}

/// Lets the others go on: without that, there would be no end to the ways of waiting.
pub(crate) fn pause(_times: u32) {
    loom::thread::yield_now();
}
