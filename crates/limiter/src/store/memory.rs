//! The memory store: exact under any number of threads, bounded in bytes, without a thread of its own. It decides one hit
//! here and several in `memory/batch.rs`; names and verdicts are the front door's.

pub(crate) mod batch;
pub(crate) mod cells;
#[cfg(test)]
mod engine;
pub(crate) mod moving;
pub(crate) mod rates;
pub(crate) mod region;
pub(crate) mod shared;
pub(crate) mod slot;
pub(crate) mod snapshot;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use cells::Cells;
use moving::{MOVED_LINES_PER_CHARGE, MOVED_LINES_PER_NEW_KEY};
use rates::{FRESH, IN_A_CELL, Rates, Raw};
use region::PIECE_BYTES;
use shared::{Common, Shared};
use slot::{Line, Tag};
use table::{Keeper, Locked, Place, Spot, Table};
use tollgate_core::{Change, Decision, Limit, Micros, Receipt, State};

use crate::clock::{Calendar, Clock};
use crate::limit::Registered;
use crate::sync::pause;

/// A table begins with so many lines: 16 KiB. The identity of a key has 58 bits: 54 in its tag, 4 from where it stands.
const HOMES_MIN: usize = 256;
/// A smaller budget is raised to this.
pub(crate) const BUDGET_MIN: usize = 4 << 20;

/// Keys and where they stand.
#[derive(Debug)]
pub(crate) struct Memory {
    table: Table,
    pub(crate) rates: Rates,
    cells: Cells,
    shared: Shared,
    budget: usize,
    /// The instant from which the words of the table count.
    start: Micros,
    /// The latest instant at which a key was dropped as good as none. A key that is put in later is put in no earlier.
    dropped: AtomicU64,
    /// How many hits were decided by a cell that keys have in common.
    overflowed: AtomicU64,
    calendar: Calendar,
    /// When a full table was last looked at, for keys that are as good as none.
    looked: AtomicU64,
}

/// What is asked about one key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask<'a> {
    /// Charge this cost, or nothing.
    Charge(u64),
    /// Say what a charge would answer.
    Peek(u64),
    /// Charge as much as fits.
    UpTo(u64),
    /// Charge this cost whether it fits or not.
    Settle(u64),
    /// Give back so much of a charge.
    Refund(&'a Receipt, u64),
}

/// The answer about one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    pub(crate) decision: Decision,
    /// Whether it was decided by a cell that new keys have in common, because there is no room.
    pub(crate) shared: bool,
    /// Whether the key has a slot.
    pub(crate) known: bool,
}

/// There is no room for the key, and not even a cell to have in common: it cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRoom;

/// The store at an instant, as the table sees it.
struct At<'a> {
    store: &'a Memory,
    now: Micros,
    /// Keys that are not to be dropped just now, even if they are as good as none: a batch needs them all at once.
    spared: &'a [u64],
}

impl<'a> At<'a> {
    const fn new(store: &'a Memory, now: Micros) -> Self {
        Self { store, now, spared: &[] }
    }
}

impl Keeper for At<'_> {
    #[inline]
    fn is_as_good_as_none(&self, tag: Tag, value: u64) -> bool {
        if self.spared.iter().any(|id| tag.is_of(*id)) {
            return false;
        }
        match tag.kind() {
            0 | FRESH => true,
            IN_A_CELL => self.store.cells.get(value).is_none_or(|cell| cell.is_over(self.now)),
            kind => self.store.rates.has_drained(kind, value, self.store.since_start(self.now)),
        }
    }

    fn dropped(&self, tag: Tag, value: u64) {
        self.store.note_drop(self.now);
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
        let budget = budget.max(BUDGET_MIN);
        Some(Self {
            table: Table::new(HOMES_MIN)?,
            rates: Rates::new(),
            cells: Cells::new(budget),
            shared: Shared::default(),
            budget,
            start,
            dropped: AtomicU64::new(0),
            overflowed: AtomicU64::new(0),
            calendar: Calendar::default(),
            looked: AtomicU64::new(0),
        })
    }

    /// The identity of a key: the highest bits of its hash.
    #[inline]
    pub(crate) fn id(&self, hash: u64) -> u64 {
        hash >> (64 - self.table.id_bits())
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

    fn note_overflow(&self) {
        self.overflowed.fetch_add(1, Ordering::Relaxed);
    }

    /// To how many lines the table may grow while the cells take what they take. While it grows, a little of both its
    /// regions is in memory; of a small one, all.
    fn homes_max(&self) -> usize {
        let others = self.cells.bytes() + self.shared.bytes() + FIXED_BYTES;
        let room = self.budget.saturating_sub(others);
        let spare = if cfg!(target_os = "linux") { (room / 2).min(3 * PIECE_BYTES) } else { room / 2 };
        // A line more for every 16 at the most: that is how far a key may stand from its home.
        room.saturating_sub(spare) / size_of::<Line>() / 17 * 16
    }

    /// What the store takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        [self.table.bytes(), self.cells.bytes(), self.shared.bytes(), FIXED_BYTES].iter().sum()
    }

    /// How many slots are in use, by keys or by what is left of them.
    pub(crate) fn slots_used(&self) -> u64 {
        self.table.used()
    }

    /// How many hits were decided by a cell that keys have in common.
    pub(crate) fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
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
    #[inline]
    pub(crate) fn spot(&self, id: u64) -> Option<Spot<'_>> {
        self.table.spot(id)
    }

    /// Fetches the place of a key, so that it is at hand when it is charged.
    #[inline]
    pub(crate) fn prefetch(&self, id: u64) {
        if let Some(spot) = self.spot(id) {
            spot.prefetch();
        }
    }

    /// Charges a key that is where it is looked for first, and whose debt is a word: this is the path that has to be fast.
    /// `None` if it is not so simple; then nothing was charged.
    #[inline]
    pub(crate) fn charge_at(
        &self,
        spot: Spot<'_>,
        limit: &Registered,
        id: u64,
        cost: u64,
        now: Micros,
    ) -> Option<Raw> {
        let narrow = limit.narrow.as_ref()?;
        let (slot, tag, value) = spot.read(id, narrow.kind)?;
        let (zero, raw) = narrow.weigh(value, self.since_start(now), cost);
        if let Some(zero) = zero {
            Table::lock_as_read(slot, tag, value)?.write(tag, zero);
            if self.table.is_moving() {
                self.help_a_little(now);
            }
        }
        Some(raw)
    }

    #[cold]
    fn help_a_little(&self, now: Micros) {
        self.table.help(MOVED_LINES_PER_CHARGE, &At::new(self, now));
    }

    /// Charges one key: granted or refused.
    pub(crate) fn charge(
        &self,
        limit: &Registered,
        id: u64,
        cost: u64,
        (clock, now): (&Clock, Micros),
    ) -> Result<Given, NoRoom> {
        let raw = self.spot(id).and_then(|spot| self.charge_at(spot, limit, id, cost, now));
        match raw.zip(limit.narrow.as_ref()) {
            Some((raw, narrow)) => {
                Ok(Given { decision: narrow.decision(&raw, now), shared: false, known: true })
            }
            None => self.act(limit, id, Ask::Charge(cost), (clock, now)),
        }
    }

    /// What the store may take, in bytes.
    pub(crate) const fn budget(&self) -> usize {
        self.budget
    }

    /// By how many microseconds the calendar runs ahead of the clock.
    pub(crate) fn calendar_ahead(&self, clock: &Clock, now: Micros) -> i64 {
        self.calendar.ahead(clock, now)
    }

    /// Does what is asked about one key, under the lock of its slot.
    pub(crate) fn act(
        &self,
        limit: &Registered,
        id: u64,
        ask: Ask<'_>,
        (clock, now): (&Clock, Micros),
    ) -> Result<Given, NoRoom> {
        if limit.limit == Limit::Unlimited {
            let (_, decision) = asked(&limit.limit, None, now, ask);
            return Ok(Given { decision, shared: false, known: false });
        }
        let dated = self.dated(&limit.limit, clock, now);
        let at = At::new(self, now);
        let (mut times, mut stuck) = (0, false);
        loop {
            match self.table.try_lock(id, self.table.has_room(&at), &at) {
                Ok(Place::Slot(locked)) => {
                    let (is_new, lines) = match locked.known() {
                        None => (true, MOVED_LINES_PER_NEW_KEY),
                        Some(_) => (false, MOVED_LINES_PER_CHARGE),
                    };
                    let given = self.act_on(locked, (limit, &dated), id, ask, now);
                    if self.table.is_moving() {
                        self.table.help(lines, &at);
                    }
                    return given.map(|given| Given { known: !is_new, ..given });
                }
                Ok(Place::Full(held)) => {
                    if !stuck && self.table.could_grow(&at) {
                        held.leave();
                        stuck = !self.table.make_room(&at);
                        pause(times);
                    } else {
                        let given = self.act_in_common((limit, &dated), id, ask, now.max(self.latest_drop()));
                        held.leave();
                        return given;
                    }
                }
                Err(_) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }

    /// Does what is asked about a key whose slot is locked.
    fn act_on(
        &self,
        locked: Locked<'_>,
        (limit, dated): (&Registered, &Limit),
        id: u64,
        ask: Ask<'_>,
        now: Micros,
    ) -> Result<Given, NoRoom> {
        let now = self.instant(&locked, now);
        let mut kept = self.take_out(&locked, limit, id, now, None);
        // Now that nobody else is at the key, it is certain what is void.
        let ask = match ask {
            Ask::Refund(receipt, _) if limit.is_void(receipt.at) => Ask::Peek(0),
            ask => ask,
        };
        let (change, decision) = asked(dated, kept.state.as_ref(), now, ask);
        let given = Given { decision, shared: false, known: true };
        if matches!(change, Change::Keep) && (!kept.changed || matches!(ask, Ask::Peek(_))) {
            // A new key that is refused for what it has in common with others is not put in.
            let shared = kept.state.is_some() && self.is_new(&locked, now);
            self.overflowed.fetch_add(u64::from(shared), Ordering::Relaxed);
            self.leave(locked, kept);
            return Ok(Given { shared, ..given });
        }
        self.within_budget(change, &kept.state).apply(&mut kept.state);
        let over = now.saturating_add(decision.reset_after);
        match self.put_in(locked, limit, id, kept, (now, over)) {
            Ok(()) => Ok(given),
            // It was not put in: the slot is as it was, and its lock is still held.
            Err(locked) => {
                let given = self.act_in_common((limit, dated), id, ask, now);
                locked.leave();
                self.table.sweep(&At::new(self, now));
                given
            }
        }
    }

    /// The instant at which a locked slot is decided: no earlier than what was decided before, though another thread may have
    /// read the clock later and come first. (A word needs no such care: an earlier instant only owes more.)
    fn instant(&self, locked: &Locked<'_>, now: Micros) -> Micros {
        let now = match locked.known() {
            Some((tag, value)) if tag.kind() == IN_A_CELL => {
                self.cells.get(value).map_or(now, |cell| now.max(cell.open().at))
            }
            _ => now,
        };
        if self.is_new(locked, now) { now.max(self.latest_drop()) } else { now }
    }

    /// Whether a locked slot is that of a key that nothing is known of.
    fn is_new(&self, locked: &Locked<'_>, now: Micros) -> bool {
        locked.known().is_none_or(|(tag, value)| match tag.kind() {
            FRESH => true,
            IN_A_CELL => self.cells.get(value).is_none_or(|cell| cell.is_over(now)),
            _ => false,
        })
    }

    /// The state that a slot stands for, in the limit's own units, taken out of its cell if it has one.
    fn take_out(
        &self,
        locked: &Locked<'_>,
        limit: &Registered,
        id: u64,
        now: Micros,
        common: Option<&shared::Cells>,
    ) -> Taken {
        let start = || self.shared.start_of(common, &limit.family(), id, now);
        let Some((tag, value)) = locked.known() else { return Taken::new(start()) };
        match tag.kind() {
            FRESH => Taken::new(start()),
            IN_A_CELL => {
                let Some(cell) = self.cells.get(value) else { return Taken::new(None) };
                let mut kept = cell.open();
                let bytes = kept.list_bytes();
                if cell.is_over(now) {
                    // As good as none by the numbers it was last met under, whatever these here would make of it.
                    return Taken { cell: Some((value, bytes)), over: true, ..Taken::new(start()) };
                }
                if kept.limit != limit.number && kept.limit != 0 {
                    // What was charged in a window that keeps its end from other numbers cannot be given back later.
                    let until = match &kept.state {
                        Some(State::FixedWindow(count)) => now.max(count.end),
                        Some(_) => now,
                        None => Micros::ZERO,
                    };
                    limit.void_receipts(until);
                }
                kept.limit = limit.number;
                Taken { cell: Some((value, bytes)), ..Taken::new(kept.state.take()) }
            }
            kind => {
                let state = self.rates.state(kind, value, self.since_start(now), now);
                if limit.narrow.is_some_and(|narrow| narrow.kind == kind) {
                    return Taken::new(state);
                }
                // The key is met under other numbers for the first time: from now on it drains by these.
                limit.void_receipts(now);
                let same_algorithm =
                    self.rates.get(kind).is_some_and(|rate| limit.limit.algorithm() == Some(rate.algorithm));
                let rate = limit.narrow.and_then(|narrow| Some((narrow, *self.rates.get(narrow.kind)?)));
                let converted = rate
                    .zip(state.as_ref())
                    .and_then(|((narrow, rate), state)| narrow.converted(state, &rate));
                Taken { changed: same_algorithm, ..Taken::new(converted.or(state)) }
            }
        }
    }

    /// Leaves a key as it was, to the bit, and lets go of the lock.
    fn leave(&self, locked: Locked<'_>, taken: Taken) {
        if let Some(cell) = taken.cell.filter(|_| !taken.over).and_then(|(number, _)| self.cells.get(number))
        {
            cell.open().state = taken.state;
        }
        locked.leave();
    }

    /// Puts a state into a slot, or into its cell, and lets go of the lock; unless there is no room for a cell.
    fn put_in<'a>(
        &self,
        locked: Locked<'a>,
        limit: &Registered,
        id: u64,
        taken: Taken,
        (at, over): (Micros, Micros),
    ) -> Result<(), Locked<'a>> {
        let Some(state) = taken.state else {
            self.note_drop(at);
            if let Some((cell, bytes)) = taken.cell {
                self.cells.note_list(bytes, 0);
                self.cells.give_back(cell);
            }
            locked.forget();
            return Ok(());
        };
        let word = limit.narrow.and_then(|narrow| {
            let word = narrow.word(&state, self.start, self.rates.get(narrow.kind)?)?;
            Some((narrow.kind, word))
        });
        if let Some((kind, word)) = word {
            if let Some((cell, bytes)) = taken.cell {
                self.cells.note_list(bytes, 0);
                self.cells.give_back(cell);
            }
            locked.write(Tag::new(id, kind), word);
            return Ok(());
        }
        let Some((number, bytes)) = taken.cell.or_else(|| Some((self.new_cell()?, 0))) else {
            return Err(locked);
        };
        if let Some(cell) = self.cells.get(number) {
            let mut kept = cell.open();
            // A window of which nothing is used any more may still have to remember that it began late.
            let over = if let State::FixedWindow(count) = &state { over.max(count.end) } else { over };
            kept.state = Some(state);
            (kept.limit, kept.at) = (limit.number, at);
            self.cells.note_list(bytes, kept.list_bytes());
            cell.set_over(over);
        }
        locked.write(Tag::new(id, IN_A_CELL), number);
        Ok(())
    }

    /// A free cell, within the budget; a list takes something besides.
    fn new_cell(&self) -> Option<u64> {
        if self.bytes().saturating_add(LIST_BYTES_MIN) > self.budget {
            return None;
        }
        self.cells.take(|| self.bytes().saturating_add(Cells::CHUNK_BYTES) <= self.budget)
    }

    /// A change that would make a list grow beyond the budget is one that does not: the charge is counted with the one
    /// before it, and so for a little longer than it would be.
    fn within_budget(&self, change: Change, state: &Option<State>) -> Change {
        let Some(State::SlidingWindowLog(list) | State::SlidingWindowBuckets(list)) = state else {
            return change;
        };
        let grows = list.len().saturating_mul(ENTRY_BYTES) >= list.heap_bytes();
        if grows && self.bytes().saturating_add(list.heap_bytes()) > self.budget {
            return shared::merged(change, list.len());
        }
        change
    }

    /// Does what is asked about a key that has no slot, on the cell that it has in common with others.
    fn act_in_common(
        &self,
        (limit, dated): (&Registered, &Limit),
        id: u64,
        ask: Ask<'_>,
        now: Micros,
    ) -> Result<Given, NoRoom> {
        let mut cells = self.shared.open();
        let now = now.max(cells.latest(&limit.family(), id));
        let mut state = Shared::state(&mut cells, &limit.family(), id, now).map_err(|()| NoRoom)?;
        // What was charged to others is not given back to this one.
        let ask = if matches!(ask, Ask::Refund(..)) { Ask::Peek(0) } else { ask };
        let (change, decision) = asked(dated, state.as_ref(), now, ask);
        Shared::shortened(change, &state).apply(&mut state);
        let over = now.saturating_add(decision.reset_after);
        self.shared.keep(&mut cells, &limit.family(), id, state.map(|state| Common { state, at: now, over }));
        self.note_overflow();
        Ok(Given { decision, shared: true, known: false })
    }

    /// Forgets a key. Returns whether it was there.
    pub(crate) fn reset(&self, limit: &Registered, id: u64, clock: &Clock) -> bool {
        let now = clock.now();
        let at = At::new(self, now);
        let mut times = 0;
        loop {
            match self.table.try_lock(id, true, &at) {
                Ok(Place::Slot(locked)) => {
                    let known = locked.known();
                    let stood = known.is_some_and(|(tag, value)| !at.is_as_good_as_none(tag, value));
                    if let Some((tag, value)) = known
                        && tag.kind() == IN_A_CELL
                    {
                        self.cells.give_back(value);
                    }
                    // Read anew: a charge that came before us may be later than `now`.
                    limit.void_receipts(clock.now());
                    locked.forget();
                    return stood;
                }
                Ok(Place::Full(held)) => {
                    held.leave();
                    return false;
                }
                Err(_) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }
}

/// A state on its way through a decision.
struct Taken {
    state: Option<State>,
    /// The cell it came from, and what its list took.
    cell: Option<(u64, usize)>,
    /// Whether it is not as it was in the slot.
    changed: bool,
    /// Whether what is in the cell was left there, because it is as good as none.
    over: bool,
}

impl Taken {
    const fn new(state: Option<State>) -> Self {
        Self { state, cell: None, changed: false, over: false }
    }
}

/// What the store takes besides slots and cells: rates, counters, and the cells that keys have in common.
const FIXED_BYTES: usize = 128 << 10;
/// How often, in microseconds, a full table is looked at for keys that are as good as none.
const LOOKED_EVERY: u64 = 1_000;
/// What an entry of a list takes.
const ENTRY_BYTES: usize = 16;
/// What the shortest list takes.
const LIST_BYTES_MIN: usize = 4 * ENTRY_BYTES;

/// Asks the core.
fn asked(limit: &Limit, state: Option<&State>, now: Micros, ask: Ask<'_>) -> (Change, Decision) {
    match ask {
        Ask::Charge(cost) => tollgate_core::decide(limit, state, now, cost),
        Ask::Peek(cost) => (Change::Keep, tollgate_core::peek(limit, state, now, cost)),
        Ask::UpTo(most) => tollgate_core::decide_up_to(limit, state, now, most),
        Ask::Settle(cost) => tollgate_core::settle(limit, state, now, cost),
        Ask::Refund(receipt, part) => tollgate_core::refund_part(limit, state, now, receipt, part),
    }
}
