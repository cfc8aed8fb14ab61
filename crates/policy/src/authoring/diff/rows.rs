//! Finds what changed at one operation, by default and for each tier.

use tollgate_algorithms::Mode;

use super::approvals::{Reviews, who};
use super::effective::{self, LimitPair};
use super::limits::{self, NumberedPair};
use super::tier::{Defaults, Tier, tiers};
use super::uses::Uses;
use super::{Change, Diff, LimitAt, OperationDiff, Verdict};
use crate::model::LimitUse;
use crate::policy::Policy;

/// So many rows of operations are kept. Further ones are only counted; what they mean is still found.
pub const ROWS_MAX: usize = 10_000;

/// Two policies, and the rows as they are found.
pub(super) struct Rows<'a> {
    pub(super) old: &'a Policy,
    pub(super) new: &'a Policy,
    uses: (&'a Uses<'a>, &'a Uses<'a>),
    pairs: &'a [NumberedPair],
    /// For each limit of the old policy, and of the new one, its pair.
    of_old: Vec<usize>,
    of_new: Vec<usize>,
    /// Whether the limits of a pair differ at all.
    changed: Vec<bool>,
    diff: &'a mut Diff,
    reviews: &'a mut Reviews,
    /// Where the rows of the latest operation begin.
    first_row: usize,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
        (old, new): (&'a Policy, &'a Policy),
        uses: (&'a Uses<'a>, &'a Uses<'a>),
        pairs: &'a [NumberedPair],
        diff: &'a mut Diff,
        reviews: &'a mut Reviews,
    ) -> Self {
        let (mut of_old, mut of_new) = (vec![0; old.limits().len()], vec![0; new.limits().len()]);
        for (at, pair) in pairs.iter().enumerate() {
            for (list, id) in [(&mut of_old, pair.old), (&mut of_new, pair.new)] {
                if let Some(place) = id.and_then(|id| list.get_mut(id.index())) {
                    *place = at;
                }
            }
        }
        let changed = pairs.iter().map(|pair| reviews.has(*pair)).collect();
        Self { old, new, uses, pairs, of_old, of_new, changed, diff, reviews, first_row: 0 }
    }

    /// Compares one operation by its limits before and after. `None` is: no such operation.
    pub(super) fn operation(
        &mut self,
        name: impl Fn() -> String,
        before: Option<&'a [LimitUse]>,
        after: Option<&'a [LimitUse]>,
    ) {
        self.first_row = self.diff.operations.len();
        let meetings = self.meetings(before.unwrap_or(&[]), after.unwrap_or(&[]));
        let limits = meetings.iter().flat_map(|meeting| [meeting.new, meeting.old]).flatten();
        let tiers = tiers(limits, Defaults::of(self.old, self.new));
        let whole = match (before, after) {
            (Some(_), Some(_)) => None,
            (None, _) => Some(Change::Added),
            (Some(_), None) => Some(Change::Removed),
        };
        let Some(verdict) = whole else {
            let as_before = |meeting: &LimitPair<'_>| {
                let same_cost = meeting.old.zip(meeting.new).is_some_and(|(old, new)| old.cost == new.cost);
                same_cost && !self.changed.get(meeting.pair).copied().unwrap_or(true)
            };
            if !meetings.iter().all(as_before) {
                for tier in tiers {
                    self.tier(&name, tier, &meetings);
                }
            }
            return;
        };
        self.diff.found.removed |= verdict == Change::Removed;
        let limits: Vec<_> = meetings.iter().map(|meeting| (meeting, vec![verdict.clone()])).collect();
        for tier in &tiers {
            // A tier that has the numbers of those without one has no row of its own.
            if tier.name.is_none()
                || tiers.first().is_none_or(|nobody| !same_numbers(&meetings, tier, nobody))
            {
                let was = before.map(|_| effective::before(&meetings, *tier));
                let is = after.map(|_| effective::after(&meetings, *tier));
                self.keep(&name, *tier, (verdict.clone(), was, is), &limits);
            }
        }
    }

    /// Says what the latest operation, which is new or gone, means for clients.
    pub(super) fn count(&mut self, verdict: Verdict) {
        self.diff.found.verdict(verdict);
        for row in self.diff.operations.iter_mut().skip(self.first_row) {
            row.effect = verdict;
        }
    }

    /// The limits that meet the operation on either side: the new ones in their order, then those that are gone.
    fn meetings(&self, before: &'a [LimitUse], after: &'a [LimitUse]) -> Vec<LimitPair<'a>> {
        let mut meetings: Vec<LimitPair<'a>> = Vec::with_capacity(after.len());
        let (old_uses, new_uses) = self.uses;
        for one in after {
            let Some(pair) = self.of_new.get(one.limit.index()).copied() else { continue };
            let old = self.pairs.get(pair).and_then(|pair| pair.old);
            let old = old
                .and_then(|old| before.iter().find(|before| before.limit == old && before.when == one.when));
            let old = old.and_then(|one| old_uses.limit(one));
            meetings.push(LimitPair { pair, when: one.when.as_ref(), old, new: new_uses.limit(one) });
        }
        for one in before {
            let Some(pair) = self.of_old.get(one.limit.index()).copied() else { continue };
            let when = one.when.as_ref();
            if !meetings.iter().any(|meeting| meeting.pair == pair && meeting.when == when) {
                meetings.push(LimitPair { pair, when, old: old_uses.limit(one), new: None });
            }
        }
        meetings
    }

    fn tier(&mut self, name: &impl Fn() -> String, tier: Tier<'_>, meetings: &[LimitPair<'a>]) {
        let each = meetings.iter().map(|meeting| (meeting, changes(meeting, tier)));
        let changed: Vec<_> = each.filter(|(_, changes)| !changes.is_empty()).collect();
        if changed.is_empty() {
            return;
        }
        let verdict = effective::verdict(meetings, tier);
        self.diff.found.verdict(verdict);
        self.diff.found.removed |= changed.iter().any(|(_, changes)| changes.contains(&Change::Removed));
        let (was, is) = (effective::before(meetings, tier), effective::after(meetings, tier));
        self.keep(name, tier, (verdict.into(), Some(was), Some(is)), &changed);
    }

    fn keep(
        &mut self,
        name: &impl Fn() -> String,
        tier: Tier<'_>,
        (verdict, before, after): (Change, Option<super::Impact>, Option<super::Impact>),
        changed: &[(&LimitPair<'a>, Vec<Change>)],
    ) {
        for (meeting, _) in changed {
            if let Some(pair) = self.pairs.get(meeting.pair) {
                self.reviews.add(self.old, self.new, *pair);
            }
        }
        if self.diff.operations.len() >= ROWS_MAX {
            self.diff.more_operations = self.diff.more_operations.saturating_add(1);
            return;
        }
        let mut approvals: Vec<String> = Vec::new();
        let mut limits = Vec::new();
        for (meeting, changes) in changed {
            for name in who(meeting.old, meeting.new) {
                if !approvals.contains(&name) {
                    approvals.push(name);
                }
            }
            let limit = meeting.new.or(meeting.old);
            limits.extend(limit.map(|limit| LimitAt { name: limit.name.clone(), changes: changes.clone() }));
        }
        let effect = match verdict {
            Change::Looser => Verdict::Looser,
            Change::Tighter => Verdict::Tighter,
            Change::Mixed => Verdict::Mixed,
            Change::Same
            | Change::Added
            | Change::Removed
            | Change::Renamed { .. }
            | Change::OtherAlgorithm { .. }
            | Change::OtherKey
            | Change::ModeChanged { .. }
            | Change::CostChanged
            | Change::Other { .. } => Verdict::Same,
        };
        let (name, tier) = (name(), tier.name.map(Into::into));
        let row = OperationDiff { name, tier, verdict, effect, before, after, limits, approvals };
        self.diff.operations.push(row);
    }
}

/// Whether two tiers have the same numbers under all limits here.
fn same_numbers(meetings: &[LimitPair<'_>], one: &Tier<'_>, other: &Tier<'_>) -> bool {
    meetings.iter().all(|meeting| {
        meeting.old.is_none_or(|old| one.before(old) == other.before(old))
            && meeting.new.is_none_or(|new| one.after(new) == other.after(new))
    })
}

/// What changed with one limit here.
fn changes(meeting: &LimitPair<'_>, tier: Tier<'_>) -> Vec<Change> {
    match (meeting.old, meeting.new) {
        (Some(old), Some(new)) => limits::for_tier(old, new, tier).0,
        (None, Some(_)) => vec![Change::Added],
        (Some(_), None) => vec![Change::Removed],
        (None, None) => Vec::new(),
    }
}

/// What a limit means here that only came or went.
pub(super) fn came_or_went(meeting: &LimitPair<'_>) -> Verdict {
    let enforced =
        |limit: Option<&crate::model::PolicyLimit>| limit.is_some_and(|limit| limit.mode == Mode::Enforced);
    Verdict::of(enforced(meeting.old).cmp(&enforced(meeting.new)))
}
