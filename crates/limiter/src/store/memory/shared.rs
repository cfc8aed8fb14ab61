//! What new keys get when there is no room for them: a share of a cell that they have in common. Never a bypass, and never
//! the budget of a key that is known.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tollgate_core::{Limit, Micros, State};

/// Among how many cells the new keys of one limit are spread.
pub(crate) const SHARES: usize = 16;
/// So many limits can have such cells; for new keys of a further one the answer is "cannot tell".
pub(crate) const SHARED_LIMITS_MAX: usize = 4_096;

/// The cells that new keys have in common while the store is full.
///
/// A key is charged here only while the home of its slot is locked, and when it gets a slot of its own it starts
/// where its cell stands: so what it was granted here is not granted to it again.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    cells: Mutex<Cells>,
    /// How many cells are in use: new keys look here only if there are any.
    used: AtomicUsize,
}

/// Where the new keys of a limit stand, by share.
pub(crate) type Cells = HashMap<Limit, [Option<Common>; SHARES]>;

/// What some new keys have spent together.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) state: State,
    /// From this instant on it is as good as none.
    pub(crate) over: Micros,
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
        limit: &Limit,
        id: u64,
        now: Micros,
    ) -> Option<State> {
        if self.used.load(Ordering::Acquire) == 0 {
            return None;
        }
        let (guard, cells);
        if let Some(open) = open {
            cells = open;
        } else {
            guard = self.open();
            cells = &*guard;
        }
        let common = cells.get(limit)?.get(share_of(id))?.as_ref()?;
        (common.over > now).then(|| common.state.clone())
    }

    /// The state of a cell; `Err` if there is no cell for this limit and none can be had.
    pub(crate) fn state(cells: &mut Cells, limit: &Limit, id: u64, now: Micros) -> Result<Option<State>, ()> {
        if !cells.contains_key(limit) && cells.len() >= SHARED_LIMITS_MAX {
            cells.retain(|_, shares| shares.iter().flatten().any(|common| common.over > now));
            if cells.len() >= SHARED_LIMITS_MAX {
                return Err(());
            }
        }
        let common = cells.get_mut(limit).and_then(|shares| shares.get_mut(share_of(id)));
        Ok(common.and_then(Option::take).filter(|common| common.over > now).map(|common| common.state))
    }

    /// Puts a state back, or a new one in its place.
    pub(crate) fn keep(&self, cells: &mut Cells, limit: &Limit, id: u64, common: Option<Common>) {
        if let Some(cell) = cells.entry(*limit).or_default().get_mut(share_of(id)) {
            *cell = common;
        }
        self.used.store(cells.len(), Ordering::Release);
    }
}

fn share_of(id: u64) -> usize {
    usize::try_from(id % SHARES as u64).unwrap_or(0)
}
