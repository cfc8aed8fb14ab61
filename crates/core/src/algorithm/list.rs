//! What was granted when, as a short list: the state of the log and of the conservative buckets. Not a history: entries
//! of one bucket (of one microsecond, in the log) are one entry, and what has left the window is dropped.

use alloc::collections::VecDeque;

use super::standing::Standing;
use crate::{Change, Micros, Receipt};

/// What was charged in one bucket, and when last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The latest charge: all of the entry counts until one window after it.
    pub at: Micros,
    /// What was charged.
    pub cost: u64,
}

/// Entries in the order of time, and their sum.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct List {
    entries: VecDeque<Entry>,
    total: u64,
}

/// A change to a list: drop the oldest, then change one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edit {
    /// How many entries to drop, oldest first: they have expired.
    pub drop: usize,
    /// What to do then.
    pub then: Then,
}

/// What an [`Edit`] does after dropping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    /// Nothing more.
    Nothing,
    /// Add an entry.
    Push(Entry),
    /// Add to the newest entry, and move it to this time.
    Merge(Entry),
    /// Take this much from the entry at this position (after dropping), and remove it if nothing is left.
    Reduce(usize, u64),
}

impl List {
    /// A list of these entries, which are in the order of time.
    #[must_use]
    pub fn from_entries(entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries: VecDeque<_> = entries.into_iter().collect();
        let total = entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.cost));
        Self { entries, total }
    }

    /// The entries, oldest first.
    #[must_use]
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.iter()
    }

    /// An empty list after an edit.
    pub(crate) fn edited(edit: Edit) -> Self {
        let mut list = Self::default();
        list.apply(edit);
        list
    }

    pub(crate) fn apply(&mut self, edit: Edit) {
        for _ in 0..edit.drop {
            let dropped = self.entries.pop_front().map_or(0, |entry| entry.cost);
            self.total = self.total.saturating_sub(dropped);
        }
        match edit.then {
            Then::Nothing => {}
            Then::Push(entry) => {
                self.entries.push_back(entry);
                self.total = self.total.saturating_add(entry.cost);
            }
            Then::Merge(entry) => {
                if let Some(newest) = self.entries.back_mut() {
                    newest.at = entry.at;
                    newest.cost = newest.cost.saturating_add(entry.cost);
                    self.total = self.total.saturating_add(entry.cost);
                }
            }
            Then::Reduce(position, cost) => {
                if let Some(entry) = self.entries.get_mut(position) {
                    let taken = cost.min(entry.cost);
                    entry.cost = entry.cost.saturating_sub(taken);
                    self.total = self.total.saturating_sub(taken);
                    if entry.cost == 0 {
                        self.entries.remove(position);
                    }
                }
            }
        }
    }
}

/// The numbers of a limit that is kept in a list. `K` makes the change of one of the two algorithms out of an edit.
#[derive(Clone, Copy)]
pub(crate) struct Spans<K> {
    /// How long an entry counts.
    pub(crate) window: Micros,
    /// How long a bucket lasts: charges of one bucket merge.
    pub(crate) bucket: u64,
    /// How many entries there may be; beyond it, charges merge.
    pub(crate) entries_max: usize,
    /// Which algorithm's list is edited.
    pub(crate) kind: K,
}

/// The part of a list that counts at the instant `at`.
#[derive(Clone, Copy)]
pub(crate) struct Listed<'a, K> {
    /// `None` if no part of it counts, because there is none or because it lies too far ahead of the clock.
    list: Option<&'a List>,
    spans: Spans<K>,
    at: Micros,
    /// How many entries have left the window.
    expired: usize,
    /// What those that have not add up to.
    used: u64,
    /// The time of the newest entry that counts.
    newest: Option<Micros>,
    then: Then,
}

impl<'a, K: Fn(Edit) -> Change + Copy> Listed<'a, K> {
    /// Looks at each expired entry once; the change that is returned drops them, so the work is O(1) amortised.
    #[inline]
    pub(crate) fn new(spans: Spans<K>, list: Option<&'a List>, now: Micros) -> Self {
        let newest = list.and_then(|list| list.entries.back()).map(|entry| entry.at);
        let window = spans.window;
        let fresh = Self { list, spans, at: now, expired: 0, used: 0, newest: None, then: Then::Nothing };
        let (Some(list), Some(newest)) = (list, newest) else { return fresh };
        if newest.saturating_sub(now) > window {
            // More than a window ahead: none of it counts, and all of it goes with the next charge, but not before.
            return Self { list: None, expired: list.entries.len(), ..fresh };
        }
        let at = now.max(newest);
        let (mut expired, mut used) = (0_usize, list.total);
        while let Some(entry) = list.entries.get(expired)
            && entry.at.saturating_add(window) <= at
        {
            expired = expired.saturating_add(1);
            used = used.saturating_sub(entry.cost);
        }
        let newest = (expired < list.entries.len()).then_some(newest);
        Self { at, expired, used, newest, ..fresh }
    }

    /// An entry that counts; 0 is the oldest of them.
    fn live(&self, position: usize) -> Option<&'a Entry> {
        self.list?.entries.get(self.expired.saturating_add(position))
    }

    /// The time until which all that was charged up to `newest` counts.
    fn expiry(&self, newest: Micros) -> Micros {
        newest.saturating_add(self.spans.window).saturating_sub(self.at)
    }

    fn bucket_of(&self, at: Micros) -> u64 {
        at.get().checked_div(self.spans.bucket).unwrap_or(0)
    }
}

impl<K: Fn(Edit) -> Change + Copy> Standing for Listed<'_, K> {
    fn at(&self) -> Micros {
        self.at
    }

    #[inline]
    fn room(&self, capacity: u64) -> u64 {
        capacity.saturating_sub(self.used)
    }

    /// Looks at as many entries as must expire: at one, for a cost of 1 on a key that is not overdrawn.
    fn wait(&self, capacity: u64, cost: u64) -> Micros {
        let mut excess = self.used.saturating_sub(capacity.saturating_sub(cost));
        let (mut position, mut wait) = (0_usize, Micros::ZERO);
        while excess > 0
            && let Some(entry) = self.live(position)
        {
            excess = excess.saturating_sub(entry.cost);
            wait = self.expiry(entry.at);
            position = position.saturating_add(1);
        }
        wait
    }

    #[inline]
    fn drained(&self) -> Micros {
        self.newest.map_or(Micros::ZERO, |newest| self.expiry(newest))
    }

    #[inline]
    fn charged(&self, cost: u64) -> Self {
        let entry = Entry { at: self.at, cost };
        let entries = self.list.map_or(0, |list| list.entries.len()).saturating_sub(self.expired);
        let same_bucket = self.newest.is_some_and(|newest| self.bucket_of(newest) == self.bucket_of(self.at));
        let merge = same_bucket || entries >= self.spans.entries_max;
        let then = if merge { Then::Merge(entry) } else { Then::Push(entry) };
        Self { used: self.used.saturating_add(cost), newest: Some(self.at), then, ..*self }
    }

    fn refunded(&self, receipt: &Receipt) -> Option<Self> {
        let entries = &self.list?.entries;
        let bucket = self.bucket_of(receipt.at);
        // The newest entry of that bucket: after a change of the limit's numbers there may be older ones.
        let found = entries.partition_point(|entry| self.bucket_of(entry.at) <= bucket).checked_sub(1)?;
        let entry = entries.get(found).filter(|entry| self.bucket_of(entry.at) == bucket)?;
        let position = found.checked_sub(self.expired)?;
        let back = receipt.cost.min(entry.cost);
        let emptied_newest = back == entry.cost && found.saturating_add(1) == entries.len();
        let newest = if emptied_newest {
            position.checked_sub(1).and_then(|before| self.live(before)).map(|entry| entry.at)
        } else {
            self.newest
        };
        let used = self.used.saturating_sub(back);
        Some(Self { used, newest, then: Then::Reduce(position, back), ..*self })
    }

    fn change(&self) -> Change {
        if self.used == 0 {
            Change::Forget
        } else {
            (self.spans.kind)(Edit { drop: self.expired, then: self.then })
        }
    }

    fn unchanged(&self) -> Change {
        if self.list.is_none() || self.expired == 0 {
            return Change::Keep;
        }
        (self.spans.kind)(Edit { drop: self.expired, then: Then::Nothing })
    }
}
