//! The atomics and locks of the store, named in one place so that loom can replace them.

pub(crate) use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Mutex, MutexGuard};

/// Lets the others go on for a moment: after the first few times, by giving up the processor.
#[inline]
pub(crate) fn pause(times: u32) {
    if times < SPINS_BEFORE_YIELD {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

/// A lock is held for some tens of nanoseconds, unless its holder has lost the processor.
const SPINS_BEFORE_YIELD: u32 = 64;
