//! A list of recent charges: the state of the sliding window log and of the sliding window with buckets. Charges in one bucket
//! (in the log, in one microsecond) share an entry; the next charge drops expired entries.

use alloc::collections::VecDeque;

use super::standing::Usage;
use crate::{Change, Micros, Receipt};

/// The charges of one bucket: their sum, and the time of the latest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Time of the latest charge. The whole entry counts until one window after it.
    pub at: Micros,
    /// The sum of the charges.
    pub cost: u64,
}

/// Entries in order of time.
///
/// It stores running totals instead of costs, so that one subtraction sums any number of entries, and bisection finds
/// one: a decision never scans the list. Two lists are equal only if they are equal bit for bit.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct List {
    totals: VecDeque<StoredEntry>,
    /// The running total before the first entry.
    before: u64,
}

/// An entry as stored: its time, and the total charged up to and including it. Totals wrap; only their
/// differences are meaningful.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct StoredEntry {
    at: Micros,
    through: u64,
}

/// A change to a list: drop the oldest entries, then change one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edit {
    /// Number of expired entries to drop, oldest first.
    pub drop: usize,
    /// What to do then.
    pub then: EditAction,
}

/// What an [`Edit`] does after dropping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditAction {
    /// Add an entry.
    Push(Entry),
    /// Add to the newest entry, and move it to this time.
    Merge(Entry),
    /// Subtract this much from the entry at this position (after dropping), and remove it if nothing is left.
    Reduce(usize, u64),
}

/// Minimum capacity, however few entries there are.
const ROOM_KEPT: usize = 32;

/// Maximum sum of the entries of a list from outside; a larger one would refuse everything anyway.
const SUM_MAX: u64 = 1 << 62;

impl List {
    /// Creates a list of these entries, which must be in order of time.
    #[must_use]
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut through = 0_u64;
        let total = |entry: Entry| {
            through = through.saturating_add(entry.cost).min(SUM_MAX);
            StoredEntry { at: entry.at, through }
        };
        Self { totals: entries.into_iter().map(total).collect(), before: 0 }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals.is_empty()
    }

    /// Heap memory in bytes: capacity for up to four times the entries, or for 32.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.totals.capacity().saturating_mul(size_of::<StoredEntry>())
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        (0..self.totals.len()).filter_map(|position| self.entry(position))
    }

    fn entry(&self, position: usize) -> Option<Entry> {
        let total = self.totals.get(position)?;
        Some(Entry { at: total.at, cost: total.through.wrapping_sub(self.through_before(position)) })
    }

    /// The running total before an entry.
    fn through_before(&self, position: usize) -> u64 {
        let previous = position.checked_sub(1).and_then(|previous| self.totals.get(previous));
        previous.map_or(self.before, |total| total.through)
    }

    /// The running total.
    fn through(&self) -> u64 {
        self.totals.back().map_or(self.before, |total| total.through)
    }

    /// The sum of the charges from an entry on.
    fn sum_from(&self, position: usize) -> u64 {
        self.through().wrapping_sub(self.through_before(position))
    }

    /// The first entry at or after `from` for which the predicate holds; it must hold for all later entries. A doubling
    /// search followed by bisection, so that results near `from` are found fast; usually it is `from` itself.
    #[inline]
    fn first(&self, from: usize, holds: impl Fn(&StoredEntry) -> bool) -> usize {
        if self.totals.get(from).is_none_or(&holds) {
            return from;
        }
        let (mut low, mut step) = (from.saturating_add(1), 1_usize);
        let mut high = loop {
            let probe = low.saturating_add(step).saturating_sub(1);
            match self.totals.get(probe) {
                Some(total) if !holds(total) => low = probe.saturating_add(1),
                Some(_) => break probe,
                None => break self.totals.len(),
            }
            step = step.saturating_mul(2);
        };
        while low < high {
            let middle = low.midpoint(high);
            if self.totals.get(middle).is_none_or(&holds) {
                high = middle;
            } else {
                low = middle.saturating_add(1);
            }
        }
        low
    }

    /// An empty list after an edit.
    pub(crate) fn edited(edit: Edit) -> Self {
        let mut list = Self::default();
        list.apply(edit);
        list
    }

    pub(crate) fn apply(&mut self, edit: Edit) {
        for _ in 0..edit.drop {
            self.before = self.totals.pop_front().map_or(self.before, |total| total.through);
        }
        let newest = self.through();
        match edit.then {
            EditAction::Push(Entry { at, cost }) => {
                self.totals.push_back(StoredEntry { at, through: newest.wrapping_add(cost) });
            }
            EditAction::Merge(Entry { at, cost }) => {
                if let Some(total) = self.totals.back_mut() {
                    *total = StoredEntry { at, through: newest.wrapping_add(cost) };
                }
            }
            EditAction::Reduce(position, cost) => self.reduce(position, cost),
        }
        self.shrink();
    }

    /// Shrinks when three quarters of the memory are unused, so that an old burst does not keep memory forever.
    fn shrink(&mut self) {
        let (kept, room) = (self.totals.len().saturating_mul(2), self.totals.capacity());
        if room > ROOM_KEPT && kept.saturating_mul(2) < room {
            self.totals.shrink_to(kept.max(ROOM_KEPT));
        }
    }

    /// Changes every later entry: a refund is more expensive than a decision.
    fn reduce(&mut self, position: usize, cost: u64) {
        let Some(entry) = self.entry(position) else { return };
        let taken = cost.min(entry.cost);
        for total in self.totals.iter_mut().skip(position) {
            total.through = total.through.wrapping_sub(taken);
        }
        if taken == entry.cost {
            self.totals.remove(position);
        }
    }
}

/// The numbers of a limit whose state is a list. `K` wraps an edit in the change of one of the two algorithms.
#[derive(Clone, Copy)]
pub(crate) struct ListLimit<K> {
    /// Time for which an entry counts.
    pub(crate) window: Micros,
    /// Length of a bucket. Charges in one bucket merge.
    pub(crate) bucket: u64,
    /// Maximum number of entries; beyond it, charges merge.
    pub(crate) entries_max: usize,
    /// Wraps an edit for the algorithm.
    pub(crate) kind: K,
}

/// The part of a list that counts at the instant `at`.
#[derive(Clone, Copy)]
pub(crate) struct ListUsage<'a, K> {
    /// `None` if no part of it counts, because it is empty or too far ahead of the clock.
    list: Option<&'a List>,
    spans: ListLimit<K>,
    at: Micros,
    /// Number of entries that have left the window.
    expired: usize,
    /// Sum of the remaining entries.
    used: u64,
    /// Time of the newest entry that counts.
    newest: Option<Micros>,
    /// The pending change, after a charge or a refund.
    then: Option<EditAction>,
}

impl<'a, K: Fn(Edit) -> Change + Copy> ListUsage<'a, K> {
    #[inline]
    pub(crate) fn new(spans: ListLimit<K>, list: Option<&'a List>, now: Micros) -> Self {
        let newest = list.and_then(|list| list.totals.back()).map(|total| total.at);
        let window = spans.window;
        let fresh = Self { list, spans, at: now, expired: 0, used: 0, newest: None, then: None };
        let (Some(list), Some(newest)) = (list, newest) else { return fresh };
        if newest.saturating_sub(now) > window {
            // More than a window ahead: none of it counts, and all of it goes with the next charge.
            return Self { list: None, expired: list.totals.len(), ..fresh };
        }
        let at = now.max(newest);
        let expired = list.first(0, |total| total.at.saturating_add(window) > at);
        let newest = (expired < list.totals.len()).then_some(newest);
        Self { at, expired, used: list.sum_from(expired), newest, ..fresh }
    }

    /// The time until which charges up to `newest` count.
    fn expiry(&self, newest: Micros) -> Micros {
        newest.saturating_add(self.spans.window).saturating_sub(self.at)
    }

    fn bucket_of(&self, at: Micros) -> u64 {
        at.get().checked_div(self.spans.bucket).unwrap_or(0)
    }
}

impl<K: Fn(Edit) -> Change + Copy> Usage for ListUsage<'_, K> {
    fn at(&self) -> Micros {
        self.at
    }

    #[inline]
    fn room(&self, capacity: u64) -> u64 {
        capacity.saturating_sub(self.used)
    }

    /// Time until enough entries have expired. For a cost of 1, that is usually the oldest entry.
    fn wait(&self, capacity: u64, cost: u64) -> Micros {
        let Some(list) = self.list else { return Micros::ZERO };
        let excess = self.used.saturating_sub(capacity.saturating_sub(cost));
        let before = list.through_before(self.expired);
        let last = list.first(self.expired, |total| total.through.wrapping_sub(before) >= excess);
        list.totals.get(last).map_or(Micros::ZERO, |total| self.expiry(total.at))
    }

    #[inline]
    fn drained(&self) -> Micros {
        self.newest.map_or(Micros::ZERO, |newest| self.expiry(newest))
    }

    #[inline]
    fn charged(&self, cost: u64) -> Self {
        let entry = Entry { at: self.at, cost };
        let entries = self.list.map_or(0, |list| list.totals.len()).saturating_sub(self.expired);
        let same_bucket = self.newest.is_some_and(|newest| self.bucket_of(newest) == self.bucket_of(self.at));
        let merge = same_bucket || entries >= self.spans.entries_max;
        let then = if merge { EditAction::Merge(entry) } else { EditAction::Push(entry) };
        Self { used: self.used.saturating_add(cost), newest: Some(self.at), then: Some(then), ..*self }
    }

    fn refunded(&self, receipt: &Receipt, part: u64) -> Option<Self> {
        let list = self.list?;
        let bucket = self.bucket_of(receipt.at);
        // The newest entry of that bucket: after a change of the limit's numbers there may be older ones.
        let found = list.first(self.expired, |total| self.bucket_of(total.at) > bucket).checked_sub(1)?;
        let position = found.checked_sub(self.expired)?;
        let entry = list.entry(found).filter(|entry| self.bucket_of(entry.at) == bucket)?;
        let back = part.min(entry.cost);
        let emptied_newest = back == entry.cost && found.saturating_add(1) == list.totals.len();
        let newest = if emptied_newest {
            position
                .checked_sub(1)
                .and_then(|_| list.totals.get(found.saturating_sub(1)))
                .map(|total| total.at)
        } else {
            self.newest
        };
        let used = self.used.saturating_sub(back);
        Some(Self { used, newest, then: Some(EditAction::Reduce(position, back)), ..*self })
    }

    fn change(&self) -> Change {
        match self.then {
            None => Change::Keep,
            Some(_) if self.used == 0 => Change::Forget,
            Some(then) => (self.spans.kind)(Edit { drop: self.expired, then }),
        }
    }
}
