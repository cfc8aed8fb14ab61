//! Advises about limits that can never refuse, because another limit on the same requests refuses first.

use tollgate_algorithms::Limit;

use super::bound::covers;
use super::{Lint, can_refuse, named};
use crate::document::diagnostic::Diagnostic;
use crate::ids::LimitId;
use crate::model::{Cost, PolicyLimit, Scope};

/// Every limit that never refuses a request, because another does first.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    lint.limits().filter_map(|(id, limit)| judge(lint, id, limit)).collect()
}

fn judge(lint: &Lint<'_>, id: LimitId, limit: &PolicyLimit) -> Option<Diagnostic> {
    if !is_plain(limit) || limit.address_ceiling.is_some() || !lint.is_used_plainly(id) {
        // A ceiling can refuse where the limit itself does not.
        return None;
    }
    let beside = beside(lint, id);
    let (_, other) =
        beside.iter().filter_map(|other| Some((*other, lint.limit(*other)?))).find(|(other_id, other)| {
            let first = *other_id < id;
            // Of two that cover each other, the first stays.
            alike(other, limit)
                && is_covered(limit, other)
                && (first || !is_covered(other, limit))
                && always_beside(lint, id, *other_id)
                && lint.is_used_plainly(*other_id)
        })?;
    let message = format!(
        "{} never refuses anything: {} ({}) refuses first",
        named(&limit.name),
        named(&other.name),
        other.numbers
    );
    // Numbers of single consumers stand in another file, and may lift the other limit.
    let by_consumer = lint.policy.settings().consumers.is_some();
    let message =
        if by_consumer { format!("{message}, unless a consumer has numbers of its own") } else { message };
    // What was let through under the numbers of another tier is not bounded by those of this one.
    let by_tier = !limit.tiers.is_empty() || !other.tiers.is_empty();
    let message = if by_tier {
        format!("{message}; this holds for every tier, and not right after a client's tier changes")
    } else {
        message
    };
    let finding = if by_consumer { Diagnostic::note } else { Diagnostic::warning };
    let finding =
        finding("unreachable-limit", limit.place, message).also(other.place, "this one refuses first");
    Some(finding.help("take one of the two away, or make this one stricter in some respect"))
}

/// Limits of which the bound can be told from the document: enforced, charged when it is decided, and kept exactly.
fn is_plain(limit: &PolicyLimit) -> bool {
    // What is reported afterwards is charged whether it fits or not: it may overdraw both, and the longer one for longer.
    let charged_before = !matches!(limit.cost, Cost::Reported { .. });
    // Leases and regions keep a limit only nearly.
    let exactly = matches!(limit.scope, Scope::Exact | Scope::Local);
    can_refuse(limit) && charged_before && exactly
}

/// Whether two limits see the same keys, costs and failures.
fn alike(one: &PolicyLimit, other: &PolicyLimit) -> bool {
    is_plain(one)
        && one.key == other.key
        && one.cost == other.cost
        && one.counted == other.counted
        && one.scope == other.scope
        && one.when_store_fails == other.when_store_fails
}

/// For everybody, and for each tier that either limit has numbers for.
fn is_covered(limit: &PolicyLimit, by: &PolicyLimit) -> bool {
    let named = limit.tiers.iter().chain(&by.tiers).map(|tier| Some(tier.tier.as_str()));
    std::iter::once(None).chain(named).all(|tier| {
        let pair = by.for_tier(tier).limit().zip(limit.for_tier(tier).limit());
        // Without numbers there is nothing to refuse.
        pair.is_some_and(|(by, limit)| limit == Limit::Unlimited || covers(&by, &limit))
    })
}

/// The limits beside this one where it is first met.
fn beside<'a>(lint: &Lint<'a>, id: LimitId) -> Vec<LimitId> {
    let root = lint.policy.default_limits();
    let first = lint.operations_of(id).next().map(|operation| operation.limits.as_slice());
    let list: &'a [LimitId] = first.unwrap_or(if root.contains(&id) { root } else { &[] });
    list.iter().copied().filter(|other| *other != id).collect()
}

/// Whether the other is met wherever this one is. Else this one also counts what the other does not see.
fn always_beside(lint: &Lint<'_>, id: LimitId, other: LimitId) -> bool {
    let root = lint.policy.default_limits();
    let at_root = !root.contains(&id) || root.contains(&other);
    at_root && lint.operations_of(id).all(|operation| operation.limits.contains(&other))
}
