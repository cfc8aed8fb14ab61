//! Advises about limits that internal and external traffic share, by tags and hosts.

use super::{Lint, named};
use crate::compile::inherit::Operation;
use crate::document::diagnostic::Diagnostic;
use crate::model::CountScope;

/// The tag and the label of a host by which an operation is known to be internal.
const INTERNAL: &str = "internal";

/// Every limit that meets operations of both kinds and counts them together. Whatever is not internal is external.
pub(super) fn advise(lint: &Lint<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (id, limit) in lint.limits().filter(|(_, limit)| limit.counted == CountScope::Together) {
        let mut operations = lint.operations_of(id);
        let Some(first) = operations.next() else { continue };
        let Some(other) = operations.find(|other| is_internal(other) != is_internal(first)) else { continue };
        let message = format!(
            "internal and external traffic share {}: one can use up what the other needs",
            named(&limit.name)
        );
        let mut finding = Diagnostic::warning("mixed-traffic", limit.place, message);
        for operation in [first, other] {
            let label = format!("{} {}", tollgate_http::text::shown(&operation.name()), why(operation));
            finding = finding.also(operation.place, label);
        }
        let help = "write a limit of its own on each of them, or on a tag, or `counted: per_operation`";
        found.push(finding.help(help));
    }
    found
}

fn is_internal(operation: &Operation) -> bool {
    is_tagged(operation) || has_host(operation)
}

fn is_tagged(operation: &Operation) -> bool {
    operation.tags.iter().any(|tag| tag.eq_ignore_ascii_case(INTERNAL))
}

fn has_host(operation: &Operation) -> bool {
    operation.host.as_ref().is_some_and(|host| host.to_string().split('.').any(|label| label == INTERNAL))
}

fn why(operation: &Operation) -> &'static str {
    match (is_tagged(operation), has_host(operation)) {
        (true, _) => "is tagged `internal`",
        (false, true) => "has an internal host",
        (false, false) => "is not internal",
    }
}
