//! Everything cached about one key: replies by limit, and the last charge.

use smallvec::SmallVec;
use tollgate_algorithms::Limit;

use super::clock_bounds::{ClockBounds, Order};
use super::entry::{CachedRefusal, ObservedKey};
use crate::reply::reported_state::ReportedState;
use crate::{Hit, Name};

/// So much is kept of one key at most: a list has an entry for each limit and cost that was refused, all else has one for all of them.
/// Beyond that the oldest makes room: what is forgotten is asked again.
pub(super) const ENTRIES_MAX: usize = 8;

/// A key that refused a hit lately.
#[derive(Debug)]
pub(super) struct CachedKey {
    pub(super) name: Name,
    pub(super) entries: SmallVec<[CachedRefusal; 1]>,
    charge: Option<Charge>,
}

/// The last charge that is known of. What was told before it may not hold any more under other numbers: they may have been given room by
/// it, since a debt is drained by the numbers of whoever is charged, and a list loses what has left their window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    /// `None` if there were several at one instant.
    limit: Option<Limit>,
    pub(super) when: ClockBounds,
}

impl Charge {
    pub(super) const fn new(limit: &Limit, when: ClockBounds) -> Self {
        Self { limit: Some(*limit), when }
    }

    /// Whether what was told under these numbers then may be from before it. Under the same numbers it could only take.
    pub(super) fn outdates(&self, limit: &Limit, when: &ClockBounds) -> bool {
        match when.order(&self.when) {
            Order::Earlier => true,
            Order::Same => self.limit.as_ref() != Some(limit),
            Order::Later => false,
        }
    }

    /// The later of two.
    pub(super) fn and(self, other: Self) -> Self {
        match other.when.order(&self.when) {
            Order::Earlier => self,
            Order::Same => Self {
                limit: self.limit.filter(|limit| other.limit.as_ref() == Some(limit)),
                when: self.when.with(&other.when),
            },
            Order::Later => other,
        }
    }
}

impl CachedKey {
    pub(super) fn new(name: Name, charge: Option<Charge>) -> Self {
        Self { name, entries: SmallVec::new(), charge }
    }

    /// The last charge that is known of.
    pub(super) const fn charge(&self) -> Option<Charge> {
        self.charge
    }

    /// The newest of what it told.
    pub(super) fn newest(&self) -> Option<&ClockBounds> {
        self.entries.iter().map(|entry| &entry.when).max_by_key(|when| when.answered)
    }

    /// By what a hit can be judged.
    pub(super) fn entry(&mut self, hit: &Hit<'_>) -> Option<&mut CachedRefusal> {
        self.entries.iter_mut().find(|entry| entry.is_for(hit))
    }

    /// The same; and if there is no such thing, but a smaller cost was refused, that this one had no room either.
    pub(super) fn entry_or_less(&mut self, hit: &Hit<'_>) -> Option<&mut CachedRefusal> {
        if !self.entries.iter().any(|entry| entry.is_for(hit)) {
            let less = self.entries.iter().filter(|entry| entry.is_for_less_than(hit));
            let when = less.map(|entry| entry.when).max_by_key(|when| when.answered)?;
            self.push(CachedRefusal::new(hit, ReportedState::Untold, when));
        }
        self.entry(hit)
    }

    /// Keeps what the answer to a hit says.
    pub(super) fn learn(&mut self, hit: &Hit<'_>, learned: ObservedKey, when: &ClockBounds) {
        let is_outdated = self.charge.is_some_and(|charge| charge.outdates(hit.limit, when));
        if learned.charged {
            self.charged(hit.limit, when, |entry| is_outdated || !entry.is_for(hit));
        }
        if is_outdated {
            return;
        }
        match self.entries.iter().position(|entry| entry.is_for(hit)) {
            Some(at) => {
                let is_kept = self.entries.get_mut(at).is_some_and(|entry| entry.learn(hit, learned, when));
                if !is_kept {
                    self.entries.swap_remove(at);
                }
            }
            None if learned.room => {}
            None => self.push(CachedRefusal::new(hit, learned.stands, *when)),
        }
    }

    /// Something was charged under these numbers: of what else was told, only what was told after it holds for others.
    pub(super) fn charged(&mut self, limit: &Limit, when: &ClockBounds, of: impl Fn(&CachedRefusal) -> bool) {
        for entry in self.entries.iter_mut().filter(|entry| of(entry)) {
            if when.order(&entry.when) != Order::Earlier {
                entry.charged_since(limit);
            }
        }
        let charge = Charge::new(limit, *when);
        self.charge = Some(self.charge.map_or(charge, |known| known.and(charge)));
    }

    fn push(&mut self, entry: CachedRefusal) {
        if self.entries.len() >= ENTRIES_MAX {
            let answered = |at: &usize| self.entries.get(*at).map(|entry| entry.when.answered);
            let oldest = (0..self.entries.len()).min_by_key(answered);
            oldest.map(|at| self.entries.swap_remove(at));
        }
        self.entries.push(entry);
    }
}
