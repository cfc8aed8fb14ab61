//! Decides a hit under the lock of its slot: unpacks the state, applies the algorithm, and packs the state again.

use tollgate_algorithms::{Change, Decision, Limit, Micros, State};

use super::large_states::{LIST_OVERHEAD_BYTES, LargeStates};
use super::overflow::{self, OverflowBucket, OverflowBuckets};
use super::packed_rates::{FRESH, IN_A_CELL};
use super::slot::Tag;
use super::slot_guard::SlotGuard;
use super::{KeyRequest, KeyResult, LimitKey, Memory, NoRoom, SWEPT_LINES, StoreAtInstant};
use crate::limit::LimitInner;
use crate::sync::Ordering;

/// A state on its way through a decision.
pub(super) struct StateInDecision {
    pub(super) state: Option<State>,
    /// The cell it came from, and what its list took.
    pub(super) cell: Option<(u64, usize)>,
    /// Whether it is not as it was in the slot.
    pub(super) changed: bool,
    /// Whether what is in the cell was left there, because it is as good as none.
    pub(super) over: bool,
}

impl StateInDecision {
    pub(super) const fn new(state: Option<State>) -> Self {
        Self { state, cell: None, changed: false, over: false }
    }
}

/// What an entry of a list takes.
const ENTRY_BYTES: usize = 16;
/// What the shortest list takes.
const LIST_BYTES_MIN: usize = 4 * ENTRY_BYTES + LIST_OVERHEAD_BYTES;

impl Memory {
    /// Does what is asked about a key whose slot is locked.
    pub(super) fn act_on(
        &self,
        locked: SlotGuard<'_>,
        whose: LimitKey<'_>,
        dated: &Limit,
        (ask, now): (KeyRequest<'_>, Micros),
    ) -> Result<KeyResult, NoRoom> {
        let limit = whose.limit;
        let now = self.instant(locked.known(), now);
        let mut kept = self.take_out(locked.known(), whose, now, None);
        // Now that nobody else is at the key, it is certain what is void.
        let ask = match ask {
            KeyRequest::Refund(receipt, _) if limit.is_void(whose.id, receipt.at) => KeyRequest::Peek(0),
            KeyRequest::Charge(_)
            | KeyRequest::Peek(_)
            | KeyRequest::UpTo(_)
            | KeyRequest::Settle(_)
            | KeyRequest::Refund(..) => ask,
        };
        let (change, decision) = asked(dated, kept.state.as_ref(), now, ask);
        let given = KeyResult { decision, refunded: 0, shared: false, known: true };
        if matches!(change, Change::Keep) && (!kept.changed || matches!(ask, KeyRequest::Peek(_))) {
            // A new key that is refused for what it has in common with others is not put in.
            let shared = kept.state.is_some() && self.is_new(locked.known(), now);
            if shared && !matches!(ask, KeyRequest::Peek(_)) {
                self.note_overflow();
            }
            self.leave(locked, kept);
            return Ok(KeyResult { shared, ..given });
        }
        let room = |state: &Option<State>| tollgate_algorithms::headroom(dated, state.as_ref(), now);
        let before = matches!(ask, KeyRequest::Refund(..)).then(|| room(&kept.state));
        self.within_budget(change, &kept.state).apply(&mut kept.state);
        let refunded = before.map_or(0, |before| room(&kept.state).saturating_sub(before));
        let given = KeyResult { refunded, ..given };
        let over = now.saturating_add(decision.reset_after);
        match self.put_in(locked, whose, kept, (now, over)) {
            Ok(()) => Ok(given),
            // It was not put in: the slot is as it was, and its lock is still held.
            Err(locked) => {
                let given = self.act_in_common(whose, dated, locked.known(), (ask, now));
                let charged = match (&given, ask) {
                    (Ok(given), _) => given.decision.charged,
                    // What is owed for work that was done is owed, wherever there is room to write it down.
                    (Err(NoRoom(_)), KeyRequest::Settle(cost)) => cost,
                    (
                        Err(NoRoom(_)),
                        KeyRequest::Charge(_)
                        | KeyRequest::Peek(_)
                        | KeyRequest::UpTo(_)
                        | KeyRequest::Refund(..),
                    ) => 0,
                };
                match locked.known() {
                    Some(known) => locked.write(known.0, self.charged_too(limit, known, (charged, now))),
                    None => locked.leave(),
                }
                given
            }
        }
    }

    /// The instant at which a locked slot is decided: no earlier than what was decided before, though another thread may have
    /// read the clock later and come first. (A word needs no such care: an earlier instant only owes more.)
    pub(super) fn instant(&self, known: Option<(Tag, u64)>, now: Micros) -> Micros {
        let now = match known {
            Some((tag, value)) if tag.kind() == IN_A_CELL => {
                self.cells.get(value).map_or(now, |cell| now.max(cell.open().at))
            }
            _ => now,
        };
        if self.is_new(known, now) { now.max(self.latest_drop()) } else { now }
    }

    /// Whether a locked slot is that of a key that nothing is known of.
    pub(super) fn is_new(&self, known: Option<(Tag, u64)>, now: Micros) -> bool {
        known.is_none_or(|(tag, value)| match tag.kind() {
            FRESH => true,
            IN_A_CELL => self.cells.get(value).is_none_or(|cell| cell.is_over(now)),
            _ => false,
        })
    }

    /// The state that a locked slot stands for, in the limit's own units, taken out of its cell if it has one.
    ///
    /// A new key starts where the keys stand that it had its cell in common with. So does one in a word that is met under other numbers, if that
    /// is stricter: it may have been charged there because there was no cell for it.
    pub(super) fn take_out(
        &self,
        known: Option<(Tag, u64)>,
        LimitKey { limit, id }: LimitKey<'_>,
        now: Micros,
        common: Option<&overflow::BucketPools>,
    ) -> StateInDecision {
        let start = || self.shared.start_of(common, &limit.family(), id, now);
        let Some((tag, value)) = known else { return StateInDecision::new(start()) };
        match tag.kind() {
            FRESH => StateInDecision::new(start()),
            IN_A_CELL => {
                let Some(cell) = self.cells.get(value) else { return StateInDecision::new(None) };
                let mut kept = cell.open();
                let bytes = kept.list_bytes();
                if cell.is_over(now) {
                    // As good as none by the numbers it was last met under, whatever these here would make of it. A key with a cell is
                    // charged nowhere else, so that what others have spent is not its own.
                    return StateInDecision {
                        cell: Some((value, bytes)),
                        over: true,
                        ..StateInDecision::new(None)
                    };
                }
                if kept.limit != limit.mark && kept.limit != 0 {
                    // What was charged in a window that keeps its end from other numbers cannot be given back later.
                    let until = match &kept.state {
                        Some(State::FixedWindow(count)) => now.max(count.end),
                        Some(_) => now,
                        None => Micros::ZERO,
                    };
                    limit.void_receipts(id, until);
                }
                kept.limit = limit.mark;
                StateInDecision { cell: Some((value, bytes)), ..StateInDecision::new(kept.state.take()) }
            }
            kind => {
                let state = self.rates.state(kind, value, self.since_start(now), now);
                if limit.narrow.is_some_and(|narrow| narrow.kind == kind) {
                    return StateInDecision::new(state);
                }
                // The key is met under other numbers for the first time: from now on it drains by these.
                limit.void_receipts(id, now);
                let same_algorithm =
                    self.rates.get(kind).is_some_and(|rate| limit.limit.algorithm() == Some(rate.algorithm));
                let rate = limit.narrow.and_then(|narrow| Some((narrow, self.rates.get(narrow.kind)?)));
                let converted = rate
                    .zip(state.as_ref())
                    .and_then(|((narrow, rate), state)| narrow.converted(state, &rate));
                let own = converted.or(state);
                let common = start().filter(|common| is_stricter(&limit.limit, common, own.as_ref(), now));
                StateInDecision { changed: same_algorithm, ..StateInDecision::new(common.or(own)) }
            }
        }
    }

    /// Leaves a key as it was, to the bit, and lets go of the lock.
    pub(super) fn leave(&self, locked: SlotGuard<'_>, taken: StateInDecision) {
        if let Some(cell) = taken.cell.filter(|_| !taken.over).and_then(|(number, _)| self.cells.get(number))
        {
            cell.open().state = taken.state;
        }
        locked.leave();
    }

    /// Puts a state into a slot, or into its cell, and lets go of the lock; unless there is no room for a cell.
    pub(super) fn put_in<'a>(
        &self,
        locked: SlotGuard<'a>,
        LimitKey { limit, id }: LimitKey<'_>,
        taken: StateInDecision,
        (at, over): (Micros, Micros),
    ) -> Result<(), SlotGuard<'a>> {
        let Some(state) = taken.state else {
            self.note_drop(at);
            self.give_cell_back(taken.cell, taken.over);
            locked.forget();
            return Ok(());
        };
        let word = limit.narrow.and_then(|narrow| {
            let word = narrow.word(&state, self.start, &self.rates.get(narrow.kind)?)?;
            Some((narrow.kind, word))
        });
        if let Some((kind, word)) = word {
            self.give_cell_back(taken.cell, taken.over);
            locked.write(Tag::new(id, kind), word);
            return Ok(());
        }
        let Some((number, bytes)) =
            taken.cell.or_else(|| Some((self.new_cell(&StoreAtInstant::new(self, at))?, 0)))
        else {
            return Err(locked);
        };
        if let Some(cell) = self.cells.get(number) {
            let mut kept = cell.open();
            // A window of which nothing is used any more may still have to remember that it began late.
            let over = if let State::FixedWindow(count) = &state { over.max(count.end) } else { over };
            kept.state = Some(state);
            (kept.limit, kept.at) = (limit.mark, at);
            self.cells.note_list(bytes, kept.list_bytes());
            cell.set_over(over);
        }
        locked.write(Tag::new(id, IN_A_CELL), number);
        Ok(())
    }

    /// Gives back a cell that a state was taken out of.
    fn give_cell_back(&self, cell: Option<(u64, usize)>, over: bool) {
        let Some((number, bytes)) = cell else { return };
        // What is over was left in the cell, and is counted off when that is emptied.
        if !over {
            self.cells.note_list(bytes, 0);
        }
        self.cells.give_back(number);
    }

    /// A free cell; if there is none, one of a key that is as good as none, if a look at a few lines finds some.
    pub(super) fn new_cell(&self, at: &StoreAtInstant<'_>) -> Option<u64> {
        self.free_cell().or_else(|| {
            let from = self.swept.fetch_add(SWEPT_LINES as u64, Ordering::Relaxed);
            let lines = (usize::try_from(from).unwrap_or(0), SWEPT_LINES);
            self.table.drop_spent(lines, at, |tag| tag.kind() == IN_A_CELL);
            self.free_cell()
        })
    }

    /// A free cell, within the budget; a list takes something besides.
    fn free_cell(&self) -> Option<u64> {
        if self.bytes_spoken_for().saturating_add(LIST_BYTES_MIN) > self.budget {
            return None;
        }
        self.cells.take(|| self.bytes_spoken_for().saturating_add(LargeStates::CHUNK_BYTES) <= self.budget)
    }

    /// A change that would make a list grow beyond the budget is one that does not: the charge is counted with the one
    /// before it, and so for a little longer than it would be.
    pub(super) fn within_budget(&self, change: Change, state: &Option<State>) -> Change {
        let Some(State::SlidingWindowLog(list) | State::SlidingWindowBuckets(list)) = state else {
            return change;
        };
        let grows = list.len().saturating_mul(ENTRY_BYTES) >= list.heap_bytes();
        if grows && self.bytes_spoken_for().saturating_add(list.heap_bytes()) > self.budget {
            return overflow::merged(change, list.len());
        }
        change
    }

    /// Does what is asked about a key that has no slot, or none that its state fits in, on the cell that it has in common with
    /// others. What is known of it counts there too: who is refused by what he owes is not granted by what others owe.
    pub(super) fn act_in_common(
        &self,
        whose: LimitKey<'_>,
        dated: &Limit,
        known: Option<(Tag, u64)>,
        (ask, now): (KeyRequest<'_>, Micros),
    ) -> Result<KeyResult, NoRoom> {
        let (family, id) = (whose.limit.family(), whose.id);
        let is_peek = matches!(ask, KeyRequest::Peek(_));
        let mut cells = self.shared.open(self.calendar.known());
        let now = now.max(cells.latest(&family, id));
        let common = match ask {
            KeyRequest::Peek(_) => self.shared.state(&cells, &family, id, now),
            KeyRequest::Charge(_) | KeyRequest::UpTo(_) | KeyRequest::Settle(_) | KeyRequest::Refund(..) => {
                self.shared.claim(&mut cells, &family, id, now)
            }
        };
        let common = common.map_err(|()| NoRoom(id))?;
        let StateInDecision { mut state, changed, .. } = match known {
            Some(_) => self.take_out(known, whose, now, Some(&cells)),
            None => StateInDecision::new(common),
        };
        // What was charged to others is not given back to this one.
        let ask = if matches!(ask, KeyRequest::Refund(..)) { KeyRequest::Peek(0) } else { ask };
        let (change, decision) = asked(dated, state.as_ref(), now, ask);
        let keeps = matches!(change, Change::Keep) && (!changed || matches!(ask, KeyRequest::Peek(_)));
        if !keeps {
            OverflowBuckets::shortened(change, &state).apply(&mut state);
            let over = now.saturating_add(decision.reset_after);
            let common = state.map(|state| OverflowBucket { state, at: now, over });
            self.shared.keep(&mut cells, (&family, id), (common, decision.charged), now);
        }
        if !is_peek {
            self.note_overflow();
        }
        Ok(KeyResult { decision, refunded: 0, shared: true, known: false })
    }

    /// The word of a key that was charged in common under numbers that do not fit in it, with the same charge in its own units.
    /// Under its own numbers it has spent that too. It drains by those, as the core has it.
    pub(super) fn charged_too(
        &self,
        limit: &LimitInner,
        (tag, value): (Tag, u64),
        (charged, now): (u64, Micros),
    ) -> u64 {
        let same =
            self.rates.get(tag.kind()).is_some_and(|rate| limit.limit.algorithm() == Some(rate.algorithm));
        if same && charged > 0 {
            self.rates.charged(tag.kind(), value, self.since_start(now), charged)
        } else {
            value
        }
    }
}

/// Whether a state leaves less room under a limit than another one, or the same for longer.
pub(super) fn is_stricter(limit: &Limit, state: &State, other: Option<&State>, now: Micros) -> bool {
    let leaves = |state: Option<&State>| {
        let Decision { remaining, reset_after, .. } = tollgate_algorithms::peek(limit, state, now, 0);
        (remaining, std::cmp::Reverse(reset_after))
    };
    leaves(Some(state)) < leaves(other)
}

/// Asks the core.
pub(super) fn asked(
    limit: &Limit,
    state: Option<&State>,
    now: Micros,
    ask: KeyRequest<'_>,
) -> (Change, Decision) {
    match ask {
        KeyRequest::Charge(cost) => tollgate_algorithms::decide(limit, state, now, cost),
        KeyRequest::Peek(cost) => (Change::Keep, tollgate_algorithms::peek(limit, state, now, cost)),
        KeyRequest::UpTo(most) => tollgate_algorithms::decide_up_to(limit, state, now, most),
        KeyRequest::Settle(cost) => tollgate_algorithms::settle(limit, state, now, cost),
        KeyRequest::Refund(receipt, part) => {
            tollgate_algorithms::refund_part(limit, state, now, receipt, part)
        }
    }
}
