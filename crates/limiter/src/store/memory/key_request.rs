//! Operations on one key and their results. `memory.rs` and `deciding.rs` perform them.

use tollgate_algorithms::{Decision, Micros, Receipt};

use super::packed_rates::{PackedDecision, PackedLimit};
use super::slot::{Slot, Tag};

/// What is asked about one key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyRequest<'a> {
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
pub(crate) struct KeyResult {
    pub(crate) decision: Decision,
    /// What a refund gave back.
    pub(crate) refunded: u64,
    /// Whether it was decided by a cell that new keys have in common, because there is no room.
    pub(crate) shared: bool,
    /// Whether the key has a slot.
    pub(crate) known: bool,
}

/// The answer to a charge, whose numbers may not have been worked out yet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ChargeResult<'a> {
    Word(&'a PackedLimit, PackedDecision),
    Given(KeyResult),
}

impl ChargeResult<'_> {
    /// With its numbers.
    pub(crate) fn given(self, now: Micros) -> KeyResult {
        match self {
            Self::Word(narrow, raw) => {
                KeyResult { decision: narrow.decision(&raw, now), refunded: 0, shared: false, known: true }
            }
            Self::Given(given) => given,
        }
    }
}

/// There is no room for the key of this identity, and not even a cell to have in common: it cannot be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NoRoom(pub(crate) u64);

/// A slot, and the tag and value that were found in it.
pub(crate) type FoundSlot<'a> = (&'a Slot, Tag, u64);

/// A hit on a key whose debt is a word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedHit<'a> {
    pub(crate) narrow: &'a PackedLimit,
    pub(crate) cost: u64,
}
