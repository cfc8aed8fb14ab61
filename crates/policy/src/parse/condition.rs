//! `when`: the condition of a limit, as it is written. Whether a request meets it is decided when the request is matched.

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::model::Condition;
use crate::parse::context::Context;
use crate::parse::native::headers;
use crate::parse::schema_fields::{NAME_CHARS_MAX, PATH_CHARS_MAX, WHEN};

/// Reads a condition. Nothing if it is wrong, which has been said.
pub(crate) fn read<'t>(value: Value<'t>, context: &mut Context<'t>) -> Option<Condition> {
    let map = context.map(value, "`when`")?;
    context.unknown_fields(map, &[WHEN], "`when`");
    let headers = map.get("header").map(|value| headers((value, "header"), context)).unwrap_or_default();
    let query = map.get("query").map(|value| query(value, context)).unwrap_or_default();
    if headers.is_empty() && query.is_empty() {
        let finding = Diagnostic::error("empty", map.place(), "this condition asks for nothing");
        let help = "name what a request must have, as in `when: { query: { format: pdf } }`";
        context.findings.push(finding.help(help));
        return None;
    }
    Some(Condition { headers, query })
}

fn query<'t>(value: Value<'t>, context: &mut Context<'t>) -> Vec<(String, Option<String>)> {
    let Some(map) = context.map(value, "`query`") else { return Vec::new() };
    let mut found = Vec::new();
    for entry in map.entries() {
        let name = entry.key;
        if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
            let message = format!("a query parameter has a name of 1 to {NAME_CHARS_MAX} characters");
            context.error("name", entry.key_at, message);
        } else if entry.value.is_null() {
            found.push((name.to_owned(), None));
        } else if let Some(text) = context.text(entry.value, name, PATH_CHARS_MAX) {
            found.push((name.to_owned(), Some(text.to_owned())));
        }
    }
    found
}
