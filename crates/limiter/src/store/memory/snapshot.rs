//! Lists the keys of the memory store for a snapshot, and restores them. `crate::snapshot` writes the file.

use tollgate_algorithms::{Micros, State};

use super::overflow::{LimitOfName, OverflowBucket};
use super::packed_rates::{FRESH, IN_A_CELL, Rate};
use super::slot::Tag;
use super::slot_guard::KeyPosition;
use super::table::SlotOwner as _;
use super::{Memory, StoreAtInstant};
use crate::sync::pause;

/// One key as it stood when the store was saved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedKey {
    pub(crate) id: u64,
    pub(crate) what: SavedUsage,
}

/// What a key has used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SavedUsage {
    /// So many units, at the instant of saving, draining at a rate.
    Debt(Rate, u64),
    /// A state that does not fit in a word, and from when on it is as good as none.
    State(State, Micros),
}

/// What some new keys had spent in common when the store was saved.
#[derive(Clone, Debug)]
pub(crate) struct SavedOverflow {
    pub(crate) family: LimitOfName,
    /// Which of the limit's cells it is.
    pub(crate) share: u64,
    pub(crate) common: OverflowBucket,
}

impl Memory {
    /// What new keys have spent in common, as far as it counts at an instant.
    pub(crate) fn saved_in_common(&self, now: Micros) -> Vec<SavedOverflow> {
        let all = self.shared.all(now).into_iter();
        all.map(|(family, share, common)| SavedOverflow { family, share: share as u64, common }).collect()
    }

    /// Puts that back, before anybody uses the store. Returns whether there was room.
    pub(crate) fn put_back_in_common(&self, saved: SavedOverflow, saved_at: Micros, now: Micros) -> bool {
        let OverflowBucket { state, at, over } = saved.common;
        // If the clock has gone back meanwhile, nothing is decided as late as it was then.
        let over = if now < saved_at { now.saturating_add(over.saturating_sub(saved_at)) } else { over };
        let Some(share) = usize::try_from(saved.share).ok().filter(|_| over > now) else { return true };
        self.shared.put_back(saved.family, share, OverflowBucket { state, at: at.min(now), over })
    }

    /// Every key that is not as good as none, with how it stands at an instant. `each` is called under no lock.
    pub(crate) fn for_each_saved(&self, now: Micros, mut each: impl FnMut(&SavedKey)) {
        let at = StoreAtInstant::new(self, now);
        let since_start = self.since_start(now);
        let mut line: Vec<SavedKey> = Vec::new();
        self.table.for_each(|slot| match slot {
            Some((_, tag, value)) if at.is_as_good_as_none(tag, value) => {}
            Some((id, tag, value)) => {
                let what = match tag.kind() {
                    IN_A_CELL => self.cells.get(value).and_then(|cell| {
                        let state = cell.open().state.clone()?;
                        Some(SavedUsage::State(state, cell.over()))
                    }),
                    FRESH => None,
                    kind => self.rates.get(kind).map(|rate| {
                        SavedUsage::Debt(rate, value.saturating_sub(since_start.saturating_mul(rate.count)))
                    }),
                };
                line.extend(what.map(|what| SavedKey { id, what }));
            }
            None => line.drain(..).for_each(|saved| each(&saved)),
        });
    }

    /// Puts a key back that was saved at an instant, before anybody uses the store. Returns whether there was room.
    pub(crate) fn put_back(&self, saved: &SavedKey, saved_at: Micros, now: Micros) -> bool {
        let at = StoreAtInstant::new(self, now);
        let (kind, value) = match &saved.what {
            SavedUsage::Debt(rate, debt) => {
                // If the clock has gone back meanwhile, nothing has drained.
                let drained = now.saturating_sub(saved_at).get().saturating_mul(rate.count);
                let left = debt.saturating_sub(drained);
                if left == 0 {
                    return true;
                }
                let Some(kind) = self.number_of(*rate) else { return false };
                (kind, self.since_start(now).saturating_mul(rate.count).saturating_add(left))
            }
            SavedUsage::State(_, over) if *over <= now => return true,
            SavedUsage::State(state, over) => {
                let Some(number) = self.new_cell(&at) else { return false };
                let Some(cell) = self.cells.get(number) else { return false };
                let mut kept = cell.open();
                kept.state = Some(state.clone());
                self.cells.note_list(0, kept.list_bytes());
                cell.set_over(*over);
                (IN_A_CELL, number)
            }
        };
        let mut times = 0;
        loop {
            let roomy = self.table.has_room(&at);
            match self.table.try_lock(saved.id, roomy, &at) {
                Ok(KeyPosition::Slot(locked)) => {
                    locked.write(Tag::new(saved.id, kind), value);
                    self.table.help(super::MOVED_LINES_PER_NEW_KEY, &at);
                    return true;
                }
                Ok(KeyPosition::Full(held)) => {
                    let hopeful = self.table.could_grow(roomy, &at);
                    held.leave();
                    if !hopeful || !self.table.make_room(&at) {
                        if kind == IN_A_CELL {
                            self.cells.give_back(value);
                        }
                        return false;
                    }
                }
                Err(_) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }
}
