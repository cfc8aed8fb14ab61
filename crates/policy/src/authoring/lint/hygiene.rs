//! Advises about limits that are hard to maintain: without a name, without an owner, or in shadow mode.

use std::collections::BTreeSet;

use tollgate_algorithms::Mode;

use super::group_findings::finding;
use super::{Lint, named};
use crate::compile::inherit::InheritedFrom;
use crate::document::diagnostic::Diagnostic;
use crate::ids::LimitId;
use crate::model::{LimitLocation, PolicyLimit};

/// Names, owners, shadows, and what no release enforces yet.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<_> = unnamed(lint).iter().filter_map(|list| without_name(lint, list)).collect();
    found.extend(without_owner(lint));
    for (_, limit) in lint.limits().filter(|(_, limit)| limit.mode == Mode::Shadow) {
        let message = format!("{} is a shadow: counted, not enforced", named(&limit.name));
        let help = "take `mode: shadow` away when what it would refuse is what it should";
        found.push(Diagnostic::note("shadow-limit", limit.place, message).help(help));
    }
    found.extend(super::not_enforced(lint.policy));
    found
}

/// Once, and only where some limit has an owner.
fn without_owner(lint: &Lint<'_>) -> Option<Diagnostic> {
    let (owned, nobodys): (Vec<_>, Vec<_>) =
        lint.limits().map(|(_, limit)| limit).partition(|limit| limit.owner.is_some());
    if owned.is_empty() {
        return None;
    }
    let words = ("has no owner, and other limits have one", "have no owner, and other limits have one");
    let help = "add `owner`: who is asked when it changes";
    Some(finding(Diagnostic::note, "no-owner", &nobodys, words)?.help(help))
}

/// Once for each list.
fn without_name(lint: &Lint<'_>, list: &[LimitId]) -> Option<Diagnostic> {
    let limits: Vec<&PolicyLimit> = list.iter().filter_map(|id| lint.limit(*id)).collect();
    let words = (
        "has no name, and is in a list: only its algorithm and its position identify it",
        "have no name, and stand in a list: their algorithms and places are all they are known by",
    );
    let help = "give it a `name`: else its keys start afresh when its algorithm or the list changes";
    Some(finding(Diagnostic::note, "unnamed-limit", &limits, words)?.help(help))
}

/// Limits without a name that stand beside others, list by list.
fn unnamed(lint: &Lint<'_>) -> BTreeSet<Vec<LimitId>> {
    let mut found = BTreeSet::new();
    let mut list = |ids: &[LimitId]| {
        if ids.len() > 1 {
            let nameless = |id: &LimitId| lint.limit(*id).is_some_and(|limit| !limit.named);
            found.insert(ids.iter().copied().filter(nameless).collect());
        }
    };
    list(lint.policy.default_limits());
    for operation in lint.policy.operations() {
        match operation.nearest {
            InheritedFrom::Operation | InheritedFrom::Path | InheritedFrom::Root => list(&operation.limits),
            // Several tags may have brought one limit each: those are no list.
            InheritedFrom::Tag => {
                for at in &tags_of(lint, &operation.limits) {
                    let of_tag: Vec<LimitId> =
                        operation.limits.iter().copied().filter(|id| is_at(lint, *id, at)).collect();
                    list(&of_tag);
                }
            }
            InheritedFrom::Off(_) | InheritedFrom::Nothing => {}
        }
    }
    found
}

fn tags_of<'a>(lint: &Lint<'a>, limits: &[LimitId]) -> BTreeSet<&'a LimitLocation> {
    limits.iter().filter_map(|id| lint.limit(*id)).map(|limit| &limit.at).collect()
}

fn is_at(lint: &Lint<'_>, id: LimitId, at: &LimitLocation) -> bool {
    lint.limit(id).is_some_and(|limit| limit.at == *at)
}
