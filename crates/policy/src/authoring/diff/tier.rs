//! The tiers for which a diff compares numbers, and the default for clients without one.

use std::collections::BTreeSet;

use crate::model::PolicyLimit;
use crate::numbers::Numbers;
use crate::policy::Policy;

/// What is said in place of a tier's name for every tier that has no numbers of its own. They have rows only where those
/// without a tier have the numbers of the default tier: else these two are the same.
pub const ANY_OTHER_TIER: &str = "(any other)";

/// The tier of those of whom nothing is known, before and after.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Defaults<'a> {
    old: Option<&'a str>,
    new: Option<&'a str>,
}

impl<'a> Defaults<'a> {
    pub(super) fn of(old: &'a Policy, new: &'a Policy) -> Self {
        let of = |policy: &'a Policy| policy.settings().tier_default.as_deref();
        Self { old: of(old), new: of(new) }
    }
}

/// Somebody, before and after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tier<'a> {
    /// The tier; `None` is whoever has none that is known.
    pub(super) name: Option<&'a str>,
    defaults: Defaults<'a>,
}

impl Tier<'_> {
    /// Their numbers under a limit of the old policy.
    pub(super) fn before<'l>(&self, limit: &'l PolicyLimit) -> &'l Numbers {
        limit.for_tier(self.name.or(self.defaults.old))
    }

    /// Their numbers under a limit of the new policy.
    pub(super) fn after<'l>(&self, limit: &'l PolicyLimit) -> &'l Numbers {
        limit.for_tier(self.name.or(self.defaults.new))
    }
}

/// Nobody's tier, then those that one of the limits has numbers for, then all others if nobody's tier is the default's.
pub(super) fn tiers<'a>(
    limits: impl Iterator<Item = &'a PolicyLimit>,
    defaults: Defaults<'a>,
) -> Vec<Tier<'a>> {
    let mut tiers = vec![Tier { name: None, defaults }];
    let mut seen = BTreeSet::new();
    for tier in limits.flat_map(|limit| &limit.tiers) {
        if seen.insert(tier.tier.as_str()) {
            tiers.push(Tier { name: Some(&tier.tier), defaults });
        }
    }
    if [defaults.old, defaults.new].into_iter().flatten().any(|default| seen.contains(default)) {
        tiers.push(Tier { name: Some(ANY_OTHER_TIER), defaults });
    }
    tiers
}
