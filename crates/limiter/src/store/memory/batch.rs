//! Several hits at one instant on the memory store: all enforced ones are charged, or none. What fits is decided by the
//! core, or by the same arithmetic on words.
//!
//! First every key gets a slot; then all slots are locked, in the order of identities, and whoever cannot have one lets go
//! of all and starts over; then it is decided, and written, and the locks are let go. Nobody ever sees half of it.

use std::cell::Cell;

use smallvec::SmallVec;
use tollgate_core::{Batch, Decision, Hit, Limit, Micros, Mode, State, Target, decide_batch_into};

use super::deciding::{Taken, is_stricter};
use super::grip::{Grip, Others};
use super::locked::{Locked, Place};
use super::moving::{MOVED_LINES_PER_CHARGE, MOVED_LINES_PER_NEW_KEY};
use super::rates::{FRESH, IN_A_CELL};
use super::shared::{self, Common, Shared};
use super::slot::Tag;
use super::table::Busy;
use super::{At, Given, Memory, NoRoom, Whose};
use crate::clock::Clock;
use crate::limit::Registered;
use crate::sync::pause;

/// One hit on one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge<'a> {
    pub(crate) limit: &'a Registered,
    pub(crate) id: u64,
    pub(crate) cost: u64,
    pub(crate) mode: Mode,
}

/// The answer to several hits.
#[derive(Debug)]
pub(crate) struct Answered<const N: usize> {
    pub(crate) granted: bool,
    /// One for each hit.
    pub(crate) given: SmallVec<[Given; N]>,
}

/// A key of a batch.
pub(super) struct Member<'a> {
    pub(super) limit: &'a Registered,
    pub(super) dated: Limit,
    pub(super) id: u64,
    /// It has no slot, or none that its state fits in.
    pub(super) shared: bool,
    /// What stood in its slot when that was found out; `None` if it had none.
    pub(super) seen: Option<Tag>,
}

impl<'a> Member<'a> {
    /// Whose key it is.
    pub(super) const fn whose(&self) -> Whose<'a> {
        Whose { limit: self.limit, id: self.id }
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
    ) -> Result<Answered<N>, NoRoom> {
        let mut members: Members<'_, N> = self.members(charges, clock, now);
        let ids: SmallVec<[u64; N]> = members.iter().map(|member| member.id).collect();
        let at = At { spared: &ids, ..At::new(self, now) };
        let mut times = 0;
        let mut any_new = false;
        let grip: Grip<'_, N> = loop {
            for member in &mut members {
                any_new |= self.settle_in(member, &at);
            }
            if let Ok(grip) = self.try_grip(&members) {
                break grip;
            }
            pause(times);
            times = u32::saturating_add(times, 1);
        };
        let answered = self.answer(charges, &members, grip, now);
        if self.table.is_moving() {
            self.table.help(if any_new { MOVED_LINES_PER_NEW_KEY } else { MOVED_LINES_PER_CHARGE }, &at);
        }
        answered
    }

    /// Gives a member a slot, and a cell if it needs one, or notes that there is no room. Returns whether it was new.
    fn settle_in(&self, member: &mut Member<'_>, at: &At<'_>) -> bool {
        (member.shared, member.seen) = (false, None);
        let fits_in_word = member.limit.narrow.map(|narrow| narrow.kind);
        if let Some((_, tag, _)) = self.table.read(member.id)
            && (Some(tag.kind()) == fits_in_word || tag.kind() == IN_A_CELL)
        {
            return false;
        }
        let (mut times, mut stuck) = (0, false);
        loop {
            let roomy = self.table.has_room(at);
            match self.table.try_lock(member.id, roomy, at) {
                Ok(Place::Slot(locked)) => return self.settle_into(locked, member, at),
                Ok(Place::Full(held)) => {
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
                Err(Busy) => pause(times),
            }
            times = u32::saturating_add(times, 1);
        }
    }

    fn settle_into(&self, locked: Locked<'_>, member: &mut Member<'_>, at: &At<'_>) -> bool {
        let now = self.instant(locked.known(), at.now);
        let is_new = self.is_new(locked.known(), now);
        let taken = self.take_out(locked.known(), member.whose(), now, None);
        let has_cell = taken.cell.is_some();
        member.seen = locked.known().map(|(tag, _)| tag);
        if !is_new && !taken.changed && (has_cell || member.limit.narrow.is_some()) || is_new && has_cell {
            self.leave(locked, taken);
            return is_new;
        }
        // A new key's place, or that of one which is met under other numbers.
        match taken.state.filter(|_| !is_new) {
            Some(state) => {
                let times = (now, reset_at(member, Some(&state), now));
                let taken = Taken { state: Some(state), cell: taken.cell, ..Taken::new(None) };
                if let Err(locked) = self.put_in(locked, member.whose(), taken, times) {
                    locked.leave();
                    member.shared = true;
                }
            }
            None if member.limit.narrow.is_some() => locked.write(Tag::new(member.id, FRESH), 0),
            None => match self.new_cell() {
                Some(cell) => locked.write(Tag::new(member.id, IN_A_CELL), cell),
                None => {
                    locked.leave();
                    member.shared = true;
                    self.table.sweep(at);
                }
            },
        }
        is_new
    }

    /// Decides, writes and lets go.
    fn answer<const N: usize>(
        &self,
        charges: &[Charge<'_>],
        members: &[Member<'_>],
        mut grip: Grip<'_, N>,
        now: Micros,
    ) -> Result<Answered<N>, NoRoom> {
        let mut now = grip.slots.iter().fold(now, |now, locked| self.instant(locked.known(), now));
        if let Some(cells) = &grip.others.common {
            let shared = members.iter().filter(|member| member.shared);
            let latest = shared.map(|member| cells.latest(&member.limit.family(), member.id)).max();
            now = now.max(self.latest_drop()).max(latest.unwrap_or(now));
        }
        let Some(mut taken) = self.take_out_all(members, &mut grip, now) else {
            grip.let_go();
            return Err(NoRoom);
        };
        let mut batch = decided::<N>(charges, members, taken.iter().map(|taken| taken.state.as_ref()), now);
        for (target, change) in batch.changes.drain(..) {
            let shared = members.get(target).is_some_and(|member| member.shared);
            if let Some(taken) = taken.get_mut(target) {
                let change = if shared {
                    Shared::shortened(change, &taken.state)
                } else {
                    self.within_budget(change, &taken.state)
                };
                change.apply(&mut taken.state);
                taken.changed = true;
            }
        }
        let others = self.put_in_all(members, taken, grip, now);
        self.charge_own(members, others, now, |id| {
            let of_it = charges.iter().zip(&batch.decisions).filter(|(charge, _)| charge.id == id);
            of_it.fold(0, |sum: u64, (_, decision)| sum.saturating_add(decision.charged))
        });
        Ok(answered(charges, members, batch))
    }

    /// A copy of where the keys stand that this one has its cell in common with.
    pub(super) fn state_in_common(
        cells: &mut shared::Cells,
        member: &Member<'_>,
        now: Micros,
    ) -> Result<Option<State>, NoRoom> {
        Shared::state(cells, &member.limit.family(), member.id, now).map_err(|()| NoRoom)
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
                    Member { limit: charge.limit, dated, id: charge.id, shared: false, seen: None },
                );
            }
        }
        members
    }

    /// Leaves a key as it was; or drops it, if it was put in only for this batch.
    fn leave_or_forget(&self, locked: Locked<'_>, taken: Taken) {
        match locked.known() {
            Some((tag, _)) if tag.kind() == FRESH => locked.forget(),
            Some((tag, cell)) if tag.kind() == IN_A_CELL && self.cells.is_empty(cell) && taken.over => {
                self.cells.give_back(cell);
                locked.forget();
            }
            _ => self.leave(locked, taken),
        }
    }

    /// Where every member stands; `None` if one of them has neither a slot nor a cell in common. Of members with the same
    /// cell in common, the first stands for all.
    fn take_out_all<const N: usize>(
        &self,
        members: &[Member<'_>],
        grip: &mut Grip<'_, N>,
        now: Micros,
    ) -> Option<SmallVec<[Taken; N]>> {
        // First those in common, which can fail; nothing has been taken out yet.
        let mut in_common: SmallVec<[Taken; 1]> = SmallVec::new();
        for (number, member) in members.iter().filter(|member| member.shared).enumerate() {
            let state = Self::state_in_common(grip.others.common.as_mut()?, member, now).ok()?;
            let open = grip.others.common.as_deref();
            let known = grip.others.known(number);
            let own = known.map(|_| self.take_out(known, member.whose(), now, open));
            in_common.push(own.unwrap_or(Taken::new(state)));
        }
        let (mut in_common, mut slots) = (in_common.into_iter(), grip.slots.iter());
        let open = grip.others.common.as_deref();
        let mut all: SmallVec<[Taken; N]> = SmallVec::new();
        for (place, member) in members.iter().enumerate() {
            if !member.shared {
                let known = slots.next().and_then(Locked::known);
                all.push(self.take_out(known, member.whose(), now, open));
                continue;
            }
            let mut taken = in_common.next().unwrap_or(Taken::new(None));
            if let Some(first) = all.get_mut(first_of(place, members))
                && let Some(state) = taken.state.take()
            {
                if is_stricter(&member.dated, &state, first.state.as_ref(), now) {
                    first.state = Some(state);
                }
                first.changed |= std::mem::take(&mut taken.changed);
            }
            all.push(taken);
        }
        Some(all)
    }

    /// Puts every member back as it stands now, and lets go of those that have a slot for it.
    fn put_in_all<'a, const N: usize>(
        &self,
        members: &[Member<'_>],
        mut taken: SmallVec<[Taken; N]>,
        grip: Grip<'a, N>,
        now: Micros,
    ) -> Others<'a> {
        let Grip { slots, mut others } = grip;
        // What is in common first: a slot may be the home of a key without one, who must not find it free before it is charged.
        for (member, taken) in members.iter().zip(&mut taken).filter(|(member, _)| member.shared) {
            if let (Some(cells), true) = (others.common.as_mut(), taken.changed) {
                let over = reset_at(member, taken.state.as_ref(), now);
                let state = taken.state.take().map(|state| Common { state, at: now, over });
                self.shared.keep(cells, &member.limit.family(), member.id, state);
            }
            self.note_overflow();
        }
        let in_slots = members.iter().zip(taken).filter(|(member, _)| !member.shared);
        for ((member, taken), locked) in in_slots.zip(slots) {
            if !taken.changed {
                self.leave_or_forget(locked, taken);
                continue;
            }
            let over = reset_at(member, taken.state.as_ref(), now);
            let put = self.put_in(locked, member.whose(), taken, (now, over));
            debug_assert!(put.is_ok(), "every member that needs a cell has one");
            if let Err(locked) = put {
                locked.leave();
            }
        }
        others
    }

    /// Charges members in their own slots, too, if those are too small for their states, and lets go.
    fn charge_own(
        &self,
        members: &[Member<'_>],
        mut others: Others<'_>,
        now: Micros,
        charged: impl Fn(u64) -> u64,
    ) {
        for (number, member) in members.iter().filter(|member| member.shared).enumerate() {
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
    now.saturating_add(tollgate_core::peek(&member.dated, Some(state), now, 0).reset_after)
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
        let same_cell = shared::share_of(other.id) == shared::share_of(member.id);
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
) -> Answered<N> {
    let one = |(charge, decision): (&Charge<'_>, &Decision)| {
        let shared = members.get(place_of(charge, members)).is_some_and(|member| member.shared);
        Given { decision: *decision, shared, known: !shared }
    };
    let given = charges.iter().zip(&batch.decisions).map(one).collect();
    let granted = batch.granted;
    let _ = SCRATCH.try_with(|scratch| scratch.set(batch));
    Answered { granted, given }
}
