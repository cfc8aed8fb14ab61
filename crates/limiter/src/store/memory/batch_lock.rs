//! Locks all keys of a batch, or none of them.
//!
//! Nobody is waited for: who cannot have a lock lets go of all of them. So the order of locking does not matter.

use smallvec::SmallVec;

use super::Memory;
use super::batch::Member;
use super::overflow;
use super::slot::Tag;
use super::slot_guard::{HomeGuard, SlotGuard};
use super::table::{Contended, Table};
use crate::sync::MutexGuard;

/// Locks on all keys of a batch.
pub(super) struct BatchLocks<'a, const N: usize> {
    /// In the order of the members that have a slot for their state.
    pub(super) slots: SmallVec<[SlotGuard<'a>; N]>,
    /// The others.
    pub(super) others: OverflowLocks<'a>,
}

/// Locks on keys that are charged to a cell that they have in common with others.
pub(super) struct OverflowLocks<'a> {
    /// Locks of their homes, or of slots that their states do not fit in.
    homes: SmallVec<[HomeGuard<'a>; 1]>,
    /// In the order of the members: which of `homes` is the slot of its own, if it has one.
    own: SmallVec<[Option<usize>; 1]>,
    /// The cells, if there is any such key.
    pub(super) common: Option<MutexGuard<'a, overflow::BucketPools>>,
}

impl Memory {
    /// Locks every member, or none.
    pub(super) fn try_grip<const N: usize>(
        &self,
        members: &[Member<'_>],
    ) -> Result<BatchLocks<'_, N>, Contended> {
        let others = OverflowLocks { homes: SmallVec::new(), own: SmallVec::new(), common: None };
        let mut grip = BatchLocks { slots: SmallVec::new(), others };
        for member in members.iter().filter(|member| !member.shared) {
            // Nobody waits here: other locks are held.
            let read = self.table.try_read(member.id).ok().flatten();
            match read.and_then(|(slot, tag, value)| Table::lock_as_read(slot, tag, value)) {
                Some(locked) if member.has_place(locked.tag) => grip.slots.push(locked),
                other => {
                    // It has gone, or lost its cell, since it was looked at.
                    other.into_iter().for_each(SlotGuard::leave);
                    grip.let_go();
                    return Err(Contended);
                }
            }
        }
        for member in members.iter().filter(|member| member.shared) {
            // If it has got a slot meanwhile, it is charged there and nowhere else.
            let OverflowLocks { homes, own, .. } = &mut grip.others;
            match self.table.try_hold((member.id, member.seen), &grip.slots, homes) {
                Ok((held, slot)) => {
                    homes.extend(held);
                    let is_own = |held: &HomeGuard<'_>| slot.is_some_and(|slot| std::ptr::eq(slot, held.0));
                    own.push(homes.iter().position(is_own));
                }
                Err(Contended) => {
                    grip.let_go();
                    return Err(Contended);
                }
            }
        }
        if members.iter().any(|member| member.shared) {
            grip.others.common = Some(self.shared.open(self.calendar.known()));
        }
        Ok(grip)
    }
}

impl<const N: usize> BatchLocks<'_, N> {
    /// Lets go of everything, and leaves it as it was.
    pub(super) fn let_go(self) {
        self.slots.into_iter().for_each(SlotGuard::leave);
        self.others.leave();
    }
}

impl OverflowLocks<'_> {
    /// What stands in the slot of such a member, by its number among them.
    pub(super) fn known(&self, number: usize) -> Option<(Tag, u64)> {
        let held = self.homes.get(self.own.get(number).copied().flatten()?)?;
        Some((held.0.tag(), held.1))
    }

    /// Notes what is to be written into that slot.
    pub(super) fn set(&mut self, number: usize, value: u64) {
        let place = self.own.get(number).copied().flatten();
        if let Some(held) = place.and_then(|place| self.homes.get_mut(place)) {
            held.1 = value;
        }
    }

    /// Lets go.
    pub(super) fn leave(self) {
        // The cells first: who finds a home free finds what was charged there too.
        drop(self.common);
        self.homes.into_iter().for_each(HomeGuard::leave);
    }
}
