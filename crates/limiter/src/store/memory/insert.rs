//! Inserts the new keys of a batch, so that they can be charged together as packed words. Most requests have such keys: a client
//! that was idle for a while owes nothing.

use tollgate_algorithms::Micros;

use super::fast_path::FastHit;
use super::resize::MOVED_LINES_PER_NEW_KEY;
use super::slot::Tag;
use super::slot_guard::KeyPosition;
use super::{Memory, StoreAtInstant};

impl Memory {
    /// Gives each hit whose key is not there a slot in which it owes nothing: as good as none, so that nothing is charged by it, and
    /// anybody may drop it again. `None` if that is not plain, or if a hit would be refused all the same: then `batch.rs` is asked.
    #[inline(never)]
    pub(super) fn put_in_words<const N: usize>(&self, hits: &[FastHit<'_>; N], now: Micros) -> Option<()> {
        let since_start = self.since_start(now);
        for hit in hits {
            let found = self.found(hit);
            let value = found.map_or(self.owes_nothing(hit), |(_, _, value)| value);
            let (zero, raw) = hit.weight.narrow.weigh(value, since_start, hit.weight.cost);
            // A cost of nothing puts no key in.
            (raw.granted && (found.is_some() || zero.is_some())).then_some(())?;
        }
        let ids = hits.map(|hit| hit.id);
        let at = StoreAtInstant { spared: &ids, ..StoreAtInstant::new(self, now) };
        for hit in hits {
            if self.found(hit).is_none() {
                self.put_in_word(hit, &at)?;
            }
        }
        if self.table.is_moving() {
            self.table.help(MOVED_LINES_PER_NEW_KEY, &at);
        }
        Some(())
    }

    fn put_in_word(&self, hit: &FastHit<'_>, at: &StoreAtInstant<'_>) -> Option<()> {
        let locked = match self.table.try_lock(hit.id, self.table.has_room(at), at).ok()? {
            KeyPosition::Slot(locked) => locked,
            KeyPosition::Full(held) => {
                held.leave();
                return None;
            }
        };
        // What keys have in common with it is where it starts; and one that somebody has put in meanwhile is there.
        let is_plain = locked.known().is_none()
            && self.shared.start_of(None, &hit.limit.family(), hit.id, at.now).is_none();
        if !is_plain {
            locked.leave();
            return None;
        }
        self.note_new(hit.id, at.now);
        locked.write(Tag::new(hit.id, hit.weight.narrow.kind), self.owes_nothing(hit));
        Some(())
    }

    /// The word of a key that is not there. It may have been dropped at an instant that lies ahead of the caller's: until then it may have
    /// owed something. Once its place is locked, nobody drops it any more.
    fn owes_nothing(&self, hit: &FastHit<'_>) -> u64 {
        self.since_start(self.latest_drop()).wrapping_mul(hit.weight.narrow.quota.count())
    }
}
