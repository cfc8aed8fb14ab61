//! Advises about costs that exceed the capacity of a limit.

use super::{Lint, named};
use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::model::{Cost, PolicyLimit, TierNumbers};
use crate::numbers::Numbers;

/// Every cost that is above the capacity of the limit or of one of its tiers.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (_, limit) in lint.limits() {
        found.extend(judge(&limit.cost, &limit.numbers, named(&limit.name), limit.place));
        for tier in &limit.tiers {
            found.extend(judge(&limit.cost, &tier.numbers, of_tier(tier, limit), tier.place));
        }
    }
    for one in lint.uses() {
        let (Some(cost), Some(limit)) = (&one.cost, lint.limit(one.limit)) else { continue };
        found.extend(judge(cost, &limit.numbers, named(&limit.name), one.place));
        for tier in &limit.tiers {
            found.extend(judge(cost, &tier.numbers, of_tier(tier, limit), one.place));
        }
    }
    found
}

fn of_tier(tier: &TierNumbers, limit: &PolicyLimit) -> String {
    format!("the tier {} of {}", named(&tier.tier), named(&limit.name))
}

fn judge(cost: &Cost, numbers: &Numbers, whose: String, place: Place) -> Option<Diagnostic> {
    // So many at the same time is not so much at once: nothing is spent.
    if matches!(numbers, Numbers::Concurrency { .. } | Numbers::Adaptive { .. }) {
        return None;
    }
    let capacity = numbers.burst();
    // Whoever writes 0 refuses everything, and says so.
    if capacity == 0 {
        return None;
    }
    let (sure, who) = match cost {
        Cost::Fixed(cost) => (*cost, "a request"),
        Cost::Asked { default, .. } => (*default, "a request that does not say what it costs"),
        Cost::Reported { estimate, .. } => (*estimate, "a request, by its estimate,"),
        // The least is one operation; a body that carries more is judged by the maximum.
        Cost::Operations { .. } => (1, "a request of one operation"),
    };
    if sure > capacity {
        let message =
            format!("{who} costs {sure}, and {whose} has at most {capacity}: it can never be granted");
        let help = format!("lower the cost, or let at least {sure} through at once");
        return Some(Diagnostic::warning("cost-never-fits", place, message).help(help));
    }
    let (_, most) = cost.range();
    if most <= capacity {
        return None;
    }
    let then = match cost {
        Cost::Reported { .. } => "what is reported above that overdraws the key",
        Cost::Fixed(_) | Cost::Asked { .. } | Cost::Operations { .. } => {
            "what costs more can never be granted"
        }
    };
    let message = format!("a request may cost up to {most}, and {whose} has at most {capacity}: {then}");
    let help = format!("set the cost's `max` to {capacity}, or let {most} through at once");
    Some(Diagnostic::note("cost-may-not-fit", place, message).help(help))
}
