//! Points at every `x-rate-limit` that stands where nobody reads it: silence would be "not limited".

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::tree::{Entry, Tree, Value};
use crate::overlay;
use crate::parse::context::Context;
use crate::parse::openapi::EXTENSION;

/// Maps whose keys are names that somebody has chosen: a header or a property may be called `x-rate-limit`.
const NAMES: &[&str] = &[
    "headers",
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependentRequired",
    "$defs",
    "definitions",
    "mapping",
    "encoding",
    "scopes",
    "variables",
];
/// The same below `components`.
const COMPONENTS: &[&str] = &[
    "schemas",
    "responses",
    "parameters",
    "examples",
    "requestBodies",
    "securitySchemes",
    "links",
    "callbacks",
    "pathItems",
    "mediaTypes",
];
/// What is data, and says nothing to anybody.
const DATA: &[&str] = &["example", "examples", "default", "enum", "const", "value", "dataValue"];

/// Looks through a document, and through what was referred to in other files.
pub(crate) fn find<'t>(root: Value<'t>, context: &mut Context<'t>) {
    let mut stray: Vec<Place> = Vec::new();
    let mut files: Vec<_> = context.reached.iter().map(|place| place.file).chain([root.tree.file]).collect();
    files.sort_unstable();
    files.dedup();
    for tree in files.iter().filter_map(|file| context.trees.trees.get(file)) {
        let unread = |key: Value<'t>, value: Value<'t>| {
            key.text() == Some(EXTENSION) && !context.used.contains(&(tree.file, value.id))
        };
        let mut pairs =
            tree.entries.iter().map(|(key, value)| (Value { tree, id: *key }, Value { tree, id: *value }));
        // The walk takes time, and nearly no document needs it. What an overlay was written for is read where it was merged.
        if overlay::is_overlay(tree.value()) || !pairs.any(|(key, value)| unread(key, value)) {
            continue;
        }
        stray.extend(fields(tree).into_iter().filter_map(|entry| {
            let at = entry.key_at;
            let within =
                |place: &Place| place.file == at.file && place.start <= at.start && at.end <= place.end;
            let is_ours = tree.file == root.tree.file || context.reached.iter().any(within);
            let is_read = context.used.contains(&(tree.file, entry.value.id));
            (is_ours && !is_read).then_some(at)
        }));
    }
    for place in stray {
        let finding = Diagnostic::error("no-effect", place, "`x-rate-limit` has no effect here");
        let help = "it is read at the root, on a tag, on a path and on an operation";
        context.findings.push(finding.help(help));
    }
}

/// What the keys of a map are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MapKeys {
    /// Fields of the format.
    Fields,
    /// Fields of `components`.
    Components,
    /// Names that somebody has chosen.
    Names,
    /// Data.
    Data,
}

/// Every entry `x-rate-limit` of a tree that is a field, and neither the name of something nor a part of data.
fn fields(tree: &Tree) -> Vec<Entry<'_>> {
    let mut found = Vec::new();
    let mut left = vec![(tree.value(), MapKeys::Fields)];
    while let Some((value, keys)) = left.pop() {
        // What an alias stands for is looked at where it stands.
        left.extend(value.items().filter(|item| !item.is_alias()).map(|item| (item, keys)));
        for entry in value.entries() {
            if entry.key == EXTENSION && matches!(keys, MapKeys::Fields | MapKeys::Components) {
                found.push(entry);
            }
            if !entry.value.is_alias() {
                left.push((entry.value, below(keys, entry.key)));
            }
        }
    }
    found
}

/// What the keys are below a key.
fn below(keys: MapKeys, key: &str) -> MapKeys {
    match keys {
        MapKeys::Data => MapKeys::Data,
        // What has a name consists of fields again.
        MapKeys::Names => MapKeys::Fields,
        MapKeys::Components if COMPONENTS.contains(&key) => MapKeys::Names,
        MapKeys::Fields | MapKeys::Components if NAMES.contains(&key) => MapKeys::Names,
        MapKeys::Fields | MapKeys::Components if DATA.contains(&key) => MapKeys::Data,
        MapKeys::Fields if key == "components" => MapKeys::Components,
        MapKeys::Fields | MapKeys::Components => MapKeys::Fields,
    }
}
