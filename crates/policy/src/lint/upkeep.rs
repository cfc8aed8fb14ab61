//! What makes a policy hard to look after: limits without a name or an owner, and limits that do not refuse. Not their numbers.

use std::collections::BTreeSet;

use tollgate_core::Mode;

use super::{Lint, named};
use crate::compile::effective::Nearest;
use crate::document::diagnostic::Diagnostic;
use crate::model::{PolicyLimit, Where};
use crate::numbers::Algorithm;

/// Names, owners, shadows, and algorithms to come.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found: Vec<_> =
        unnamed(lint).into_iter().filter_map(|id| lint.limit(id)).map(without_name).collect();
    let owned = lint.limits().any(|(_, limit)| limit.owner.is_some());
    for (_, limit) in lint.limits() {
        let name = named(&limit.name);
        if owned && limit.owner.is_none() {
            let message = format!("{name} has no owner, and other limits have one");
            let help = "add `owner`: who is asked when it changes";
            found.push(Diagnostic::note("no-owner", limit.place, message).help(help));
        }
        if limit.mode == Mode::Shadow {
            let message = format!("{name} is a shadow: counted, not enforced");
            let help = "take `mode: shadow` away when what it would refuse is what it should";
            found.push(Diagnostic::note("shadow-limit", limit.place, message).help(help));
        }
        if matches!(limit.algorithm, Algorithm::Concurrency | Algorithm::LeakyBucketQueue) {
            let message = format!(
                "{name} is read and shown, and not yet enforced: {} is to come",
                limit.algorithm.name()
            );
            let help = "do not rely on it: keep another limit beside it until the release that enforces it";
            found.push(Diagnostic::note("not-yet-enforced", limit.place, message).help(help));
        }
    }
    found
}

fn without_name(limit: &PolicyLimit) -> Diagnostic {
    let message = format!(
        "{} has no name, and stands in a list: its place in it is all it is known by",
        named(&limit.name)
    );
    let help = "give it a `name`: else its keys start afresh when the list is put in another order";
    Diagnostic::note("unnamed-limit", limit.place, message).help(help)
}

/// Limits without a name that stand beside others.
fn unnamed(lint: &Lint<'_>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut list = |ids: &[u32]| {
        if ids.len() > 1 {
            found.extend(ids.iter().copied().filter(|id| lint.limit(*id).is_some_and(|limit| !limit.named)));
        }
    };
    list(lint.policy.default_limits());
    for operation in lint.policy.operations() {
        match operation.nearest {
            Nearest::Operation | Nearest::Path | Nearest::Root => list(&operation.limits),
            // Several tags may have brought one limit each: those are no list.
            Nearest::Tag => {
                for at in &tags_of(lint, &operation.limits) {
                    let of_tag: Vec<u32> =
                        operation.limits.iter().copied().filter(|id| is_at(lint, *id, at)).collect();
                    list(&of_tag);
                }
            }
            Nearest::Off(_) | Nearest::Nothing => {}
        }
    }
    found
}

fn tags_of<'a>(lint: &Lint<'a>, limits: &[u32]) -> BTreeSet<&'a Where> {
    limits.iter().filter_map(|id| lint.limit(*id)).map(|limit| &limit.at).collect()
}

fn is_at(lint: &Lint<'_>, id: u32, at: &Where) -> bool {
    lint.limit(id).is_some_and(|limit| limit.at == *at)
}
