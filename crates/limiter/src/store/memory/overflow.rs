//! The overflow buckets: when memory is full, new keys share one per limit. They never bypass a limit, and never affect known
//! keys.

use std::collections::HashMap;
use std::sync::PoisonError;

use tollgate_algorithms::algorithm::list::{Edit, EditAction};
use tollgate_algorithms::{Change, Limit, Micros, State};

use super::apply::is_stricter;
use super::large_states::LIST_OVERHEAD_BYTES;
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};

/// Among how many cells the new keys of one limit are spread.
pub(crate) const SHARES: usize = 16;
/// So many limits can have such cells, or as many as fit in their part of the budget; for new keys of a further one the answer is
/// "cannot tell".
pub(crate) const SHARED_LIMITS_MAX: usize = 256;
/// The part of a budget that is set aside for them: one in so many bytes.
const PART_OF_BUDGET: usize = 16;
/// A list in such a cell has so many entries; further charges count with the latest, and so for a little longer.
const SHARED_ENTRIES_MAX: usize = 16;
/// What the cells of a limit take at the most.
const POOL_BYTES: usize =
    SHARES * (size_of::<Option<OverflowBucket>>() + 2 * SHARED_ENTRIES_MAX * 16 + LIST_OVERHEAD_BYTES);
/// How often, in microseconds, cells are looked through for ones that are as good as none.
const LOOKED_THROUGH_EVERY: u64 = 1_000_000;
/// Cells are forgotten so long, in microseconds, after they are as good as none: a thread may have read the clock before that, and come to
/// decide after.
const FORGOTTEN_AFTER: u64 = 10_000_000;

/// The cells that new keys have in common while the store is full.
///
/// A key is charged here only while the home of its slot is locked, and when it gets a slot of its own it starts
/// where its cell stands: so what it was granted here is not granted to it again.
#[derive(Debug)]
pub(crate) struct OverflowBuckets {
    cells: Mutex<BucketPools>,
    /// How many limits have cells: new keys look here only if there are any.
    used: AtomicUsize,
    pools_max: usize,
}

/// Where new keys stand, by the number of their limit's name.
///
/// A key may be met under several numbers of one name. So each of its charges is charged to the cells of all of them (of one algorithm, as a key that is met
/// under another one starts afresh), each in its own units and draining at its own rate; and cells of further numbers start where those stand.
#[derive(Debug, Default)]
pub(crate) struct BucketPools {
    of: HashMap<u64, Vec<BucketPool>>,
    /// How many limits have cells.
    pools: usize,
    looked_through: Micros,
    /// By how many microseconds the calendar runs ahead of the clock.
    ahead: i64,
}

/// The cells of one limit.
#[derive(Debug)]
struct BucketPool {
    limit: Limit,
    shares: [Option<OverflowBucket>; SHARES],
}

/// The number of a limit's name, and its numbers.
pub(crate) type LimitOfName = (u64, Limit);

/// What some new keys have spent together.
#[derive(Clone, Debug)]
pub(crate) struct OverflowBucket {
    pub(crate) state: State,
    /// When it was last charged.
    pub(crate) at: Micros,
    /// From this instant on it is as good as none.
    pub(crate) over: Micros,
}

impl OverflowBucket {
    /// As it is under a limit.
    fn under(limit: &Limit, state: State, at: Micros) -> Self {
        let over = at.saturating_add(tollgate_algorithms::peek(limit, Some(&state), at, 0).reset_after);
        Self { state, at, over }
    }
}

impl BucketPool {
    fn live(&self, share: usize, now: Micros) -> Option<&State> {
        self.shares.get(share)?.as_ref().filter(|common| common.over > now).map(|common| &common.state)
    }

    /// Whether it cannot be forgotten.
    fn is_kept(&self, now: Micros) -> bool {
        let until = |common: &OverflowBucket| common.over.saturating_add(Micros::new(FORGOTTEN_AFTER));
        self.shares.iter().flatten().any(|common| until(common) > now)
    }

    /// Charges a cell with what was granted under other numbers, whether it fits or not.
    fn charge_too(&mut self, share: usize, charged: u64, (now, ahead): (Micros, i64)) {
        let mut state = self.live(share, now).cloned();
        let dated = self.limit.with_calendar_ahead(ahead);
        let (change, _) = tollgate_algorithms::settle(&dated, state.as_ref(), now, charged);
        OverflowBuckets::shortened(change, &state).apply(&mut state);
        if let Some(cell) = self.shares.get_mut(share) {
            *cell = state.map(|state| OverflowBucket::under(&dated, state, now));
        }
    }
}

impl BucketPools {
    fn pools(&self, name: u64) -> &[BucketPool] {
        self.of.get(&name).map_or(&[], Vec::as_slice)
    }

    /// Where the new keys of a share stand.
    fn get(&self, (name, limit): &LimitOfName, share: usize, now: Micros) -> Option<&State> {
        let pools = self.pools(*name);
        if let Some(pool) = pools.iter().find(|pool| pool.limit == *limit) {
            return pool.live(share, now);
        }
        let mut strictest = None;
        for pool in pools.iter().filter(|pool| pool.limit.algorithm() == limit.algorithm()) {
            if let Some(state) = pool.live(share, now)
                && is_stricter(limit, state, strictest, now)
            {
                strictest = Some(state);
            }
        }
        strictest
    }

    /// When a cell was last charged.
    pub(crate) fn latest(&self, (name, _): &LimitOfName, id: u64) -> Micros {
        let cells = self.pools(*name).iter().filter_map(|pool| pool.shares.get(share_of(id))?.as_ref());
        cells.map(|common| common.at).max().unwrap_or(Micros::ZERO)
    }

    fn forget_old(&mut self, now: Micros) {
        self.of.retain(|_, pools| {
            // All or none of a name: those that stay would not know what those that go have been charged.
            pools.iter().any(|pool| pool.is_kept(now))
        });
        self.pools = self.of.values().map(Vec::len).sum();
        self.looked_through = now;
    }

    /// The cells of a limit, which are made if it has none.
    fn pool(&mut self, family: &LimitOfName, now: Micros) -> Option<&mut BucketPool> {
        let (name, limit) = *family;
        if !self.pools(name).iter().any(|pool| pool.limit == limit) {
            let (dated, inherited) =
                (limit.with_calendar_ahead(self.ahead), |share| self.get(family, share, now).cloned());
            let shares = std::array::from_fn(|share| {
                inherited(share).map(|state| OverflowBucket::under(&dated, state, now))
            });
            self.of.entry(name).or_default().push(BucketPool { limit, shares });
            self.pools += 1;
        }
        self.of.get_mut(&name)?.iter_mut().find(|pool| pool.limit == limit)
    }
}

impl OverflowBuckets {
    /// Cells for a store with this budget.
    pub(crate) fn new(budget: usize) -> Self {
        let pools_max = (budget / PART_OF_BUDGET / POOL_BYTES).clamp(1, SHARED_LIMITS_MAX);
        Self { cells: Mutex::new(BucketPools::default()), used: AtomicUsize::new(0), pools_max }
    }

    /// All cells, where the calendar is so far ahead of the clock.
    pub(crate) fn open(&self, ahead: i64) -> MutexGuard<'_, BucketPools> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells.ahead = ahead;
        cells
    }

    /// Where a new key starts, if keys like it have been charged here. The cells are given if they are open already.
    pub(crate) fn start_of(
        &self,
        open: Option<&BucketPools>,
        family: &LimitOfName,
        id: u64,
        now: Micros,
    ) -> Option<State> {
        if self.used.load(Ordering::Acquire) == 0 {
            return None;
        }
        if let Some(cells) = open {
            return cells.get(family, share_of(id), now).cloned();
        }
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if now.saturating_sub(cells.looked_through).get() > LOOKED_THROUGH_EVERY {
            cells.forget_old(now);
            self.used.store(cells.pools, Ordering::Release);
        }
        cells.get(family, share_of(id), now).cloned()
    }

    /// The state of a cell; `Err` if there is no cell for this limit and none can be had.
    pub(crate) fn state(
        &self,
        cells: &BucketPools,
        family: &LimitOfName,
        id: u64,
        now: Micros,
    ) -> Result<Option<State>, ()> {
        let (name, limit) = family;
        let has_cells = cells.pools(*name).iter().any(|pool| pool.limit == *limit);
        // If a charge would make room by forgetting some, so does a look.
        let goes = || cells.of.values().any(|pools| !pools.iter().any(|pool| pool.is_kept(now)));
        if has_cells || cells.pools < self.pools_max || goes() {
            return Ok(cells.get(family, share_of(id), now).cloned());
        }
        Err(())
    }

    /// The same for a key that is about to be charged: if there is no cell for this limit, one is made.
    pub(crate) fn claim(
        &self,
        cells: &mut BucketPools,
        family: &LimitOfName,
        id: u64,
        now: Micros,
    ) -> Result<Option<State>, ()> {
        let has_cells = cells.pools(family.0).iter().any(|pool| pool.limit == family.1);
        if !has_cells && cells.pools >= self.pools_max {
            cells.forget_old(now);
        }
        let state = self.state(cells, family, id, now)?;
        cells.pool(family, now);
        self.used.store(cells.pools, Ordering::Release);
        Ok(state)
    }

    /// Puts a state in a cell, and charges what was charged with it to the cells of the same keys under other numbers.
    pub(crate) fn keep(
        &self,
        cells: &mut BucketPools,
        (family, id): (&LimitOfName, u64),
        (common, charged): (Option<OverflowBucket>, u64),
        now: Micros,
    ) {
        let share = share_of(id);
        if let Some(cell) = cells.pool(family, now).and_then(|pool| pool.shares.get_mut(share)) {
            *cell = common;
        }
        self.used.store(cells.pools, Ordering::Release);
        let (name, limit, ahead) = (&family.0, &family.1, cells.ahead);
        let is_other =
            |pool: &&mut BucketPool| pool.limit != *limit && pool.limit.algorithm() == limit.algorithm();
        let others = cells.of.get_mut(name).into_iter().flatten().filter(is_other);
        if charged > 0 {
            others.for_each(|pool| pool.charge_too(share, charged, (now, ahead)));
        }
    }

    /// Puts a state back into the cell with a number, as it was saved. Returns whether there was room.
    pub(crate) fn put_back(&self, (name, limit): LimitOfName, share: usize, common: OverflowBucket) -> bool {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        if !cells.pools(name).iter().any(|pool| pool.limit == limit) {
            if cells.pools >= self.pools_max {
                return false;
            }
            cells.of.entry(name).or_default().push(BucketPool { limit, shares: [const { None }; SHARES] });
            cells.pools += 1;
        }
        self.used.store(cells.pools, Ordering::Release);
        let pool =
            cells.of.get_mut(&name).and_then(|pools| pools.iter_mut().find(|pool| pool.limit == limit));
        if let Some(cell) = pool.and_then(|pool| pool.shares.get_mut(share)) {
            *cell = Some(common);
        }
        true
    }

    /// A change that does not make a list any longer than it may be.
    pub(crate) fn shortened(change: Change, state: &Option<State>) -> Change {
        let Some(State::SlidingWindowLog(list) | State::SlidingWindowBuckets(list)) = state else {
            return change;
        };
        if list.len() < SHARED_ENTRIES_MAX { change } else { merged(change, list.len()) }
    }

    /// Every cell that is not as good as none, with its limit and its number.
    pub(crate) fn all(&self, now: Micros) -> Vec<(LimitOfName, usize, OverflowBucket)> {
        let cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        for (name, pool) in
            cells.of.iter().flat_map(|(name, pools)| pools.iter().map(move |pool| (*name, pool)))
        {
            for (share, common) in pool.shares.iter().enumerate() {
                all.extend(
                    common
                        .clone()
                        .filter(|common| common.over > now)
                        .map(|common| ((name, pool.limit), share, common)),
                );
            }
        }
        all
    }

    /// What it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed) * POOL_BYTES
    }

    /// What it may come to take.
    pub(crate) const fn bytes_max(&self) -> usize {
        self.pools_max * POOL_BYTES
    }
}

/// A change to a list that adds to its latest entry instead of making one more.
pub(crate) fn merged(change: Change, entries: usize) -> Change {
    let merge = |edit: Edit| match edit.then {
        EditAction::Push(entry) if entries > edit.drop => Edit { then: EditAction::Merge(entry), ..edit },
        EditAction::Push(_) | EditAction::Merge(_) | EditAction::Reduce(..) => edit,
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
