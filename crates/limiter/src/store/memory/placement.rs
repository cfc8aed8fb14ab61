//! Chooses the slot for a new key: the best on its probe path. `table.rs` locks it.

use super::slot::{Slot, Tag};
use super::table::{KeyWorth, SlotOwner};

/// A slot and the tag that was read in it.
type Read<'a> = (&'a Slot, Tag);

/// The first slot of each sort that a new key could have.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct FreeSlots<'a> {
    /// One that has never been used.
    pub(super) empty: Option<Read<'a>>,
    /// An empty slot, or one whose key drained long ago.
    free: Option<Read<'a>>,
    /// A slot whose key has drained and may come back soon.
    idle: Option<Read<'a>>,
}

impl<'a> FreeSlots<'a> {
    /// Notes a slot. `held` is its value if the caller has locked it.
    pub(super) fn note(&mut self, (slot, tag): Read<'a>, held: Option<u64>, keeper: &impl SlotOwner) {
        if tag == Tag::EMPTY {
            self.empty = self.empty.or(Some((slot, tag)));
            return;
        }
        if self.free.is_some() {
            return;
        }
        let Some(value) = held.or_else(|| slot.value_of(tag)) else { return };
        let worth = if tag.vacant() { KeyWorth::Stale } else { keeper.worth(tag, value) };
        match worth {
            KeyWorth::Stale => self.free = Some((slot, tag)),
            KeyWorth::Idle => self.idle = self.idle.or(Some((slot, tag))),
            KeyWorth::Live => {}
        }
    }

    /// The slot to take. While empty slots are plenty, an idle key keeps its slot: to find a key where it stands costs a
    /// fraction of what it costs to put it in again.
    pub(super) fn best(self, has_plenty: bool) -> Option<Read<'a>> {
        let then = if has_plenty { self.empty.or(self.idle) } else { self.idle.or(self.empty) };
        self.free.or(then)
    }
}
