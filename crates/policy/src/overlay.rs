//! OpenAPI Overlays: a document that changes another one before it is read. The other one's tree is changed, and keeps its places.

mod action;
mod json_path;

use std::collections::HashSet;

use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::FileId;
use crate::document::tree::{Tree, Value};
use crate::parse::context::{Trees, beside};
use action::Action;

/// Whether a tree is an overlay.
pub(crate) fn is_overlay(root: Value<'_>) -> bool {
    root.get("overlay").is_some() && root.get("openapi").is_none() && root.get("tollgate").is_none()
}

/// The document that an overlay says it extends, by its name.
pub(crate) fn extended(tree: &Tree, trees: &Trees) -> Option<String> {
    let named = tree.value().get("extends").and_then(Value::text)?;
    let here = trees.sources.get(tree.file).map_or("", |source| source.name());
    Some(beside(here, named))
}

/// Applies the overlay of one file to documents. What none of them has is pointed at, unless one of them could not be read.
pub(crate) fn apply(overlay: FileId, documents: &[FileId], trees: &mut Trees, findings: &mut Findings) {
    let Some(tree) = trees.trees.remove(&overlay) else { return };
    let mut matched = HashSet::new();
    let actions = actions(&tree, findings);
    let complete = documents.iter().all(|document| trees.trees.contains_key(document));
    for document in documents {
        let Some(target) = trees.trees.get_mut(document) else { continue };
        target.grafts.push((target.next_id(), overlay));
        for (at, action) in actions.iter().enumerate() {
            match action.apply(target, &tree) {
                Ok(0) => {}
                Ok(_) => {
                    matched.insert(at);
                }
                Err(finding) => {
                    matched.insert(at);
                    findings.push(*finding);
                }
            }
        }
    }
    for (_, action) in actions.iter().enumerate().filter(|(at, _)| complete && !matched.contains(at)) {
        findings.push(action.without_target());
    }
    trees.trees.insert(overlay, tree);
}

/// Reads an overlay's actions.
fn actions<'t>(tree: &'t Tree, findings: &mut Findings) -> Vec<Action<'t>> {
    let root = tree.value();
    let version = root.get("overlay").and_then(Value::text).unwrap_or("");
    if !version.starts_with("1.0.") && !version.starts_with("1.1.") {
        let place = root.get("overlay").map_or(root.place(), Value::place);
        let message =
            format!("Overlay `{}` is not a version that is read", tollgate_http::text::shown(version));
        findings.push(Diagnostic::error("version", place, message).help("write `overlay: 1.0.0`"));
        return Vec::new();
    }
    for entry in root.entries().filter(|entry| !FIELDS.contains(&entry.key) && !entry.key.starts_with("x-")) {
        let message = format!("an overlay has no field `{}`", tollgate_http::text::shown(entry.key));
        let finding = Diagnostic::error("unknown-field", entry.key_at, message);
        findings.push(finding.help(format!("its fields are {}", FIELDS.join(", "))));
    }
    let Some(list) = root.get("actions").filter(|list| list.is_list()) else {
        let finding =
            Diagnostic::error("missing-field", root.place(), "this overlay has no list of `actions`");
        findings.push(finding.help("write `actions:`, and below it what to change: `- target: $`"));
        return Vec::new();
    };
    list.items()
        .filter_map(|item| Action::read(item).map_err(|finding| findings.push(*finding)).ok())
        .collect()
}

/// The fields of an overlay.
const FIELDS: &[&str] = &["overlay", "info", "extends", "actions"];
