//! The atomics of the table, as an exploration sees them: each access is a point where another thread may come in, and a
//! load may return any value that the memory order allows. Not the ones that ship.

pub(crate) use loom::sync::atomic::Ordering;

/// A number in memory.
#[derive(Debug)]
pub(crate) struct AtomicU64(loom::sync::atomic::AtomicU64);

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> Self {
        Self(loom::sync::atomic::AtomicU64::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    /// Nothing is let go of on the way out of a failed exploration: it would go on, and nobody would stop it.
    pub(crate) fn store(&self, value: u64, order: Ordering) {
        if !std::thread::panicking() {
            self.0.store(value, order);
        }
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.0.compare_exchange(current, new, success, failure)
    }

    pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        self.0.fetch_add(value, order)
    }
}

/// Lets the others go on: without that, there would be no end to the ways of waiting.
pub(crate) fn pause(_times: u32) {
    loom::thread::yield_now();
}
