//! Shares of a limit that are smaller than a cost: while the shared store fails, such requests cannot be decided.

use super::{Lint, can_refuse, named};
use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::model::{Cost, FailureRule, PolicyLimit, Scope};
use crate::numbers::Numbers;

/// Every limit, and every tier of one, whose share is smaller than a cost that the whole limit can grant.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (_, limit) in lint.limits().filter(|(_, limit)| can_refuse(limit) && limit.scope != Scope::Local) {
        let FailureRule::Local { share, of } = limit.when_store_fails else { continue };
        let own = (&limit.numbers, named(&limit.name), limit.place);
        let tiers = limit.tiers.iter().map(|tier| {
            (&tier.numbers, format!("the tier {} of {}", named(&tier.tier), named(&limit.name)), tier.place)
        });
        let all = std::iter::once(own).chain(tiers);
        found.extend(
            all.filter_map(|(numbers, whose, place)| judge(limit, (numbers, (share, of)), whose, place)),
        );
    }
    found
}

fn judge(
    limit: &PolicyLimit,
    (numbers, (share, of)): (&Numbers, (u32, u32)),
    whose: String,
    place: Place,
) -> Option<Diagnostic> {
    let Numbers::Counted(counted) = numbers else { return None };
    let capacity = counted.capacity();
    let part = u128::from(capacity) * u128::from(share.min(of)) / u128::from(of.max(1));
    let part = u64::try_from(part).unwrap_or(capacity);
    let usual = match &limit.cost {
        Cost::Fixed(cost) => *cost,
        Cost::Asked { default, .. } => *default,
        Cost::Reported { estimate, .. } => *estimate,
        Cost::Operations { .. } => 1,
    };
    // What is reported afterwards is charged whether it fits or not.
    let most =
        if let Cost::Reported { estimate, .. } = &limit.cost { *estimate } else { limit.cost.range().1 };
    let is_between = |cost: u64| part < cost && cost <= capacity;
    let who = if is_between(usual) {
        format!("a request costs {usual}: it gets a 503")
    } else if part < most && part < capacity && usual <= capacity {
        format!("a request may cost up to {most}: if it costs more than {part}, it gets a 503")
    } else {
        return None;
    };
    let message =
        format!("while the shared store fails, {share}/{of} of {whose} is {part} in each process, and {who}");
    let help = "take a larger share, `local` with the whole limit, `allow` or `deny`";
    Some(Diagnostic::warning("share-too-small", place, message).help(help))
}
