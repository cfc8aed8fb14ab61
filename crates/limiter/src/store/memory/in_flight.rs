//! Counts permits by key, in a table of its own. It knows no limits and no time.

use super::resize::{MOVED_LINES_PER_CHARGE, MOVED_LINES_PER_NEW_KEY};
use super::slot::Tag;
use super::slot_guard::KeyPosition;
use super::table::{KeyWorth, SlotOwner, Table};
use crate::sync::{AtomicU64, Ordering, pause};

/// The most permits that a key can count: a slot has 24 bits for each kind of permit.
pub(crate) const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;

const COUNT_BITS: u32 = 24;
const HAS_WAITERS: u64 = 1 << (2 * COUNT_BITS);

/// What the tags of this table say: there is one kind of value.
const COUNTED: u16 = 1;
/// A new key that finds a full table has it looked through for keys without permits this seldom.
const LOOKED_EVERY: u64 = 1_024;

/// The permits of all keys that hold any.
#[derive(Debug)]
pub(crate) struct InFlight {
    table: Table,
    homes_max: usize,
    /// How many new keys have found the table full.
    full: AtomicU64,
}

/// The counts of one key, as its slot keeps them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PermitCounts {
    pub(crate) enforced: u32,
    pub(crate) shadow: u32,
    /// Whether somebody waits for a permit. Changed only by whoever holds the lock of the queues.
    pub(crate) has_waiters: bool,
}

/// Where a permit is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PermitLocation {
    /// By its key.
    Slot,
    /// By the count that all keys without a slot have in common.
    Overflow,
}

/// Permits of the keys of one limit that found no room, in one count. Changed only under the lock of such a key's home.
#[derive(Debug, Default)]
pub(crate) struct Overflow {
    enforced: AtomicU64,
    shadow: AtomicU64,
}

/// How a permit was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PermitMode {
    /// Only if the key has fewer than its limit, and nobody waits.
    Enforced,
    /// The same for the one whose turn it is among those who wait.
    FirstInLine,
    /// In any case, with a count of its own.
    Shadow,
}

impl PermitCounts {
    fn unpack(value: u64) -> Self {
        let count = |shift: u32| u32::try_from(value >> shift & u64::from(COUNT_MAX)).unwrap_or(0);
        Self { enforced: count(0), shadow: count(COUNT_BITS), has_waiters: value & HAS_WAITERS != 0 }
    }

    fn pack(self) -> u64 {
        let waiters = if self.has_waiters { HAS_WAITERS } else { 0 };
        u64::from(self.enforced) | u64::from(self.shadow) << COUNT_BITS | waiters
    }
}

impl Overflow {
    /// How many enforced permits have no slot.
    pub(crate) fn enforced(&self) -> u32 {
        u32::try_from(self.enforced.load(Ordering::Acquire)).unwrap_or(u32::MAX)
    }

    fn count(&self, wish: PermitMode) -> &AtomicU64 {
        match wish {
            PermitMode::Enforced | PermitMode::FirstInLine => &self.enforced,
            PermitMode::Shadow => &self.shadow,
        }
    }

    /// Counts a permit of any of these keys against the limit of one.
    pub(crate) fn take(&self, wish: PermitMode, limit: u32) -> Result<(PermitLocation, u32), u32> {
        let count = self.count(wish);
        loop {
            let now = count.load(Ordering::Acquire);
            let known = u32::try_from(now).unwrap_or(u32::MAX);
            if wish != PermitMode::Shadow && known >= limit {
                return Err(known);
            }
            let taken = count.compare_exchange(now, now + 1, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                return Ok((PermitLocation::Overflow, known));
            }
        }
    }

    pub(crate) fn give_back(&self, wish: PermitMode) {
        // One less. Only a permit gives back, and once, so the count does not pass 0.
        let before = self.count(wish).fetch_add(u64::MAX, Ordering::AcqRel);
        debug_assert_ne!(before, 0, "a permit is given back once");
    }
}

impl SlotOwner for InFlight {
    fn worth(&self, _tag: Tag, value: u64) -> KeyWorth {
        if value == 0 { KeyWorth::Stale } else { KeyWorth::Live }
    }

    fn dropped(&self, _tag: Tag, _value: u64) {}

    fn homes_max(&self) -> usize {
        self.homes_max
    }

    fn is_time_to_look(&self) -> bool {
        self.full.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOOKED_EVERY)
    }
}

impl InFlight {
    /// No permits, in a table that begins with so many lines and may grow to so many; `None` if there is no memory.
    pub(crate) fn new(homes_min: usize, homes_max: usize) -> Option<Self> {
        Some(Self { table: Table::new(homes_min)?, homes_max, full: AtomicU64::new(0) })
    }

    /// The identity of a key: the highest bits of its hash.
    pub(crate) fn id(&self, hash: u64) -> u64 {
        self.table.id(hash)
    }

    /// What the table takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// The counts of a key.
    pub(crate) fn counts(&self, id: u64) -> PermitCounts {
        self.table.read(id).map_or_else(PermitCounts::default, |(_, _, value)| PermitCounts::unpack(value))
    }

    /// Counts a permit if the wish allows, and tells how many there were before; `Err` tells how many there are.
    ///
    /// A key with a slot is charged what keys without one hold as well, because some of that may be its own: it never gets more than its
    /// limit in all.
    pub(crate) fn take(
        &self,
        id: u64,
        wish: PermitMode,
        limit: u32,
        overflow: &Overflow,
    ) -> Result<(PermitLocation, u32), u32> {
        let take = |counts: PermitCounts| match wish {
            PermitMode::Shadow if counts.shadow < COUNT_MAX => (
                PermitCounts { shadow: counts.shadow + 1, ..counts },
                Ok((PermitLocation::Slot, counts.shadow)),
            ),
            PermitMode::Shadow => (counts, Err(counts.shadow)),
            PermitMode::Enforced | PermitMode::FirstInLine => {
                let in_flight = counts.enforced.saturating_add(overflow.enforced());
                let is_turn = wish == PermitMode::FirstInLine || !counts.has_waiters;
                if is_turn && in_flight < limit.min(COUNT_MAX) {
                    (
                        PermitCounts { enforced: counts.enforced + 1, ..counts },
                        Ok((PermitLocation::Slot, in_flight)),
                    )
                } else {
                    (counts, Err(in_flight))
                }
            }
        };
        self.update(id, take, || overflow.take(wish, limit))
    }

    /// Gives a permit back. Returns `false` if somebody waits for it: then it is still counted, and the queues pass it on.
    pub(crate) fn give_back(
        &self,
        id: u64,
        wish: PermitMode,
        counted: PermitLocation,
        overflow: &Overflow,
    ) -> bool {
        match counted {
            PermitLocation::Overflow => {
                overflow.give_back(wish);
                true
            }
            PermitLocation::Slot => self.update(id, |counts| given_back(counts, wish), || true),
        }
    }

    /// Gives an enforced permit of a key with a slot back, whoever waits. Only under the lock of the queues.
    pub(crate) fn give_back_for_good(&self, id: u64) {
        let less = |counts: PermitCounts| {
            (PermitCounts { enforced: counts.enforced.saturating_sub(1), ..counts }, ())
        };
        self.update(id, less, || ());
    }

    /// Notes whether somebody waits. Only under the lock of the queues. Returns whether the key has a slot to note it in.
    pub(crate) fn note_waiters(&self, id: u64, has_waiters: bool) -> bool {
        self.update(id, |counts| (PermitCounts { has_waiters, ..counts }, true), || false)
    }

    /// Changes the counts of a key under its lock; or calls `no_room` under the lock of its home, so that nobody puts the key in meanwhile.
    fn update<T>(
        &self,
        id: u64,
        change: impl Fn(PermitCounts) -> (PermitCounts, T),
        no_room: impl Fn() -> T,
    ) -> T {
        let (mut times, mut stuck) = (0, false);
        loop {
            let roomy = self.table.has_room(self);
            match self.table.try_lock(id, roomy, self) {
                Ok(KeyPosition::Slot(locked)) => {
                    let (before, lines) = match locked.known() {
                        None => (0, MOVED_LINES_PER_NEW_KEY),
                        Some((_, value)) => (value, MOVED_LINES_PER_CHARGE),
                    };
                    let (after, answer) = change(PermitCounts::unpack(before));
                    if after.pack() == before {
                        locked.leave();
                    } else {
                        locked.write(Tag::new(id, COUNTED), after.pack());
                    }
                    if self.table.is_moving() {
                        self.table.help(lines, self);
                    }
                    return answer;
                }
                Ok(KeyPosition::Full(held)) => {
                    if stuck || !self.table.could_grow(roomy, self) {
                        let answer = no_room();
                        held.leave();
                        return answer;
                    }
                    held.leave();
                    stuck = !self.table.make_room(self);
                }
                Err(_) => {}
            }
            pause(times);
            times = u32::saturating_add(times, 1);
        }
    }
}

/// The counts without a permit, and whether it is gone: one that somebody waits for stays.
fn given_back(counts: PermitCounts, wish: PermitMode) -> (PermitCounts, bool) {
    match wish {
        PermitMode::Shadow => (PermitCounts { shadow: counts.shadow.saturating_sub(1), ..counts }, true),
        PermitMode::Enforced | PermitMode::FirstInLine if counts.has_waiters => (counts, false),
        PermitMode::Enforced | PermitMode::FirstInLine => {
            debug_assert_ne!(counts.enforced, 0, "a permit is given back once");
            (PermitCounts { enforced: counts.enforced.saturating_sub(1), ..counts }, true)
        }
    }
}
