//! Several hits at one instant: all enforced hits are charged, or none. The algorithms decide what fits.
//!
//! First every key gets a slot; then all slots are locked, in the order of identities, and whoever cannot have one lets go
//! of all and starts over; then it is decided, and written, and the locks are let go. Nobody ever sees half of it.

use std::cell::Cell;

use smallvec::SmallVec;
use tollgate_algorithms::{Batch, Decision, Hit, Limit, Micros, Mode, State, Target, decide_batch_into};

use super::apply::{StateInDecision, is_stricter};
use super::batch_lock::{BatchLocks, OverflowLocks};
use super::overflow::{self, OverflowBucket, OverflowBuckets};
use super::packed_rates::{FRESH, IN_A_CELL};
use super::resize::{MOVED_LINES_PER_CHARGE, MOVED_LINES_PER_NEW_KEY};
use super::slot::Tag;
use super::slot_guard::{KeyPosition, SlotGuard};
use super::table::Contended;
use super::{KeyResult, LimitKey, Memory, NoRoom, StoreAtInstant};
use crate::clock::Clock;
use crate::limit::LimitInner;
use crate::sync::pause;

/// One hit on one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge<'a> {
    pub(crate) limit: &'a LimitInner,
    pub(crate) id: u64,
    pub(crate) cost: u64,
    pub(crate) mode: Mode,
}

/// The answer to several hits.
#[derive(Debug)]
pub(crate) struct BatchResult<const N: usize> {
    pub(crate) granted: bool,
    /// One for each hit.
    pub(crate) given: SmallVec<[KeyResult; N]>,
}

pub(super) struct Member<'a> {
    pub(super) limit: &'a LimitInner,
    pub(super) dated: Limit,
    pub(super) id: u64,
    /// It has no slot, or none that its state fits in.
    pub(super) shared: bool,
    /// What stood in its slot when that was found out; `None` if it had none.
    pub(super) seen: Option<Tag>,
    /// Whether its state fits in a word, whatever it will be.
    fits: bool,
    /// A cell that is set aside for it, if it may come to need one.
    cell: Option<u64>,
}

impl<'a> Member<'a> {
    pub(super) const fn whose(&self) -> LimitKey<'a> {
        LimitKey { limit: self.limit, id: self.id }
    }

    /// Whether there is a place for its state, whatever that will be, if this stands in its slot.
    pub(super) fn has_place(&self, tag: Tag) -> bool {
        self.fits || self.cell.is_some() || tag.kind() == IN_A_CELL
    }
}

impl Memory {
    /// Charges several keys: if every enforced hit fits, all of them and each shadow hit that fits; otherwise none.
    ///
    /// Two hits on the same key must be under the same limit. Up to `N` hits need no memory but the stack's.
    pub(crate) fn charge_all<const N: usize>(
        &self,
        charges: &[Charge<'_>],
        (clock, now): (&Clock, Micros),
    ) -> Result<BatchResult<N>, NoRoom> {
        let mut members: Members<'_, N> = self.members(charges, clock, now);
        let ids: SmallVec<[u64; N]> = members.iter().map(|member| member.id).collect();
        let at = StoreAtInstant { spared: &ids, ..StoreAtInstant::new(self, now) };
        let mut times = 0;
        let mut any_new = false;
        let grip: BatchLocks<'_, N> = loop {
            for member in &mut members {
                any_new |= self.settle_in(member, &at);
            }
            if let Ok(grip) = self.try_grip(&members) {
                break grip;
            }
            pause(times);
            times = u32::saturating_add(times, 1);
        };
        let answered = self.answer(charges, &mut members, grip, now);
        members.iter().filter_map(|member| member.cell).for_each(|unused| self.cells.give_back(unused));
        if self.table.is_moving() {
            self.table.help(if any_new { MOVED_LINES_PER_NEW_KEY } else { MOVED_LINES_PER_CHARGE }, &at);
        }
        answered
    }

    /// Gives a member a slot, and sets a cell aside if it may need one; or notes that there is no room. What stands in its slot stays as it
    /// is until the batch is decided. Returns whether it was new.
    fn settle_in(&self, member: &mut Member<'_>, at: &StoreAtInstant<'_>) -> bool {
        (member.shared, member.seen) = (false, None);
        let (mut times, mut stuck) = (0, false);
        loop {
            if let Some((_, tag, _)) = self.table.read(member.id) {
                if !member.has_place(tag) {
                    self.set_a_cell_aside(member, Some(tag), at);
                }
                return false;
            }
            let roomy = self.table.has_room(at);
            match self.table.try_lock(member.id, roomy, at) {
                // Somebody else has put it in.
                Ok(KeyPosition::Slot(locked)) if locked.known().is_some() => locked.leave(),
                Ok(KeyPosition::Slot(locked)) => {
                    if !member.has_place(Tag::EMPTY) {
                        self.set_a_cell_aside(member, None, at);
                    }
                    if member.shared {
                        locked.leave();
                    } else {
                        self.note_new(member.id, at.now);
                        locked.write(Tag::new(member.id, FRESH), 0);
                    }
                    return true;
                }
                Ok(KeyPosition::Full(held)) => {
                    // As long as its home is held, the table is as it was when it was full.
                    let hopeless = stuck || !self.table.could_grow(roomy, at);
                    held.leave();
                    if hopeless {
                        member.shared = true;
                        return true;
                    }
                    stuck = !self.table.make_room(at);
                    pause(times);
                }
                Err(Contended) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }

    /// Sets a cell aside for a member, or notes that there is none.
    fn set_a_cell_aside(&self, member: &mut Member<'_>, seen: Option<Tag>, at: &StoreAtInstant<'_>) {
        member.cell = self.new_cell(at);
        if member.cell.is_none() {
            (member.shared, member.seen) = (true, seen);
        }
    }

    /// Decides, writes and lets go.
    fn answer<const N: usize>(
        &self,
        charges: &[Charge<'_>],
        members: &mut [Member<'_>],
        mut grip: BatchLocks<'_, N>,
        now: Micros,
    ) -> Result<BatchResult<N>, NoRoom> {
        let mut now = grip.slots.iter().fold(now, |now, locked| self.instant(locked.known(), now));
        if let Some(cells) = &grip.others.common {
            let shared = members.iter().filter(|member| member.shared);
            let latest = shared.map(|member| cells.latest(&member.limit.family(), member.id)).max();
            now = now.max(self.latest_drop()).max(latest.unwrap_or(now));
        }
        let mut taken = match self.take_out_all(members, &mut grip, now) {
            Ok(taken) => taken,
            Err(no_room) => {
                grip.let_go();
                return Err(no_room);
            }
        };
        let mut batch = decided::<N>(charges, members, taken.iter().map(|taken| taken.state.as_ref()), now);
        for (target, change) in batch.changes.drain(..) {
            let shared = members.get(target).is_some_and(|member| member.shared);
            if let Some(taken) = taken.get_mut(target) {
                let change = if shared {
                    OverflowBuckets::shortened(change, &taken.state)
                } else {
                    self.within_budget(change, &taken.state)
                };
                change.apply(&mut taken.state);
                taken.changed = true;
            }
        }
        let charged = |is_it: &dyn Fn(&Charge<'_>) -> bool| {
            let of_it = charges.iter().zip(&batch.decisions).filter(|(charge, _)| is_it(charge));
            of_it.fold(0, |sum: u64, (_, decision)| sum.saturating_add(decision.charged))
        };
        if let Some(cells) = &mut grip.others.common {
            for (place, taken) in taken.iter_mut().enumerate().filter(|(_, taken)| taken.changed) {
                let Some(member) = members.get(place).filter(|member| member.shared) else { continue };
                let over = reset_at(member, taken.state.as_ref(), now);
                let common = taken.state.take().map(|state| OverflowBucket { state, at: now, over });
                let in_all = charged(&|charge| place_of(charge, members) == place);
                self.shared.keep(cells, (&member.limit.family(), member.id), (common, in_all), now);
            }
        }
        // A slot may be the home of a key without one: what such keys were charged stands above, before any slot is let go.
        let others = self.put_in_all(members, taken, grip, now);
        self.charge_own(members, others, now, |id| charged(&|charge| charge.id == id));
        Ok(answered(charges, members, batch))
    }

    /// The keys of a batch, each once, in the order of identities.
    pub(super) fn members<'a, const N: usize>(
        &self,
        charges: &[Charge<'a>],
        clock: &Clock,
        now: Micros,
    ) -> Members<'a, N> {
        let mut members: Members<'a, N> = SmallVec::new();
        for charge in charges.iter().filter(|charge| charge.limit.limit != Limit::Unlimited) {
            if let Err(place) = members.binary_search_by_key(&charge.id, |member| member.id) {
                let dated = self.dated(&charge.limit.limit, clock, now);
                members.insert(
                    place,
                    Member {
                        limit: charge.limit,
                        dated,
                        id: charge.id,
                        shared: false,
                        seen: None,
                        fits: self.fits_in_a_word(charge.limit, now),
                        cell: None,
                    },
                );
            }
        }
        members
    }

    /// Leaves a key as it was; or drops it, if it was put in only for this batch.
    fn leave_or_forget(&self, locked: SlotGuard<'_>, taken: StateInDecision) {
        match locked.known() {
            Some((tag, _)) if tag.kind() == FRESH => locked.forget(),
            _ => self.leave(locked, taken),
        }
    }

    /// Where every member stands, unless one of them has neither a slot nor a cell in common. Of members with the same
    /// cell in common, the first stands for all.
    fn take_out_all<const N: usize>(
        &self,
        members: &[Member<'_>],
        grip: &mut BatchLocks<'_, N>,
        now: Micros,
    ) -> Result<SmallVec<[StateInDecision; N]>, NoRoom> {
        // First those in common, which can fail; nothing has been taken out yet.
        let mut in_common: SmallVec<[StateInDecision; 1]> = SmallVec::new();
        for (number, member) in members.iter().filter(|member| member.shared).enumerate() {
            let family = member.limit.family();
            let cells = grip.others.common.as_mut().ok_or(NoRoom(member.id))?;
            let state = self.shared.claim(cells, &family, member.id, now).map_err(|()| NoRoom(member.id))?;
            let open = grip.others.common.as_deref();
            let known = grip.others.known(number);
            let own = known.map(|_| self.take_out(known, member.whose(), now, open));
            in_common.push(own.unwrap_or(StateInDecision::new(state)));
        }
        let (mut in_common, mut slots) = (in_common.into_iter(), grip.slots.iter());
        let open = grip.others.common.as_deref();
        let mut all: SmallVec<[StateInDecision; N]> = SmallVec::new();
        for (place, member) in members.iter().enumerate() {
            if !member.shared {
                let known = slots.next().and_then(SlotGuard::known);
                all.push(self.take_out(known, member.whose(), now, open));
                continue;
            }
            let mut taken = in_common.next().unwrap_or(StateInDecision::new(None));
            if let Some(first) = all.get_mut(first_of(place, members)) {
                let state = taken.state.take();
                if state
                    .as_ref()
                    .is_some_and(|state| is_stricter(&member.dated, state, first.state.as_ref(), now))
                {
                    first.state = state;
                }
                first.changed |= std::mem::take(&mut taken.changed);
            }
            all.push(taken);
        }
        Ok(all)
    }

    /// Puts every member that has a slot for its state back as it stands now, and lets go of it.
    fn put_in_all<'a, const N: usize>(
        &self,
        members: &mut [Member<'_>],
        taken: SmallVec<[StateInDecision; N]>,
        grip: BatchLocks<'a, N>,
        now: Micros,
    ) -> OverflowLocks<'a> {
        let BatchLocks { slots, others } = grip;
        let in_slots = members.iter_mut().zip(taken).filter(|(member, _)| !member.shared);
        for ((member, mut taken), locked) in in_slots.zip(slots) {
            if !taken.changed {
                self.leave_or_forget(locked, taken);
                continue;
            }
            let over = reset_at(member, taken.state.as_ref(), now);
            if taken.cell.is_none() {
                taken.cell = member.cell.take().map(|cell| (cell, 0));
            }
            // Only a debt beyond counting, which was met under other numbers and not charged, finds no place: it stays where it is.
            if let Err(locked) = self.put_in(locked, member.whose(), taken, (now, over)) {
                locked.leave();
            }
        }
        others
    }

    /// Charges members in their own slots, too, if those are too small for their states, and lets go.
    fn charge_own(
        &self,
        members: &[Member<'_>],
        mut others: OverflowLocks<'_>,
        now: Micros,
        charged: impl Fn(u64) -> u64,
    ) {
        for (number, member) in members.iter().filter(|member| member.shared).enumerate() {
            self.note_overflow();
            if let Some(known) = others.known(number) {
                others.set(number, self.charged_too(member.limit, known, (charged(member.id), now)));
            }
        }
        others.leave();
    }
}

pub(super) type Members<'a, const N: usize> = SmallVec<[Member<'a>; N]>;

/// From when on a key that nothing more is charged to is as good as never seen.
fn reset_at(member: &Member<'_>, state: Option<&State>, now: Micros) -> Micros {
    let Some(state) = state else { return now };
    now.saturating_add(tollgate_algorithms::peek(&member.dated, Some(state), now, 0).reset_after)
}

/// Which member a hit is on; beyond the last one for an unlimited one. Members that have their cell in common are one: the
/// first of them.
pub(super) fn place_of(charge: &Charge<'_>, members: &[Member<'_>]) -> usize {
    let found = members.binary_search_by_key(&charge.id, |member| member.id);
    match found.ok().filter(|_| charge.limit.limit != Limit::Unlimited) {
        Some(place) => first_of(place, members),
        None => members.len(),
    }
}

/// The first of the members that have their cell in common with this one; itself if it has one of its own.
fn first_of(place: usize, members: &[Member<'_>]) -> usize {
    let Some(member) = members.get(place).filter(|member| member.shared) else { return place };
    let is_same = |other: &Member<'_>| {
        let same_cell = overflow::share_of(other.id) == overflow::share_of(member.id);
        other.shared && same_cell && other.limit.family() == member.limit.family()
    };
    members.iter().position(is_same).unwrap_or(place)
}

/// Asks the core about all hits at once.
pub(super) fn decided<'a, const N: usize>(
    charges: &[Charge<'_>],
    members: &'a [Member<'_>],
    states: impl Iterator<Item = Option<&'a State>>,
    now: Micros,
) -> Batch {
    let target =
        |(member, state): (&'a Member<'_>, Option<&'a State>)| Target { limit: &member.dated, state };
    let unlimited = Target { limit: &Limit::Unlimited, state: None };
    let mut targets: SmallVec<[Target<'_>; N]> = members.iter().zip(states).map(target).collect();
    // Only if somebody asks: there is room on the stack for as many as there are hits.
    if targets.len() < charges.len() {
        targets.push(unlimited);
    }
    let hit =
        |charge: &Charge<'_>| Hit { target: place_of(charge, members), cost: charge.cost, mode: charge.mode };
    let hits: SmallVec<[Hit; N]> = charges.iter().map(hit).collect();
    // At the end of a thread there may be none any more.
    let mut batch = SCRATCH.try_with(Cell::take).unwrap_or_default();
    decide_batch_into(&targets, &hits, now, &mut batch);
    batch
}

thread_local! {
    /// The memory of the last batch of this thread, so that the next one needs none.
    static SCRATCH: Cell<Batch> = Cell::new(Batch::default());
}

/// The answer to the charges of a batch that has been decided and written.
pub(super) fn answered<const N: usize>(
    charges: &[Charge<'_>],
    members: &[Member<'_>],
    batch: Batch,
) -> BatchResult<N> {
    let one = |(charge, decision): (&Charge<'_>, &Decision)| {
        let shared = members.get(place_of(charge, members)).is_some_and(|member| member.shared);
        KeyResult { decision: *decision, refunded: 0, shared, known: !shared }
    };
    let given = charges.iter().zip(&batch.decisions).map(one).collect();
    let granted = batch.granted;
    let _ = SCRATCH.try_with(|scratch| scratch.set(batch));
    BatchResult { granted, given }
}
