//! Advises about tiers between which a client may move, and how long it then waits because of its usage in the higher one.

use super::windows::WAIT_NOTED;
use super::{Lint, can_refuse, named};
use crate::authoring::lockout::{LockoutSide, longest};
use crate::document::diagnostic::Diagnostic;
use crate::model::PolicyLimit;
use crate::quantity::spoken;

/// For each limit the longest wait of a client that moves to another tier, if that is long.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let limits = lint.limits().filter(|(_, limit)| can_refuse(limit));
    limits.filter_map(|(_, limit)| of_limit(lint, limit)).collect()
}

fn of_limit(lint: &Lint<'_>, limit: &PolicyLimit) -> Option<Diagnostic> {
    let settings = lint.policy.settings();
    let tiers = || {
        let own = (None, &limit.numbers, limit.place);
        let tiers = limit.tiers.iter().map(|tier| (Some(tier.tier.as_str()), &tier.numbers, tier.place));
        std::iter::once(own).chain(tiers)
    };
    let moves = tiers().flat_map(|from| tiers().map(move |to| (from, to)));
    let waits = moves.filter_map(|(from, to)| {
        let side = |numbers| LockoutSide { limit, numbers, settings };
        Some((longest(side(from.1), side(to.1))?, from, to))
    });
    let (wait, from, to) = waits.max_by_key(|(wait, ..)| *wait).filter(|(wait, ..)| *wait > WAIT_NOTED)?;
    let tier = |name: Option<&str>| {
        name.map_or_else(|| "no tier".into(), |name| format!("the tier {}", named(name)))
    };
    let message = format!(
        "a client that has used up {} in {}, and moves to {}, waits up to {}",
        named(&limit.name),
        tier(from.0),
        tier(to.0),
        spoken(wait)
    );
    let help = "what a client owes stays owed under other numbers: reset its key when it moves";
    Some(Diagnostic::note("long-lockout", to.2, message).help(help))
}
