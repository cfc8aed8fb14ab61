//! Limits on tags that no operation has: they limit nothing. Which limits an operation has is decided elsewhere.

use std::collections::BTreeSet;

use super::{Lint, named};
use crate::document::diagnostic::Diagnostic;
use crate::document::suggest;

/// Every tag that says something of limits and is on no operation.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let used: BTreeSet<&str> =
        lint.policy.operations().iter().flat_map(|operation| &operation.tags).map(String::as_str).collect();
    let declared: BTreeSet<&str> = lint.policy.tag_limits.iter().map(|(tag, _)| tag.as_str()).collect();
    let unused = lint.policy.tag_limits.iter().filter(|(tag, _)| !used.contains(tag.as_str()));
    unused
        .map(|(tag, place)| {
            // A tag that has limits of its own was meant as it is written.
            let meant = suggest::nearest(tag, used.difference(&declared).copied());
            let help = "give it to the operations that it is for, or take its limits away";
            let help = meant.map_or_else(
                || help.to_owned(),
                |meant| format!("did you mean {}, which an operation has? Else {help}", named(meant)),
            );
            let message = format!("no operation has the tag {}", named(tag));
            Diagnostic::warning("unused-tag", *place, message).help(help)
        })
        .collect()
}
