//! The mover's lock: there is one mover at a time, and only it waits for others.

use super::slot::{Slot, Tag};
use crate::sync::{AtomicU64, Ordering, pause};

/// Waits until a slot's lock is free, and takes it. Only for the one who moves.
pub(super) fn wait_for(slot: &Slot) -> u64 {
    let (mut times, mut seen) = (0, 0);
    loop {
        // What is seen is the latest. If the lock is free, it is tried again at once: who waited first would find another
        // value each time, on a key that is charged all the time.
        match slot.lock_as_seen(seen) {
            Ok(()) => return seen,
            Err((value, is_free)) => {
                seen = value;
                if !is_free {
                    pause(times);
                    times = u32::saturating_add(times, 1);
                }
            }
        }
    }
}

/// Waits for the lock of a key's slot, and returns its tag; `None` if it is another key's by then.
pub(super) fn lock_if(slot: &Slot, is_right: impl Fn(Tag) -> bool) -> Option<Tag> {
    let value = wait_for(slot);
    let tag = slot.tag();
    if is_right(tag) {
        return Some(tag);
    }
    slot.unlock(value);
    None
}

/// The right to move lines, held by one at a time.
pub(super) struct MoverLock<'a>(&'a AtomicU64);

impl<'a> MoverLock<'a> {
    pub(super) fn try_new(mover: &'a AtomicU64) -> Option<Self> {
        let free = mover.load(Ordering::Relaxed) == 0;
        let taken = free && mover.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        // Made only if it is taken: it lets go when it is dropped.
        taken.then(|| Self(mover))
    }

    /// Waits for it.
    pub(super) fn new(mover: &'a AtomicU64) -> Self {
        for times in 0_u32.. {
            if let Some(alone) = Self::try_new(mover) {
                return alone;
            }
            pause(times);
        }
        Self(mover)
    }
}

impl Drop for MoverLock<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}
