//! Advises about tiers with less than the default, and tiers that no client can have.

use std::cmp::Ordering;

use super::{Lint, named};
use crate::authoring::impact::Impact;
use crate::document::diagnostic::Diagnostic;
use crate::model::{PolicyLimit, TierNumbers};
use crate::numbers::Numbers;

/// Everything about tiers.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (_, limit) in lint.limits() {
        let default = lint.policy.settings().tier_default.as_deref();
        let others = limit.tiers.iter().filter(|tier| Some(tier.tier.as_str()) != default);
        found.extend(others.filter_map(|tier| lower(limit, tier, default)));
        found.extend(without_source(lint, limit));
    }
    found
}

/// Clients without a tier have the numbers of the default tier, if it has some.
fn lower(limit: &PolicyLimit, tier: &TierNumbers, default: Option<&str>) -> Option<Diagnostic> {
    let own = limit.tiers.iter().find(|tier| Some(tier.tier.as_str()) == default);
    let (base, base_at) = own.map_or((&limit.numbers, limit.place), |own| (&own.numbers, own.place));
    let respects = less(base, &tier.numbers);
    if respects.is_empty() {
        return None;
    }
    let (tier_name, name) = (named(&tier.tier), named(&limit.name));
    let message = format!(
        "the tier {tier_name} gets less of {name} than clients without a tier: {}",
        respects.join(", ")
    );
    let finding = Diagnostic::warning("lower-tier", tier.place, message);
    let finding = finding.also(base_at, "the numbers of clients without a tier stand here");
    Some(finding.help("a client loses by having this tier: raise its numbers, or lower those of the limit"))
}

/// In which respects the second is less than the first.
fn less(base: &Numbers, tier: &Numbers) -> Vec<String> {
    let (Some(base_means), Some(tier_means)) = (Impact::of(base), Impact::of(tier)) else {
        let fewer = tier.burst() < base.burst();
        return fewer
            .then(|| format!("{} instead of {} at the same time", tier.burst(), base.burst()))
            .into_iter()
            .collect();
    };
    let mut respects = Vec::new();
    if tier_means.sustained.compare(&base_means.sustained) == Ordering::Less {
        respects
            .push(format!("{} instead of {} in the long run", tier_means.sustained, base_means.sustained));
    }
    let numbers = [
        ("at once", tier_means.burst, base_means.burst),
        ("in the worst minute", tier_means.worst_minute, base_means.worst_minute),
    ];
    for (respect, of_tier, of_base) in numbers {
        if let (Some(of_tier), Some(of_base)) = (of_tier, of_base)
            && of_tier < of_base
        {
            respects.push(format!("{of_tier} instead of {of_base} {respect}"));
        }
    }
    respects
}

/// Numbers of tiers, where nothing says who has one. The default tier is everybody's, and is not among them.
fn without_source(lint: &Lint<'_>, limit: &PolicyLimit) -> Option<Diagnostic> {
    let settings = lint.policy.settings();
    if !settings.tier_from.is_empty() || settings.consumers.is_some() {
        return None;
    }
    let first = limit.tiers.iter().find(|tier| Some(&tier.tier) != settings.tier_default.as_ref())?;
    let message = format!(
        "the tier {} of {} never applies: nothing says which tier a client has",
        named(&first.tier),
        named(&limit.name)
    );
    let help = "set `tiers.from` to `consumers`, `jwt:CLAIM` or `header:NAME`";
    Some(Diagnostic::note("tiers-without-source", first.place, message).help(help))
}
