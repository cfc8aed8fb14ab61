//! Plans an annotation: which operations get the response, which cannot, and what `components` lacks. `insert` writes it.

use std::collections::{HashMap, HashSet};

use tollgate_algorithms::Mode;

use super::contents::{PROBLEM, RESPONSE, RESPONSE_REF, problem, reference, response};
use super::insert::{Edit, InsertionPoint};
use super::layout::Layout;
use super::piece::Piece;
use super::{Inserted, Skipped};
use crate::compile::inherit::Operation;
use crate::document::sources::Place;
use crate::document::tree::{Entry, Kind, NodeId, Tree, Value};
use crate::policy::Policy;

/// The planned insertions.
#[derive(Debug, Default)]
pub(super) struct InsertionPlan {
    pub(super) inserted: Vec<Inserted>,
    pub(super) operations: Vec<String>,
    pub(super) skipped: Vec<Skipped>,
}

/// Why the document cannot be annotated.
#[derive(Debug)]
pub(super) struct CannotAnnotate {
    pub(super) place: Place,
    pub(super) why: String,
}

/// An operation of the document.
#[derive(Clone, Copy, Debug)]
struct DocumentOperation<'t> {
    /// The path item that contains it.
    item: Value<'t>,
    entry: Entry<'t>,
    /// Whether it is reached without a YAML alias.
    direct: bool,
    limited: bool,
}

impl<'t> DocumentOperation<'t> {
    fn responses(&self) -> Option<Entry<'t>> {
        self.entry.value.entry("responses")
    }

    /// The map that an insertion would change.
    fn changed(&self, layout: Layout<'t>) -> NodeId {
        let responses = self.responses().map(|entry| layout.target(entry.value));
        responses.filter(|value| value.is_map()).unwrap_or_else(|| layout.target(self.entry.value)).id
    }

    fn own(&self) -> Option<Value<'t>> {
        self.responses()?.value.get("429")
    }
}

/// Plans the insertions for a document.
pub(super) fn plan(policy: &Policy, tree: &Tree) -> Result<InsertionPlan, CannotAnnotate> {
    let layout = Layout::new(tree);
    let (mut planned, mut edits) = (InsertionPlan::default(), Vec::new());
    let all = find(policy, layout, &mut planned);
    let unlimited: HashSet<_> =
        all.iter().filter(|(_, found)| !found.limited).map(|(_, found)| found.changed(layout)).collect();
    let mut changed = HashSet::new();
    let mut refers = false;
    for (operation, found) in &all {
        let named = found.own().and_then(|own| own.get("$ref")).and_then(Value::text);
        refers |= named == Some(RESPONSE_REF);
        if !found.limited
            || found.own().is_some()
            || !found.direct
            || changed.contains(&found.changed(layout))
        {
            continue;
        }
        let edit = if unlimited.contains(&found.changed(layout)) {
            Err("a YAML anchor shares it with an operation that has no limit: write its `responses` out"
                .into())
        } else {
            insert(layout, found)
        };
        match edit {
            Ok(edit) => {
                changed.insert(found.changed(layout));
                edits.push(edit);
                planned.operations.push(operation.name());
            }
            Err(why) => planned.skipped.push(skipped(operation, why)),
        }
    }
    let through_alias =
        |found: &DocumentOperation<'_>| found.limited && !found.direct && found.own().is_none();
    for (operation, found) in all.iter().filter(|(_, found)| through_alias(found)) {
        // An alias repeats its anchor, which may have received the response.
        if !changed.contains(&found.changed(layout)) {
            planned.skipped.push(skipped(operation, "it is a YAML alias: write the operation out".into()));
        }
    }
    if refers || !edits.is_empty() {
        components(layout, &mut edits)?;
    }
    edits.sort_by_key(|edit: &Edit| (edit.at, std::cmp::Reverse(edit.depth)));
    let at = |edit: &Edit| u32::try_from(edit.at).unwrap_or(u32::MAX);
    planned.inserted = edits.into_iter().map(|edit| Inserted { at: at(&edit), text: edit.text }).collect();
    Ok(planned)
}

fn skipped(operation: &Operation, why: String) -> Skipped {
    Skipped { operation: operation.name(), place: operation.place, why }
}

/// The policy's operations whose paths stand in this document; those that are written in another file are skipped.
fn find<'p, 't>(
    policy: &'p Policy,
    layout: Layout<'t>,
    planned: &mut InsertionPlan,
) -> Vec<(&'p Operation, DocumentOperation<'t>)> {
    let tree = layout.tree;
    let paths = tree.value().get("paths");
    let items: HashMap<u32, Value<'t>> =
        paths.into_iter().flat_map(Value::entries).map(|path| (path.key_at.start, path.value)).collect();
    let written = written(policy, tree);
    let mut all = Vec::new();
    for operation in policy.operations().iter().filter(|operation| operation.template_at.file == tree.file) {
        let limited = is_limited(policy, operation);
        if operation.place.file != tree.file {
            if limited {
                let name = policy.sources().get(operation.place.file).map_or("", |source| source.name());
                let why =
                    format!("it is defined in {}: add the response there", tollgate_http::text::shown(name));
                planned.skipped.push(skipped(operation, why));
            }
            continue;
        }
        let Some((item, entry)) = written.get(&operation.place.start).copied() else { continue };
        let path = items.get(&operation.template_at.start);
        let direct = !path.is_some_and(|path| layout.is_alias(*path))
            && !paths.is_some_and(|paths| layout.is_alias(paths))
            && !layout.is_alias(entry.value);
        all.push((operation, DocumentOperation { item, entry, direct, limited }));
    }
    all
}

fn is_limited(policy: &Policy, operation: &Operation) -> bool {
    let limits = operation.limits.iter().filter_map(|id| policy.limits().get(id.index()));
    limits.into_iter().any(|limit| limit.mode == Mode::Enforced)
}

/// Every operation of the document, by the offset of its key, with the enclosing map.
fn written<'t>(policy: &Policy, tree: &'t Tree) -> HashMap<u32, (Value<'t>, Entry<'t>)> {
    let mut found = HashMap::new();
    let here = policy.operations().iter().map(|operation| operation.place);
    let starts: HashSet<u32> =
        here.filter(|place| place.file == tree.file).map(|place| place.start).collect();
    for (id, node) in (0_u32..).zip(&tree.nodes) {
        if !matches!(node.kind, Kind::Map { .. }) {
            continue;
        }
        let map = Value { tree, id: NodeId(id) };
        for entry in map.entries().filter(|entry| starts.contains(&entry.key_at.start)) {
            found.insert(entry.key_at.start, (map, entry));
        }
    }
    found
}

/// The response for one operation.
fn insert<'t>(layout: Layout<'t>, found: &DocumentOperation<'t>) -> Result<Edit, String> {
    let item = InsertionPoint { layout, holder: None, map: found.item, short: true };
    let operation = item.below(found.entry);
    let Some(entry) = found.responses() else {
        let responses = ("responses", Piece::Map(vec![("429", reference())]));
        let edit = InsertionPoint { short: false, ..operation }.add(&[responses]);
        return edit.map_err(|why| format!("it {why}"));
    };
    if entry.value.get("$ref").is_some() {
        return Err("its `responses` is a $ref: add the response to its target".into());
    }
    operation.below(entry).add(&[("429", reference())]).map_err(|why| format!("its `responses` {why}"))
}

/// Plans the missing entries of `components`.
fn components(layout: Layout<'_>, edits: &mut Vec<Edit>) -> Result<(), CannotAnnotate> {
    let root = InsertionPoint { layout, holder: None, map: layout.tree.value(), short: false };
    let parts = [("responses", RESPONSE, response as fn() -> Piece), ("schemas", PROBLEM, problem)];
    let whole =
        |part: &(&'static str, &'static str, fn() -> Piece)| (part.0, Piece::Map(vec![(part.1, part.2())]));
    let stop = |place, what: &str| {
        let what = format!("`{what}`");
        move |why| CannotAnnotate { place, why: format!("{what} {why}") }
    };
    let Some(entry) = root.map.entry("components") else {
        let all = parts.iter().map(whole).collect();
        let place = root.map.place();
        edits.push(root.add(&[("components", Piece::Map(all))]).map_err(stop(place, "the document"))?);
        return Ok(());
    };
    let spot = root.below(entry);
    let mut missing = Vec::new();
    for part in &parts {
        let Some(inner) = spot.map.entry(part.0) else {
            missing.push(whole(part));
            continue;
        };
        if inner.value.get(part.1).is_none() {
            let edit = spot.below(inner).add(&[(part.1, part.2())]);
            edits.push(edit.map_err(stop(inner.value.place(), &format!("components/{}", part.0)))?);
        }
    }
    if !missing.is_empty() {
        edits.push(spot.add(&missing).map_err(stop(entry.value.place(), "components"))?);
    }
    Ok(())
}
