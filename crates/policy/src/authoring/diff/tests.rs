//! What differs, by tables of documents, and what has to hold of any two. The drawings are compared as they are.

mod any;
mod drawn;
mod folded;
mod settings;
mod table;

use super::*;

/// A native file of routes `/a` with these limits.
pub(super) fn route(limits: &str) -> String {
    format!("tollgate: 1\nroutes:\n  - path: /a\n    methods: GET\n    rate_limit:\n{limits}")
}

/// A limit of a list.
pub(super) fn limit(name: &str, text: &str) -> String {
    format!("      - {{ name: {name}, {text} }}\n")
}

pub(super) fn policy(document: &str) -> Policy {
    Policy::parse("t.yaml", document).unwrap_or_else(|refused| panic!("{document}\n{refused}"))
}

pub(super) fn between(old: &str, new: &str) -> Diff {
    diff(&policy(old), &policy(new))
}
