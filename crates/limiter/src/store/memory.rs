//! The memory store: exact under any number of threads, bounded in bytes, without a background thread. Decides single hits;
//! `memory/batch.rs` decides batches.

pub(crate) mod apply;
pub(crate) mod batch;
pub(crate) mod batch_lock;
mod budget;
pub(crate) mod evict;
pub(crate) mod fast_path;
pub(crate) mod in_flight;
pub(crate) mod in_line;
pub(crate) mod insert;
pub(crate) mod key_request;
pub(crate) mod lanes;
pub(crate) mod large_states;
pub(crate) mod map;
pub(crate) mod mover_lock;
pub(crate) mod overflow;
pub(crate) mod packed_rates;
pub(crate) mod peek;
mod placement;
pub(crate) mod prefetch;
pub(crate) mod queue;
pub(crate) mod region;
pub(crate) mod resize;
mod reuse;
pub(crate) mod slot;
pub(crate) mod slot_guard;
pub(crate) mod slot_owner;
pub(crate) mod snapshot;
pub(crate) mod table;
#[cfg(test)]
mod test_engine;
#[cfg(test)]
mod tests;

use apply::asked;
pub(crate) use key_request::{ChargeResult, FoundSlot, KeyRequest, KeyResult, NoRoom, PackedHit};
use large_states::LargeStates;
use map::Probe;
use overflow::OverflowBuckets;
use packed_rates::{FRESH, IN_A_CELL, PackedDecision, Rates};
use resize::{MOVED_LINES_PER_CHARGE, MOVED_LINES_PER_NEW_KEY};
use reuse::ReturningKeys;
use slot::Tag;
use slot_guard::KeyPosition;
use table::{KeyWorth, SlotOwner, Table};
use tollgate_algorithms::{Limit, Micros};

use crate::clock::{Calendar, Clock};
use crate::limit::LimitInner;
use crate::sync::{AtomicU64, AtomicUsize, Ordering, pause};

/// A table begins with so many lines: 64 KiB. The identity of a key has 54 bits: 48 in its tag, 6 from where it stands.
const HOMES_MIN: usize = 1_024;

/// Keys and where they stand.
#[derive(Debug)]
pub(crate) struct Memory {
    table: Table,
    pub(crate) rates: Rates,
    cells: LargeStates,
    shared: OverflowBuckets,
    budget: usize,
    /// The bytes of the budget that are set aside for counts of permits.
    reserved: AtomicUsize,
    /// The instant from which the words of the table count.
    start: Micros,
    /// The latest instant at which a key was dropped as good as none. A key that is put in later is put in no earlier.
    dropped: AtomicU64,
    /// How many hits were decided by a cell that keys have in common.
    overflowed: AtomicU64,
    calendar: Calendar,
    /// When a full table was last looked at, for keys that are as good as none.
    looked: AtomicU64,
    /// The line from which on keys are dropped next whose cells are wanted.
    swept: AtomicU64,
    /// Whether keys that were dropped come back.
    returns: ReturningKeys,
}

/// A key of a limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitKey<'a> {
    pub(crate) limit: &'a LimitInner,
    pub(crate) id: u64,
}

/// The store at an instant, as the table sees it.
struct StoreAtInstant<'a> {
    store: &'a Memory,
    now: Micros,
    /// A key that owed nothing by then, in microseconds since the store began, is stale.
    stale: u64,
    /// Keys that are not to be dropped just now, even if they are as good as none: a batch needs them all at once.
    spared: &'a [u64],
}

impl<'a> StoreAtInstant<'a> {
    fn new(store: &'a Memory, now: Micros) -> Self {
        let since_start = store.since_start(now);
        let keeps_idle = store.table.is_small() || store.returns.are_frequent(now);
        let stale = if keeps_idle { since_start.saturating_sub(IDLE_KEPT) } else { since_start };
        Self { store, now, stale, spared: &[] }
    }
}

impl SlotOwner for StoreAtInstant<'_> {
    #[inline]
    fn worth(&self, tag: Tag, value: u64) -> KeyWorth {
        if self.spared.iter().any(|id| tag.is_of(*id)) {
            return KeyWorth::Live;
        }
        match tag.kind() {
            0 | FRESH => KeyWorth::Stale,
            // A cell takes four times the room of a slot, and the next key needs it.
            IN_A_CELL if self.store.cells.get(value).is_none_or(|cell| cell.is_over(self.now)) => {
                KeyWorth::Stale
            }
            IN_A_CELL => KeyWorth::Live,
            kind if !self.store.rates.has_drained(kind, value, self.store.since_start(self.now)) => {
                KeyWorth::Live
            }
            kind if self.store.rates.has_drained(kind, value, self.stale) => KeyWorth::Stale,
            _ => KeyWorth::Idle,
        }
    }

    fn dropped(&self, tag: Tag, value: u64) {
        self.store.note_drop(self.now);
        self.store.returns.note_drop(tag.rest());
        if tag.kind() == IN_A_CELL {
            self.store.cells.give_back(value);
        }
    }

    fn homes_max(&self) -> usize {
        self.store.homes_max()
    }

    fn is_time_to_look(&self) -> bool {
        let (last, now) = (self.store.looked.load(Ordering::Relaxed), self.now.get());
        let due = now >= last.saturating_add(LOOKED_EVERY);
        due && self.store.looked.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Memory {
    /// A store that takes so many bytes at the most; `None` if there is no memory at all.
    pub(crate) fn new(budget: usize, start: Micros) -> Option<Self> {
        Some(Self {
            table: Table::new(HOMES_MIN)?,
            rates: Rates::new(),
            cells: LargeStates::new(budget),
            shared: OverflowBuckets::new(budget),
            budget,
            reserved: AtomicUsize::new(0),
            start,
            dropped: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            calendar: Calendar::default(),
            looked: AtomicU64::new(0),
            swept: AtomicU64::new(0),
            returns: ReturningKeys::new(),
        })
    }

    /// The identity of a key: the highest bits of its hash.
    #[inline]
    pub(crate) fn id(&self, hash: u64) -> u64 {
        self.table.id(hash)
    }

    #[inline]
    fn since_start(&self, now: Micros) -> u64 {
        now.min(Micros::INSTANT_MAX).saturating_sub(self.start).get()
    }

    fn note_drop(&self, now: Micros) {
        if self.dropped.load(Ordering::Relaxed) < now.get() {
            self.dropped.fetch_max(now.get(), Ordering::AcqRel);
        }
    }

    /// The latest instant at which a key was dropped.
    fn latest_drop(&self) -> Micros {
        Micros::new(self.dropped.load(Ordering::Acquire))
    }

    /// Notes that a key was put in.
    #[inline]
    fn note_new(&self, id: u64, now: Micros) {
        self.returns.note_new(id, now.saturating_add(Micros::new(IDLE_KEPT)));
    }

    fn note_overflow(&self) {
        self.overflowed.fetch_add(1, Ordering::Relaxed);
    }

    /// The limit as it stands in the calendar.
    #[inline]
    fn dated(&self, limit: &Limit, clock: &Clock, now: Micros) -> Limit {
        if matches!(limit, Limit::FixedWindow(_)) {
            return limit.with_calendar_ahead(self.calendar.ahead(clock, now));
        }
        *limit
    }

    /// Where a key is looked for first.
    #[inline(always)]
    pub(crate) fn spot(&self, id: u64) -> Probe<'_> {
        self.table.spot(id)
    }

    /// Fetches the place of a key, so that it is at hand when it is charged.
    #[inline]
    pub(crate) fn prefetch(&self, id: u64) {
        self.spot(id).prefetch();
    }

    /// Charges a key that was found, and whose debt is a word: this is the path that has to be fast. `None` if it is not as
    /// it was found; then nothing was charged.
    #[inline(always)]
    pub(crate) fn charge_found(
        &self,
        found: FoundSlot<'_>,
        weight: PackedHit<'_>,
        now: Micros,
    ) -> Option<PackedDecision> {
        let (slot, tag, value) = found;
        let since_start = self.since_start(now);
        if since_start > weight.narrow.until {
            return None;
        }
        let (zero, raw) = weight.narrow.weigh(value, since_start, weight.cost);
        match zero {
            Some(zero) => {
                Table::lock_as_read(slot, tag, value)?.write(tag, zero);
                if self.table.is_moving() {
                    self.help_a_little(now);
                }
            }
            None if slot.is_still(tag, value) => {}
            None => return None,
        }
        Some(raw)
    }

    /// Looks for a key of a certain kind as far as it may stand from its home; `None` if it is not there, or of another kind,
    /// or somebody is at it.
    #[inline(never)]
    pub(crate) fn find(&self, id: u64, kind: u16) -> Option<FoundSlot<'_>> {
        self.table.try_read(id).ok().flatten().filter(|(_, tag, _)| tag.kind() == kind)
    }

    #[cold]
    fn help_a_little(&self, now: Micros) {
        self.table.help(MOVED_LINES_PER_CHARGE, &StoreAtInstant::new(self, now));
    }

    /// Charges one key: granted or refused.
    pub(crate) fn charge<'a>(
        &self,
        limit: &'a LimitInner,
        id: u64,
        cost: u64,
        (clock, now): (&Clock, Micros),
    ) -> Result<ChargeResult<'a>, NoRoom> {
        if let Some(narrow) = limit.narrow.as_ref().filter(|_| self.fits_in_a_word(limit, now)) {
            // Whoever is at the key is done in a moment, mostly.
            for times in 0..TRIES {
                match self.table.try_read(id) {
                    Ok(Some(found)) if found.1.kind() == narrow.kind => {
                        if let Some(raw) = self.charge_found(found, PackedHit { narrow, cost }, now) {
                            return Ok(ChargeResult::Word(narrow, raw));
                        }
                    }
                    Ok(_) => break,
                    Err(_) => {}
                }
                pause(times);
            }
        }
        self.act(limit, id, KeyRequest::Charge(cost), (clock, now)).map(ChargeResult::Given)
    }

    /// By how many microseconds the calendar runs ahead of the clock.
    pub(crate) fn calendar_ahead(&self, clock: &Clock, now: Micros) -> i64 {
        self.calendar.ahead(clock, now)
    }

    /// Does what is asked about one key, under the lock of its slot.
    pub(crate) fn act(
        &self,
        limit: &LimitInner,
        id: u64,
        ask: KeyRequest<'_>,
        (clock, now): (&Clock, Micros),
    ) -> Result<KeyResult, NoRoom> {
        if limit.limit == Limit::Unlimited {
            let (_, decision) = asked(&limit.limit, None, now, ask);
            return Ok(KeyResult { decision, refunded: 0, shared: false, known: false });
        }
        let dated = self.dated(&limit.limit, clock, now);
        let at = StoreAtInstant::new(self, now);
        let (mut times, mut stuck) = (0, false);
        loop {
            let roomy = self.table.has_room(&at);
            match self.table.try_lock(id, roomy, &at) {
                Ok(KeyPosition::Slot(locked)) => {
                    let (is_new, lines) = match locked.known() {
                        None => (true, MOVED_LINES_PER_NEW_KEY),
                        Some(_) => (false, MOVED_LINES_PER_CHARGE),
                    };
                    if is_new {
                        self.note_new(id, now);
                    }
                    let given = self.act_on(locked, LimitKey { limit, id }, &dated, (ask, now));
                    if self.table.is_moving() {
                        self.table.help(lines, &at);
                    }
                    return given.map(|given| KeyResult { known: !is_new, ..given });
                }
                Ok(KeyPosition::Full(held)) => {
                    if !stuck && self.table.could_grow(roomy, &at) {
                        held.leave();
                        stuck = !self.table.make_room(&at);
                        pause(times);
                    } else {
                        let now = now.max(self.latest_drop());
                        let given = self.act_in_common(LimitKey { limit, id }, &dated, None, (ask, now));
                        held.leave();
                        return given;
                    }
                }
                Err(_) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }

    /// Forgets a key. Returns whether it was there.
    pub(crate) fn reset(&self, limit: &LimitInner, id: u64, clock: &Clock) -> bool {
        let now = clock.now();
        let at = StoreAtInstant::new(self, now);
        let mut times = 0;
        loop {
            match self.table.try_lock(id, true, &at) {
                Ok(KeyPosition::Slot(locked)) => {
                    let known = locked.known();
                    let stood = known.is_some_and(|(tag, value)| !at.is_as_good_as_none(tag, value));
                    if let Some((tag, value)) = known
                        && tag.kind() == IN_A_CELL
                    {
                        self.cells.give_back(value);
                    }
                    // Read anew: a charge that came before us may be later than `now`.
                    limit.void_receipts(id, clock.now());
                    locked.forget();
                    return stood;
                }
                Ok(KeyPosition::Full(held)) => {
                    held.leave();
                    return false;
                }
                Err(_) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }
}

/// How often a key whose debt is a word is tried before it is locked like any other.
const TRIES: u32 = 32;
/// A key for which there is no cell looks through so many lines for some that are not needed any more.
const SWEPT_LINES: usize = 16;
/// A key that owes nothing any more keeps its slot for so many microseconds, if keys come back and the table can grow. Its next
/// hit then finds it, which takes a fraction of the time that it takes to put it in again.
const IDLE_KEPT: u64 = 10_000_000;
/// How often, in microseconds, a full table is looked at for keys that are as good as none.
const LOOKED_EVERY: u64 = 1_000;
