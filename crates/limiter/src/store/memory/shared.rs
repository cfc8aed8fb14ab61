//! What new keys get when there is no room for them: a share of a cell that they have in common. Never a bypass, and never
//! the budget of a key that is known.

use std::collections::HashMap;
use std::sync::PoisonError;

use tollgate_core::algorithm::list::{Edit, Then};
use tollgate_core::{Change, Limit, Micros, State};

use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};

/// Among how many cells the new keys of one limit are spread.
pub(crate) const SHARES: usize = 16;
/// So many limits can have such cells; for new keys of a further one the answer is "cannot tell".
pub(crate) const SHARED_LIMITS_MAX: usize = 256;
/// A list in such a cell has so many entries; further charges count with the latest, and so for a little longer.
const SHARED_ENTRIES_MAX: usize = 16;
/// What the cells of a limit take at the most.
const SHARED_BYTES: usize = SHARES * (size_of::<Option<Common>>() + 2 * SHARED_ENTRIES_MAX * 16);
/// How often, in microseconds, cells are looked through for ones that are as good as none.
const LOOKED_THROUGH_EVERY: u64 = 1_000_000;

/// The cells that new keys have in common while the store is full.
///
/// A key is charged here only while the home of its slot is locked, and when it gets a slot of its own it starts
/// where its cell stands: so what it was granted here is not granted to it again.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    cells: Mutex<Cells>,
    /// How many limits have cells: new keys look here only if there are any.
    used: AtomicUsize,
}

/// Where the new keys of a limit stand, by the limit's name and numbers, and by share.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    of: HashMap<Family, [Option<Common>; SHARES]>,
    looked_through: Micros,
}

/// The number of a limit's name, and its numbers.
pub(crate) type Family = (u64, Limit);

/// What some new keys have spent together.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) state: State,
    /// When it was last charged.
    pub(crate) at: Micros,
    /// From this instant on it is as good as none.
    pub(crate) over: Micros,
}

impl Cells {
    fn get(&self, family: &Family, id: u64, now: Micros) -> Option<&State> {
        let common = self.of.get(family)?.get(share_of(id))?.as_ref()?;
        (common.over > now).then_some(&common.state)
    }

    /// When a cell was last charged.
    pub(crate) fn latest(&self, family: &Family, id: u64) -> Micros {
        let cell = self.of.get(family).and_then(|shares| shares.get(share_of(id))?.as_ref());
        cell.map_or(Micros::ZERO, |common| common.at)
    }

    fn forget_old(&mut self, now: Micros) {
        self.of.retain(|_, shares| shares.iter().flatten().any(|common| common.over > now));
        self.looked_through = now;
    }
}

impl Shared {
    /// All cells.
    pub(crate) fn open(&self) -> MutexGuard<'_, Cells> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a new key starts, if keys like it have been charged here. The cells are given if they are open already.
    pub(crate) fn start_of(
        &self,
        open: Option<&Cells>,
        family: &Family,
        id: u64,
        now: Micros,
    ) -> Option<State> {
        if self.used.load(Ordering::Acquire) == 0 {
            return None;
        }
        if let Some(cells) = open {
            return cells.get(family, id, now).cloned();
        }
        let mut cells = self.open();
        if now.saturating_sub(cells.looked_through).get() > LOOKED_THROUGH_EVERY {
            cells.forget_old(now);
            self.used.store(cells.of.len(), Ordering::Release);
        }
        cells.get(family, id, now).cloned()
    }

    /// The state of a cell; `Err` if there is no cell for this limit and none can be had.
    pub(crate) fn state(
        cells: &mut Cells,
        family: &Family,
        id: u64,
        now: Micros,
    ) -> Result<Option<State>, ()> {
        if !cells.of.contains_key(family) && cells.of.len() >= SHARED_LIMITS_MAX {
            cells.forget_old(now);
            if cells.of.len() >= SHARED_LIMITS_MAX {
                return Err(());
            }
        }
        Ok(cells.get(family, id, now).cloned())
    }

    /// Puts a state in a cell.
    pub(crate) fn keep(&self, cells: &mut Cells, family: &Family, id: u64, common: Option<Common>) {
        if common.is_some() || cells.of.contains_key(family) {
            self.put(cells, family, share_of(id), common);
        }
    }

    /// Puts a state in the cell with a number.
    pub(crate) fn put(&self, cells: &mut Cells, family: &Family, share: usize, common: Option<Common>) {
        if let Some(cell) = cells.of.entry(*family).or_default().get_mut(share) {
            *cell = common;
        }
        self.used.store(cells.of.len(), Ordering::Release);
    }

    /// A change that does not make a list any longer than it may be.
    pub(crate) fn shortened(change: Change, state: &Option<State>) -> Change {
        let Some(State::SlidingWindowLog(list) | State::SlidingWindowBuckets(list)) = state else {
            return change;
        };
        if list.len() < SHARED_ENTRIES_MAX { change } else { merged(change, list.len()) }
    }

    /// Every cell that is not as good as none, with its limit and its number.
    pub(crate) fn all(&self, now: Micros) -> Vec<(Family, usize, Common)> {
        let cells = self.open();
        let of_one = |(family, shares): (&Family, &[Option<Common>; SHARES])| {
            let live = shares.iter().enumerate().filter_map(|(share, common)| Some((share, common.clone()?)));
            let live = live.filter(|(_, common)| common.over > now);
            live.map(|(share, common)| (*family, share, common)).collect::<Vec<_>>()
        };
        cells.of.iter().flat_map(of_one).collect()
    }

    /// What it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed) * SHARED_BYTES
    }
}

/// A change to a list that adds to its latest entry instead of making one more.
pub(crate) fn merged(change: Change, entries: usize) -> Change {
    let merge = |edit: Edit| match edit.then {
        Then::Push(entry) if entries > edit.drop => Edit { then: Then::Merge(entry), ..edit },
        Then::Push(_) | Then::Merge(_) | Then::Reduce(..) => edit,
    };
    match change {
        Change::EditLog(edit) => Change::EditLog(merge(edit)),
        Change::EditBuckets(edit) => Change::EditBuckets(merge(edit)),
        Change::Keep | Change::Replace(_) | Change::Forget => change,
    }
}

/// Which of the cells of a limit is a key's.
pub(crate) fn share_of(id: u64) -> usize {
    usize::try_from(id % SHARES as u64).unwrap_or(0)
}
