//! One slot of the table: a tag that identifies the key, and a word with a lock bit and a value.

use crate::sync::{AtomicU64, Ordering};

/// Slots in a line. A line is one cache line: a key is found with one miss.
pub(crate) const LINE_SLOTS: usize = 4;

/// One cache line of slots.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Line(pub(crate) [Slot; LINE_SLOTS]);

/// Sixteen bytes for a key.
///
/// The tag changes only under the lock. The word is the lock: with [`OPEN`] set it is free to be taken; without, somebody
/// holds it, or the slot has been given up for good. Memory that was never set up is all zeros, and so is memory
/// that was given back: neither can be locked, which is what makes it safe to come too late.
#[derive(Debug)]
pub(crate) struct Slot {
    tag: AtomicU64,
    word: AtomicU64,
}

/// The bit of a word that says: not locked. The other 63 are the value.
const OPEN: u64 = 1 << 63;

/// The bits of a tag that say what the value means: 0 is reserved for slots without a key.
pub(crate) const KIND_BITS: u32 = 16;
const KIND_MASK: u64 = (1 << KIND_BITS) - 1;

/// How many bits of a key's identity are in its tag; the rest follows from where it is.
pub(crate) const REST_BITS: u32 = 64 - KIND_BITS;
pub(crate) const REST_MASK: u64 = (1 << REST_BITS) - 1;

/// Whose a slot is, and what its value means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tag(u64);

impl Tag {
    /// Never used since the table was set up. A search ends at a line that has one.
    pub(crate) const EMPTY: Self = Self(0);
    /// Used once, and free again. A search goes on past it.
    pub(crate) const DEAD: Self = Self(1 << KIND_BITS);

    /// The tag of a key: `kind` is not 0.
    #[inline]
    pub(crate) const fn new(id: u64, kind: u16) -> Self {
        Self((id & REST_MASK) << KIND_BITS | kind as u64)
    }

    /// As it is kept.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }

    /// What the value means; 0 for a slot without a key.
    #[inline]
    pub(crate) const fn kind(self) -> u16 {
        (self.0 & KIND_MASK) as u16
    }

    /// The bits of the key's identity that are kept here.
    #[inline]
    pub(crate) const fn rest(self) -> u64 {
        self.0 >> KIND_BITS
    }

    /// Whether there is no key.
    #[inline]
    pub(crate) const fn vacant(self) -> bool {
        self.kind() == 0
    }

    /// Whether it is the tag of this key.
    #[inline]
    pub(crate) const fn is_of(self, id: u64) -> bool {
        (self.rest() == id & REST_MASK) & !self.vacant()
    }
}

impl Slot {
    /// The tag as it is at the moment.
    #[inline]
    pub(crate) fn tag(&self) -> Tag {
        Tag(self.tag.load(Ordering::Acquire))
    }

    /// The value; `None` if it is locked.
    #[inline]
    pub(crate) fn value(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Acquire);
        (word & OPEN != 0).then_some(word & !OPEN)
    }

    /// Whether a value that was just read belongs to this tag.
    ///
    /// So the word is read before and after the tag: a pair that was never there would need the same 63 bits twice, from two
    /// owners, with a third in between.
    #[inline]
    pub(crate) fn is_still(&self, tag: Tag, value: u64) -> bool {
        self.tag() == tag && self.word.load(Ordering::Acquire) == value | OPEN
    }

    /// The value that belongs to a tag that was just read; `None` if it is locked or the tag has changed.
    #[inline]
    pub(crate) fn value_of(&self, tag: Tag) -> Option<u64> {
        self.value().filter(|value| self.is_still(tag, *value))
    }

    /// Takes the lock if it is free, and returns the value.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Relaxed);
        if word & OPEN == 0 {
            return None;
        }
        let taken = self.word.compare_exchange(word, word & !OPEN, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then_some(word & !OPEN)
    }

    /// Takes the lock if it is free and the value still is this one.
    #[inline]
    pub(crate) fn try_lock_at(&self, value: u64) -> bool {
        self.word.compare_exchange(value | OPEN, value, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock if it is free and the value is this one; if not, tells the latest value, and whether the lock is free.
    pub(crate) fn lock_as_seen(&self, value: u64) -> Result<(), (u64, bool)> {
        let taken = self.word.compare_exchange(value | OPEN, value, Ordering::Acquire, Ordering::Relaxed);
        taken.map(drop).map_err(|word| (word & !OPEN, word & OPEN != 0))
    }

    /// The value of a slot whose lock is held.
    #[inline]
    pub(crate) fn held(&self) -> u64 {
        self.word.load(Ordering::Relaxed)
    }

    /// Gives a new owner to a slot whose lock is held.
    #[inline]
    pub(crate) fn rename(&self, tag: Tag) {
        self.tag.store(tag.0, Ordering::Release);
    }

    /// Sets the value of a slot whose lock is held, and lets go of the lock.
    #[inline]
    pub(crate) fn unlock(&self, value: u64) {
        self.word.store(value | OPEN, Ordering::Release);
    }

    /// Gives up a slot whose lock is held: it can never be locked again until it is [set up](Self::set_up) anew.
    pub(crate) fn retire(&self) {
        self.word.store(0, Ordering::Release);
    }

    /// Makes a slot ready for use. Only in memory that nobody is sent to yet; but somebody may come late, and whoever finds it
    /// empty must find that the table has moved.
    pub(crate) fn set_up(&self) {
        self.tag.store(Tag::EMPTY.0, Ordering::Release);
        self.word.store(OPEN, Ordering::Release);
    }
}
