//! Pairs the limits of two policies, and finds what changed in each pair.

use std::collections::{BTreeSet, HashMap};

use tollgate_algorithms::{Micros, Mode};

use super::operations::{LimitTarget, OperationPairs};
use super::tier::{Defaults, Tier, tiers};
use super::verdict::{costs, numbers};
use super::words;
use super::{Change, LimitDiff, Terms, TierDiff, Verdict};
use crate::authoring::lockout::{LockoutSide, longest};
use crate::compile::load::by_name;
use crate::ids::LimitId;
use crate::model::{LimitLocation, PolicyLimit};
use crate::numbers::Algorithm;
use crate::policy::Policy;

/// A limit before and after, by number. At least one side is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NumberedPair {
    pub(super) old: Option<LimitId>,
    pub(super) new: Option<LimitId>,
}

impl NumberedPair {
    pub(super) fn limits<'a>(
        self,
        old: &'a Policy,
        new: &'a Policy,
    ) -> (Option<&'a PolicyLimit>, Option<&'a PolicyLimit>) {
        let of = |policy: &'a Policy, id: Option<LimitId>| policy.limits().get(id?.index());
        (of(old, self.old), of(new, self.new))
    }
}

/// Every limit of either policy: those of the new one in its order, then those that are gone.
pub(super) fn pairs(old: &Policy, new: &Policy, matched: &OperationPairs) -> Vec<NumberedPair> {
    let (old_names, new_names) = (by_name(old), by_name(new));
    let gone: Vec<LimitId> = LimitId::number(old.limits())
        .filter(|(_, limit)| !new_names.contains_key(limit.name.as_str()))
        .map(|(id, _)| id)
        .collect();
    let mut renames = renames(old, new, matched, &gone);
    let mut pairs = Vec::new();
    let mut used = BTreeSet::new();
    for (id, limit) in LimitId::number(new.limits()) {
        let before = old_names.get(limit.name.as_str()).copied().or_else(|| renames.remove(&id));
        used.extend(before);
        pairs.push(NumberedPair { old: before, new: Some(id) });
    }
    pairs.extend(
        gone.into_iter().filter(|id| !used.contains(id)).map(|id| NumberedPair { old: Some(id), new: None }),
    );
    pairs
}

/// For a new limit, the one that is gone and is the same but for its name. Only where there is one candidate each way.
fn renames(
    old: &Policy,
    new: &Policy,
    matched: &OperationPairs,
    gone: &[LimitId],
) -> HashMap<LimitId, LimitId> {
    let mut found: HashMap<LimitId, LimitId> = HashMap::new();
    if gone.is_empty() {
        return found;
    }
    let old_names = by_name(old);
    let before = matched.met_before(old);
    let after = matched.met_after(new);
    // By the first operation, so that only limits that can meet are compared.
    let mut by_operations: HashMap<&[LimitTarget], Vec<LimitId>> = HashMap::new();
    for id in gone {
        if let Some(operations) = before.get(id.index()).filter(|list| !list.is_empty()) {
            by_operations.entry(operations).or_default().push(*id);
        }
    }
    for (id, limit) in
        LimitId::number(new.limits()).filter(|(_, limit)| !old_names.contains_key(limit.name.as_str()))
    {
        let Some(candidates) = after.get(id.index()).and_then(|list| by_operations.get_mut(list.as_slice()))
        else {
            continue;
        };
        let same = |was: &LimitId| old.limits().get(was.index()).is_some_and(|was| is_renamed(was, limit));
        if let Some(at) = candidates.iter().position(same) {
            found.insert(id, candidates.remove(at));
        }
    }
    found
}

/// Same numbers, same kind of place, same key.
fn is_renamed(old: &PolicyLimit, new: &PolicyLimit) -> bool {
    let kind = |at: &LimitLocation| match at {
        LimitLocation::Root => 0_u8,
        LimitLocation::Tag(_) => 1,
        LimitLocation::Path(_) => 2,
        LimitLocation::Operation(_) => 3,
        LimitLocation::Named(_) => 4,
    };
    kind(&old.at) == kind(&new.at)
        && old.algorithm == new.algorithm
        && old.key == new.key
        && tiers([new, old].into_iter(), Defaults::default())
            .iter()
            .all(|tier| tier.before(old) == tier.after(new))
}

/// What is different in a limit; `None` if nothing is.
pub(super) fn compare(old: &Policy, new: &Policy, pair: NumberedPair) -> Option<LimitDiff> {
    let (before, after) = pair.limits(old, new);
    let tiers = tiers([after, before].into_iter().flatten(), Defaults::of(old, new));
    let (changes, verdict) = match (before, after) {
        (Some(before), Some(after)) => whole(before, after, &tiers),
        (None, Some(after)) => (vec![Change::Added], if_enforced(after, Verdict::Tighter)),
        (Some(before), None) => (vec![Change::Removed], if_enforced(before, Verdict::Looser)),
        (None, None) => return None,
    };
    let (policy, limit) = after.map(|limit| (new, limit)).or(before.map(|limit| (old, limit)))?;
    if changes.is_empty() {
        return None;
    }
    Some(LimitDiff {
        name: limit.name.clone(),
        at: policy.sources().locate(limit.place),
        changes,
        verdict,
        longest_lockout: before.zip(after).and_then(|both| lockout((old, new), both, &tiers)),
        tiers: of_tiers(before, after, &tiers),
        approvals: super::approvals::who(before, after),
    })
}

/// The longest wait of a key that was used up before, over all tiers. A limit of another name, of other keys or of another kind
/// of state starts afresh.
fn lockout(
    (old, new): (&Policy, &Policy),
    (before, after): (&PolicyLimit, &PolicyLimit),
    tiers: &[Tier<'_>],
) -> Option<Micros> {
    let is_kept = !is_counted_otherwise(before, after) || (is_bucket(before) && is_bucket(after));
    let is_same = before.name == after.name && before.key == after.key && is_kept;
    if !is_same || after.mode != Mode::Enforced {
        return None;
    }
    let of_tier = |tier: &Tier<'_>| {
        let was = LockoutSide { limit: before, numbers: tier.before(before), settings: old.settings() };
        let is = LockoutSide { limit: after, numbers: tier.after(after), settings: new.settings() };
        longest(was, is)
    };
    tiers.iter().filter_map(of_tier).max()
}

fn if_enforced(limit: &PolicyLimit, verdict: Verdict) -> Verdict {
    if limit.mode == Mode::Enforced { verdict } else { Verdict::Same }
}

fn of_tiers(before: Option<&PolicyLimit>, after: Option<&PolicyLimit>, tiers: &[Tier<'_>]) -> Vec<TierDiff> {
    let each = tiers.iter().map(|tier| {
        let before = before.map(|limit| Terms::of(tier.before(limit)));
        let after = after.map(|limit| Terms::of(tier.after(limit)));
        let verdict =
            before.zip(after).map_or(Verdict::Same, |(old, new)| numbers(&old.numbers, &new.numbers));
        TierDiff { tier: tier.name.map(Into::into), before, after, verdict }
    });
    each.collect()
}

/// Everything that is different, over all tiers, and what it means.
fn whole(old: &PolicyLimit, new: &PolicyLimit, tiers: &[Tier<'_>]) -> (Vec<Change>, Verdict) {
    let each = || tiers.iter().map(|tier| (tier.before(old), tier.after(new)));
    let by_numbers = each().fold(Verdict::Same, |all, (old, new)| all.and(numbers(old, new)));
    let mut changes = besides(old, new);
    if by_numbers != Verdict::Same {
        changes.push(by_numbers.into());
    } else if old.algorithm == new.algorithm {
        // Other numbers that mean the same to a client, such as more buckets.
        let other = each().find(|(old, new)| old != new);
        changes.extend(
            other.map(|(old, new)| words::other("numbers", words::numbers(old), words::numbers(new))),
        );
    }
    changes.extend(words::others(old, new));
    (changes, verdict(old, new, by_numbers))
}

/// What is different for one tier, as an operation sees it: without what does not touch requests.
pub(super) fn for_tier(old: &PolicyLimit, new: &PolicyLimit, tier: Tier<'_>) -> (Vec<Change>, Verdict) {
    let by_numbers = numbers(tier.before(old), tier.after(new));
    let mut changes = besides(old, new);
    if by_numbers != Verdict::Same {
        changes.push(by_numbers.into());
    }
    (changes, verdict(old, new, by_numbers))
}

/// What is different besides numbers and words.
fn besides(old: &PolicyLimit, new: &PolicyLimit) -> Vec<Change> {
    let mut changes = Vec::new();
    if old.name != new.name {
        changes.push(Change::Renamed { from: old.name.clone() });
    }
    if is_counted_otherwise(old, new) {
        changes.push(Change::OtherAlgorithm { same_state: is_bucket(old) && is_bucket(new) });
    }
    if old.key != new.key {
        changes.push(Change::OtherKey);
    }
    if old.mode != new.mode {
        changes.push(Change::ModeChanged { enforced: new.mode == Mode::Enforced });
    }
    if old.cost != new.cost {
        changes.push(Change::CostChanged);
    }
    changes
}

/// Another algorithm; or a sliding window that had no buckets and has some now, which is kept in another way too.
fn is_counted_otherwise(old: &PolicyLimit, new: &PolicyLimit) -> bool {
    let kept = |limit: &PolicyLimit| limit.numbers.limit().map(|limit| limit.algorithm());
    old.algorithm != new.algorithm || kept(old) != kept(new)
}

/// Whether its state is a debt that drains, which the buckets and GCRA share.
fn is_bucket(limit: &PolicyLimit) -> bool {
    matches!(limit.algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra)
}

/// All in all, for clients.
fn verdict(old: &PolicyLimit, new: &PolicyLimit, by_numbers: Verdict) -> Verdict {
    match (old.mode, new.mode) {
        (Mode::Shadow, Mode::Shadow) => return Verdict::Same,
        (Mode::Shadow, Mode::Enforced) => return Verdict::Tighter,
        (Mode::Enforced, Mode::Shadow) => return Verdict::Looser,
        (Mode::Enforced, Mode::Enforced) => {}
    }
    let by_key = if old.key == new.key { Verdict::Same } else { Verdict::Mixed };
    by_numbers.and(by_key).and(costs(&old.cost, &new.cost)).and(words::verdict(old, new))
}
