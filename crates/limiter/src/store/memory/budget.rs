//! Accounts for memory in bytes: slots, overflow states, rates, and overflow buckets.

use tollgate_algorithms::{Limit, Micros};

use super::Memory;
use super::packed_rates::{PackedLimit, Rate, Rates};
use super::region::PIECE_BYTES;
use super::slot::Line;
use crate::limit::LimitInner;
use crate::sync::Ordering;

/// What the store takes besides slots and cells: rates, counters, and the cells that keys have in common.
const FIXED_BYTES: usize = 128 << 10;
/// The part of a budget that is set aside for rates, but for more than they can take: one in so many bytes.
const RATES_PART_OF_BUDGET: usize = 64;
/// The part of a budget that is set aside for counts of permits, once there is a concurrency limit: one in so many bytes.
const PERMITS_PART_OF_BUDGET: usize = 8;

impl Memory {
    /// To how many lines the table may grow while the cells take what they take. While it grows, a little of both its
    /// regions is in memory; of a small one, all.
    pub(super) fn homes_max(&self) -> usize {
        let others =
            self.cells.bytes() + self.shared.bytes_max() + self.rates_reserved() + self.fixed_bytes();
        let room = self.budget.saturating_sub(others);
        let spare = if cfg!(target_os = "linux") { (room / 2).min(3 * PIECE_BYTES) } else { room / 2 };
        // A line more for every 64 at the most: that is how far a key may stand from its home.
        room.saturating_sub(spare) / size_of::<Line>() / 65 * 64
    }

    /// How many bytes the store can fill: its budget without what it keeps free for a table that moves, for rates, and for cells
    /// that new keys have in common. So a store without room has filled nearly all of it.
    pub(crate) fn bytes_max(&self) -> usize {
        let table = self.homes_max().saturating_mul(65) / 64 * size_of::<Line>();
        let others = self.bytes().saturating_sub(self.table.bytes());
        (table + others).max(self.bytes()).min(self.budget)
    }

    /// What the store takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_of_known() + self.shared.bytes()
    }

    /// The same, with all that keys without room and further rates may come to take.
    pub(super) fn bytes_spoken_for(&self) -> usize {
        self.table.bytes()
            + self.cells.bytes()
            + self.rates_reserved()
            + self.fixed_bytes()
            + self.shared.bytes_max()
    }

    fn bytes_of_known(&self) -> usize {
        self.table.bytes() + self.cells.bytes() + self.rates.bytes() + FIXED_BYTES
    }

    /// What does not depend on keys: counters, and what is set aside for permits.
    fn fixed_bytes(&self) -> usize {
        FIXED_BYTES + self.reserved.load(Ordering::Relaxed)
    }

    /// How many bytes the store may take.
    pub(crate) const fn budget(&self) -> usize {
        self.budget
    }

    /// Sets a part of the budget aside for counts of permits, and returns how many lines of a table fit into it.
    pub(crate) fn reserve_for_permits(&self) -> usize {
        let bytes = self.budget / PERMITS_PART_OF_BUDGET;
        self.reserved.store(bytes, Ordering::Relaxed);
        // While a table grows, both its regions are in memory.
        bytes / 2 / size_of::<Line>() / 65 * 64
    }

    /// What rates take, or what is set aside for them if that is more.
    fn rates_reserved(&self) -> usize {
        self.rates.bytes().max((self.budget / RATES_PART_OF_BUDGET).min(Rates::BYTES_MAX))
    }

    /// Whether there is room for rates to take so many bytes in all.
    fn has_room_for_rates(&self, bytes: usize) -> bool {
        let reserved = self.rates_reserved();
        bytes <= reserved
            || self.bytes_spoken_for().saturating_sub(reserved).saturating_add(bytes) <= self.budget
    }

    /// The limit as a debt in one word, if its numbers allow and there is room to write them down.
    pub(crate) fn narrow(&self, limit: &Limit) -> Option<PackedLimit> {
        self.rates.narrow(limit, |bytes| self.has_room_for_rates(bytes))
    }

    /// The number of a rate, if a word can have it and there is room to write it down.
    pub(super) fn number_of(&self, rate: Rate) -> Option<u16> {
        self.rates.number(rate, |bytes| self.has_room_for_rates(bytes))
    }

    /// How many slots are in use, by keys or by what is left of them.
    pub(crate) fn slots_used(&self) -> u64 {
        self.table.used()
    }

    /// How many hits were decided by a cell that keys have in common.
    pub(crate) fn overflowed(&self) -> u64 {
        self.overflowed.load(Ordering::Relaxed)
    }

    /// Whether a limit's debts fit in words at an instant.
    pub(super) fn fits_in_a_word(&self, limit: &LimitInner, now: Micros) -> bool {
        limit.narrow.is_some_and(|narrow| self.since_start(now) <= narrow.until)
    }
}
