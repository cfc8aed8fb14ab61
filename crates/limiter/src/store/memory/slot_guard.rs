//! A guard for a locked slot, and the ways to release it.

use super::slot::{Slot, Tag};
use crate::sync::{AtomicU64, Ordering};

/// A slot whose lock is held. It must be let go by one of its methods.
#[derive(Debug)]
#[must_use = "it stays locked"]
pub(crate) struct SlotGuard<'a> {
    pub(super) slot: &'a Slot,
    pub(super) tag: Tag,
    pub(super) value: u64,
    /// For a new key: the first slot of its home and its value, unless it is the same slot.
    pub(super) home: Option<(&'a Slot, u64)>,
    /// For a new key: where to count a slot that was empty.
    pub(super) used: Option<&'a AtomicU64>,
}

/// Where a key is, or could be.
#[derive(Debug)]
pub(crate) enum KeyPosition<'a> {
    /// It is here; or it is new, and can have this slot.
    Slot(SlotGuard<'a>),
    /// It is not here, and there is no room for it. As long as its home is held, nobody else puts it in.
    Full(HomeGuard<'a>),
}

/// The home of a key that is not in the table, locked.
#[derive(Debug)]
#[must_use = "it stays locked"]
pub(crate) struct HomeGuard<'a>(pub(super) &'a Slot, pub(super) u64);

impl HomeGuard<'_> {
    /// Lets go.
    pub(crate) fn leave(self) {
        self.0.unlock(self.1);
    }
}

impl SlotGuard<'_> {
    /// The key's tag and value; `None` if it is a new key.
    #[inline]
    pub(crate) const fn known(&self) -> Option<(Tag, u64)> {
        if self.tag.vacant() { None } else { Some((self.tag, self.value)) }
    }

    /// Whether the slot has never been used.
    pub(super) fn was_empty(&self) -> bool {
        self.tag == Tag::EMPTY
    }

    /// Sets the value, and the tag if it is a new one, and lets go.
    #[inline]
    pub(crate) fn write(self, tag: Tag, value: u64) {
        if tag != self.tag {
            self.slot.rename(tag);
            if let Some(used) = self.used {
                used.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.slot.unlock(value);
        if let Some((home, value)) = self.home {
            home.unlock(value);
        }
    }

    /// Lets go and leaves everything as it was.
    #[inline]
    pub(crate) fn leave(self) {
        let (tag, value) = (self.tag, self.value);
        self.write(tag, value);
    }

    /// Makes the slot free for another key, and lets go.
    pub(crate) fn forget(self) {
        if self.known().is_some() { self.write(Tag::DEAD, 0) } else { self.leave() }
    }
}
