//! Where to look: which regions are in use, and the line in which a search begins. Searching is `table.rs`.

use super::region::prefetch;
use super::slot::{Line, Slot, Tag};

const NO_REGION: usize = 127;

/// What a table's word about its regions says, unpacked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Map {
    pub(super) newest: usize,
    /// The region that is being moved from.
    pub(super) oldest: Option<usize>,
    /// The first line of the oldest region whose keys have not been moved yet.
    pub(super) frontier: usize,
}

impl Map {
    pub(super) fn pack(self) -> u64 {
        (self.newest | self.oldest.unwrap_or(NO_REGION) << 7) as u64 | (self.frontier as u64) << 14
    }

    #[inline]
    pub(super) fn unpack(packed: u64) -> Self {
        let oldest = (packed >> 7 & 127) as usize;
        Self {
            newest: (packed & 127) as usize,
            oldest: (oldest != NO_REGION).then_some(oldest),
            frontier: (packed >> 14) as usize,
        }
    }
}

/// Where a key is looked for first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot<'a>(pub(super) &'a Line);

impl<'a> Spot<'a> {
    /// Fetches the line, and does not wait for it.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self.0);
    }

    /// The slot, tag and value of a key of a certain kind, if it stands in its home and nobody is at it.
    ///
    /// All four slots are compared before the first jump: which one it is cannot be predicted.
    #[inline]
    pub(crate) fn read(&self, id: u64, kind: u16) -> Option<(&'a Slot, Tag, u64)> {
        let tag = Tag::new(id, kind);
        let is_at = |slot: usize| u32::from(self.0.0[slot].tag() == tag) << slot;
        let found = is_at(0) | is_at(1) | is_at(2) | is_at(3);
        let slot = self.0.0.get(usize::try_from(found.trailing_zeros()).ok()?)?;
        Some((slot, tag, slot.value_of(tag)?))
    }
}
