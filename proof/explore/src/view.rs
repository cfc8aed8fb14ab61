//! The least store that a table can have: a value is a number of charges. It calls the table in the same order as the
//! memory store does; it knows no limits and no time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::store::memory::slot::Tag;
use crate::store::memory::slot_guard::{KeyPosition, SlotGuard};
use crate::store::memory::table::{Contended, KeyWorth, SlotOwner, Table};
use crate::sync::pause;

/// A table, and what was dropped from it.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) table: Table,
    /// How many keys were dropped. It is counted under a lock, and read when all threads are done.
    dropped: AtomicU64,
}

/// A store as one thread sees it: two threads are at two instants, so a value may be as good as none to one of them only.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) store: Arc<Store>,
    /// The values that are as good as none.
    pub(crate) none: &'static [u64],
    pub(crate) homes_max: usize,
    /// Whether a full table that cannot grow is looked through for keys that are as good as none.
    pub(crate) looks: bool,
    /// What the thread writes into the tags of its keys.
    pub(crate) kind: u16,
}

impl SlotOwner for View {
    fn worth(&self, _tag: Tag, value: u64) -> KeyWorth {
        if self.none.contains(&value) { KeyWorth::Stale } else { KeyWorth::Live }
    }

    fn dropped(&self, _tag: Tag, _value: u64) {
        self.store.dropped.fetch_add(1, Ordering::Relaxed);
    }

    fn homes_max(&self) -> usize {
        self.homes_max
    }

    fn is_time_to_look(&self) -> bool {
        self.looks
    }
}

/// There was no room for a new key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full;

impl View {
    /// A store with so many homes, which cannot become more, and these keys. 0 is as good as none.
    pub(crate) fn new(homes: usize, keys: &[(u64, u64)]) -> Self {
        let table = Table::new(homes).expect("there is memory");
        let store = Arc::new(Store { table, dropped: AtomicU64::new(0) });
        let view = Self { store, none: &[], homes_max: homes, looks: false, kind: 1 };
        for &(id, value) in keys {
            view.charge(id, value).expect("the scenario begins with keys that fit");
        }
        Self { none: &[0], ..view }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.store.table
    }

    /// Charges a key under its lock, as `Memory::act` does.
    pub(crate) fn charge(&self, id: u64, cost: u64) -> Result<(), Full> {
        let mut stuck = false;
        loop {
            let roomy = self.table().has_room(self);
            match self.table().try_lock(id, roomy, self) {
                Ok(KeyPosition::Slot(locked)) => {
                    let lines = if locked.known().is_none() { 8 } else { 1 };
                    self.write(locked, id, cost);
                    if self.table().is_moving() {
                        self.table().help(lines, self);
                    }
                    return Ok(());
                }
                Ok(KeyPosition::Full(held)) => {
                    let hopeless = stuck || !self.table().could_grow(roomy, self);
                    held.leave();
                    if hopeless {
                        return Err(Full);
                    }
                    stuck = !self.table().make_room(self);
                }
                Err(Contended) => {}
            }
            pause(0);
        }
    }

    fn write(&self, locked: SlotGuard<'_>, id: u64, cost: u64) {
        let value = locked.known().map_or(0, |(tag, value)| {
            assert!(tag.is_of(id), "it is another key's slot");
            value
        });
        locked.write(Tag::new(id, self.kind), value + cost);
    }

    /// Charges a key that stands in its home without looking any further, as `Memory::charge_at` does; if it does not,
    /// charges it in the other way.
    pub(crate) fn charge_at_once(&self, id: u64, cost: u64) -> Result<(), Full> {
        let read = self.table().spot(id).read(id, self.kind);
        match read.and_then(|(slot, tag, value)| Table::lock_as_read(slot, tag, value)) {
            Some(locked) => {
                self.write(locked, id, cost);
                if self.table().is_moving() {
                    self.table().help(1, self);
                }
                Ok(())
            }
            None => self.charge(id, cost),
        }
    }

    /// Forgets a key, as `Memory::reset` does.
    pub(crate) fn forget(&self, id: u64) {
        loop {
            match self.table().try_lock(id, true, self) {
                Ok(KeyPosition::Slot(locked)) => return locked.forget(),
                Ok(KeyPosition::Full(held)) => return held.leave(),
                Err(Contended) => pause(0),
            }
        }
    }

    /// What a refusal sees: the value of a key, without a lock.
    pub(crate) fn read(&self, id: u64) -> Option<u64> {
        let (_, tag, value) = self.table().read(id)?;
        assert!(tag.is_of(id), "it is another key's tag");
        Some(value)
    }

    /// Begins to move the table, if that helps, and moves all of it.
    pub(crate) fn move_all(&self) {
        self.table().make_room(self);
        while self.table().is_moving() {
            pause(0);
            self.table().help(usize::MAX, self);
        }
    }

    /// Begins to move a table in which enough keys are as good as none, and moves nothing yet.
    pub(crate) fn begin_to_sweep(&self) {
        self.table().begin(0, &Self { looks: true, ..self.clone() });
        assert!(self.table().is_moving(), "there is something to get rid of");
    }

    /// Moves what can be moved without waiting for its turn.
    pub(crate) fn help(&self) {
        self.table().help(usize::MAX, self);
    }

    /// All keys and their values, in order. Only when the other threads are done.
    pub(crate) fn contents(&self) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        self.table().for_each(|slot| found.extend(slot.map(|(id, _, value)| (id, value))));
        found.sort_unstable();
        found
    }

    /// How many keys were dropped. Only when the other threads are done.
    pub(crate) fn dropped(&self) -> u64 {
        self.store.dropped.load(Ordering::Relaxed)
    }
}
