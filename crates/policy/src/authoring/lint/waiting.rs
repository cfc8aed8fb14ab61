//! Queues with places that nobody can use, lines that are one line, and numbers of tiers that another limit takes back.

use std::collections::BTreeSet;

use tollgate_algorithms::{Micros, Mode};

use super::{Lint, named};
use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::ids::LimitId;
use crate::model::{Identity, PolicyLimit};
use crate::numbers::Numbers;
use crate::quantity::spoken;

/// Everything about waiting and about what is in progress.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, limit) in lint.limits() {
        let own = (&limit.numbers, named(&limit.name), limit.place);
        let tiers = limit.tiers.iter().map(|tier| {
            let whose = format!("the tier {} of {}", named(&tier.tier), named(&limit.name));
            (&tier.numbers, whose, tier.place)
        });
        for (numbers, whose, place) in std::iter::once(own).chain(tiers) {
            found.extend(long_queue(numbers, &whose, place));
        }
        found.extend(one_line(limit));
        found.extend(low_concurrency(lint, id, limit));
    }
    found
}

/// A queue with more places than can leave in the time that a request may wait.
fn long_queue(numbers: &Numbers, whose: &str, place: Place) -> Option<Diagnostic> {
    let Numbers::Queue { quota, max_wait: Some(max_wait) } = numbers else { return None };
    let leave = u128::from(max_wait.get()) * u128::from(quota.count());
    let leave = u64::try_from(leave.checked_div(quota.period().into())?).unwrap_or(u64::MAX);
    if quota.burst() <= leave {
        return None;
    }
    let (places, wait) = (quota.burst(), spoken(*max_wait));
    let message = format!("{whose} has {places} places, and only {leave} requests leave within {wait}");
    let all = quota.period().saturating_mul(quota.burst()).div_ceil(quota.count().max(1));
    let help = format!(
        "the other places are never used: write `capacity: {leave}`, or `max_wait: {}`",
        spoken(Micros::new(all))
    );
    Some(Diagnostic::warning("long-queue", place, message).help(help))
}

/// Lines that take turns, of which each key has one.
fn one_line(limit: &PolicyLimit) -> Option<Diagnostic> {
    let whole_key = |link: &Vec<Identity>| limit.key.chain.first().is_some_and(|first| first == link);
    if !limit.fair_by.first().is_some_and(whole_key) {
        return None;
    }
    let message =
        format!("{} has one line for each key: `fair_by` is what `consumer_key` is", named(&limit.name));
    let help = "count by something that several clients have in common, such as `consumer_key: organisation`";
    Some(Diagnostic::warning("one-line", limit.place, message).help(help))
}

/// A concurrency limit for everyone together that is lower than what another one promises to a single client.
fn low_concurrency(lint: &Lint<'_>, id: LimitId, limit: &PolicyLimit) -> Option<Diagnostic> {
    let all = limit.key.chain.first().is_some_and(|link| link.as_slice() == [Identity::Everyone]);
    if !all || limit.mode == Mode::Shadow || limit.numbers.concurrency().is_none() {
        return None;
    }
    let beside: BTreeSet<_> = lint
        .operations_of(id)
        .flat_map(|operation| &operation.limits)
        .filter(|other| **other != id)
        .collect();
    beside.into_iter().find_map(|other| {
        let other = lint.limit(*other).filter(|other| other.mode == Mode::Enforced)?;
        let tiers = other.tiers.iter().map(|tier| Some(tier.tier.as_str()));
        let (most, tier) = std::iter::once(None)
            .chain(tiers)
            .filter_map(|tier| {
                let (promised, kept) =
                    (other.for_tier(tier).concurrency()?, limit.for_tier(tier).concurrency()?);
                (kept > 0 && promised > kept).then_some((promised, tier))
            })
            .max()?;
        let whom = tier.map_or_else(|| "a single client".into(), |tier| format!("the tier {}", named(tier)));
        let message = format!(
            "{} admits {} at the same time from everyone together, and {} promises {most} to {whom}",
            named(&limit.name),
            limit.for_tier(tier).burst(),
            named(&other.name),
        );
        let finding = Diagnostic::warning("low-concurrency", limit.place, message);
        let finding = finding.also(other.place, "this one promises more");
        Some(finding.help("raise the limit for everyone, or promise less"))
    })
}
