//! Evicts drained keys in place when their overflow states are needed. A moving table evicts them as it goes: `moving.rs`.

use super::map::RegionMap;
use super::mover_lock::MoverLock;
use super::slot::Tag;
use super::slot_guard::SlotGuard;
use super::table::{SlotOwner, Table};
use crate::sync::Ordering;

impl Table {
    /// Drops those of so many lines, from a line on (counted round and round), that are as good as none and that `has_more` than a slot
    /// is said of. It waits for nobody, so it may be called under a lock; while the table moves it does nothing.
    pub(crate) fn drop_spent(
        &self,
        (from, lines): (usize, usize),
        keeper: &impl SlotOwner,
        has_more: impl Fn(Tag) -> bool,
    ) {
        let Some(_alone) = MoverLock::try_new(&self.mover) else { return };
        let map = RegionMap::unpack(self.map.load(Ordering::Acquire));
        // Beyond the homes there is hardly anything.
        let all = self.lines(map.newest).get(..self.homes(map.newest)).unwrap_or(&[]);
        if map.oldest.is_some() || all.is_empty() {
            return;
        }
        for line in
            (0..lines.min(all.len())).filter_map(|step| all.get((from % all.len() + step) % all.len()))
        {
            for slot in &line.0 {
                let tag = slot.tag();
                let is_spent =
                    |value: &u64| !tag.vacant() && has_more(tag) && keeper.is_as_good_as_none(tag, *value);
                let Some(value) = slot.value_of(tag).filter(is_spent) else { continue };
                let Some(locked) = Self::lock_as_read(slot, tag, value) else { continue };
                // What it has besides its slot may have been charged before the lock was had, and the slot be as it was.
                if is_spent(&value) { Self::dropped(locked, keeper) } else { locked.leave() }
            }
        }
    }

    fn dropped(locked: SlotGuard<'_>, keeper: &impl SlotOwner) {
        keeper.dropped(locked.tag, locked.value);
        locked.forget();
    }
}
