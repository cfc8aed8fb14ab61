//! Internal and external traffic under one limit: one of them can use up what the other needs. By tags alone.

use super::{Lint, named};
use crate::compile::effective::Operation;
use crate::document::diagnostic::Diagnostic;
use crate::model::Counted;

/// Every limit that meets operations of both kinds and counts them together.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, limit) in lint.limits().filter(|(_, limit)| limit.counted == Counted::Together) {
        let mut operations = lint.operations_of(id);
        let Some(first) = operations.next() else { continue };
        let Some(other) = operations.find(|other| kind(other) != kind(first)) else { continue };
        let message = format!(
            "internal and external traffic share {}: one can use up what the other needs",
            named(&limit.name)
        );
        let mut finding = Diagnostic::warning("mixed-traffic", limit.place, message);
        for operation in [first, other] {
            let label = format!("{} is {}", crate::text::shown(&operation.name()), tagged(operation));
            finding = finding.also(operation.place, label);
        }
        let help = "write a limit of its own on the tag, or `counted: per_operation`";
        found.push(finding.help(help));
    }
    found
}

/// Whether it is tagged as internal, and whether as external.
fn kind(operation: &Operation) -> (bool, bool) {
    let has = |name: &str| operation.tags.iter().any(|tag| tag.eq_ignore_ascii_case(name));
    (has("internal"), has("external"))
}

fn tagged(operation: &Operation) -> &'static str {
    match kind(operation) {
        (true, true) => "tagged as both",
        (true, false) => "tagged `internal`",
        (false, true) => "tagged `external`",
        (false, false) => "tagged as neither",
    }
}
