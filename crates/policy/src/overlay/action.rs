//! One action of an overlay: which values it changes, and how. It changes a tree, never a text.

use super::json_path::{JsonPath, Selection};
use crate::document::diagnostic::Diagnostic;
use crate::document::read::NODES_MAX;
use crate::document::sources::Place;
use crate::document::tree::{Kind, NodeId, Text, Tree, Value};

/// An action.
pub(super) struct Action<'t> {
    target: JsonPath,
    place: Place,
    /// What is merged into each target; nothing if the targets are removed.
    update: Option<Value<'t>>,
}

/// The fields of an action.
const FIELDS: &[&str] = &["target", "description", "update", "remove"];

impl<'t> Action<'t> {
    pub(super) fn read(map: Value<'t>) -> Result<Self, Box<Diagnostic>> {
        let wrong = |code, place, message: String, help: String| {
            Err(Box::new(Diagnostic::error(code, place, message).help(help)))
        };
        let unknown = |key: &str| !FIELDS.contains(&key) && !key.starts_with("x-");
        if let Some(entry) = map.entries().find(|entry| unknown(entry.key)) {
            let message = format!("an action has no field `{}`", tollgate_http::text::shown(entry.key));
            return wrong(
                "unknown-field",
                entry.key_at,
                message,
                format!("its fields are {}", FIELDS.join(", ")),
            );
        }
        let Some((target, text)) = map.get("target").and_then(|target| Some((target, target.text()?))) else {
            let message = "this action has no `target`".to_owned();
            return wrong(
                "missing-field",
                map.place(),
                message,
                "write a JSONPath, such as `target: $`".into(),
            );
        };
        let place = target.place();
        let target = match JsonPath::parse(text) {
            Ok(path) => path,
            Err(why) => {
                let message = format!("`{}` is no JSONPath that is read", tollgate_http::text::shown(text));
                return wrong("overlay-target", place, message, why);
            }
        };
        match (map.get("update"), map.get("remove").is_some_and(Value::is_true)) {
            (_, true) => Ok(Self { target, place, update: None }),
            (Some(update), false) => Ok(Self { target, place, update: Some(update) }),
            (None, false) => {
                let message = "this action changes nothing".to_owned();
                wrong("missing-field", map.place(), message, "write `update`, or `remove: true`".into())
            }
        }
    }

    /// Changes every target; says how many there are.
    pub(super) fn apply(&self, tree: &mut Tree, overlay: &Tree) -> Result<usize, Box<Diagnostic>> {
        let mut targets = self.target.select(tree);
        let count = targets.len();
        if let Some(aliased) = targets.iter().find(|target| target.by_alias) {
            let message = "an alias refers to this target, so that it also occurs elsewhere";
            let finding = Diagnostic::error("overlay-alias", self.place, message);
            let also = Value { tree, id: aliased.id }.place();
            return Err(Box::new(
                finding.also(also, "here it is reached").help("write it out in the document"),
            ));
        }
        // From behind, so that the places of those before stay what they are.
        targets.sort_by_key(|target| std::cmp::Reverse(target.parent));
        for target in targets {
            match self.update {
                None => remove(tree, target, self.place)?,
                Some(update) => self.merge(tree, target.id, (overlay, update.id))?,
            }
        }
        Ok(count)
    }

    /// That none of the documents has its target.
    pub(super) fn without_target(&self) -> Diagnostic {
        let message = "no document has this target, so that the action changes nothing";
        if self.update.is_none() {
            return Diagnostic::warning("idle-action", self.place, message);
        }
        let help = "put a key with characters other than letters, digits, `_` and `-` in quotes: `$.paths['/a'].get`";
        Diagnostic::error("overlay-target", self.place, message).help(help)
    }

    /// Merges a value of the overlay into one of the tree: maps key by key; a list gets one more item, or all of another list; of
    /// everything else the overlay's counts.
    fn merge(
        &self,
        tree: &mut Tree,
        into: NodeId,
        (overlay, from): (&Tree, NodeId),
    ) -> Result<(), Box<Diagnostic>> {
        let value = Value { tree: overlay, id: from };
        let old = Value { tree, id: into };
        if old.is_map() && value.is_map() {
            let mut entries: Vec<(NodeId, NodeId)> = tree.pairs(into).to_vec();
            for (key, new) in overlay.pairs(overlay.resolved(from).0) {
                let name = Value { tree: overlay, id: *key }.text();
                let known = entries.iter().position(|(known, _)| Value { tree, id: *known }.text() == name);
                let Some((_, child)) = known.and_then(|at| entries.get_mut(at)) else {
                    entries.push((self.copy(tree, overlay, *key)?, self.copy(tree, overlay, *new)?));
                    continue;
                };
                if is_merged(Value { tree, id: *child }, Value { tree: overlay, id: *new }) {
                    self.merge(tree, *child, (overlay, *new))?;
                } else {
                    *child = self.copy(tree, overlay, *new)?;
                }
            }
            tree.set_pairs(into, &entries);
            return Ok(());
        }
        if old.is_list() {
            let mut items: Vec<NodeId> = old.items().map(|item| item.id).collect();
            let more: Vec<_> =
                if value.is_list() { value.items().map(|item| item.id).collect() } else { vec![from] };
            for item in more {
                items.push(self.copy(tree, overlay, item)?);
            }
            tree.set_items(into, &items);
            return Ok(());
        }
        let message = format!("{} cannot be merged into {}", value.what(), old.what());
        let finding = Diagnostic::error("overlay-target", self.place, message);
        Err(Box::new(finding.help("the target of an update is a map or a list")))
    }

    /// A value of the overlay as one of the tree. Documents are at most [`DEPTH_MAX`](crate::DEPTH_MAX) deep, so this ends.
    fn copy(&self, tree: &mut Tree, overlay: &Tree, from: NodeId) -> Result<NodeId, Box<Diagnostic>> {
        if tree.nodes.len() >= NODES_MAX {
            let message = format!("with this overlay, the document has more than {NODES_MAX} values");
            return Err(Box::new(Diagnostic::error("too-large", self.place, message)));
        }
        let (from, _) = overlay.resolved(from);
        let Some(node) = overlay.nodes.get(from.0 as usize) else { return Ok(tree.root) };
        let id = tree.next_id();
        let mut copy = node.clone();
        if let Kind::Scalar { text, .. } = &mut copy.kind {
            let own = u32::try_from(tree.texts.len()).unwrap_or(u32::MAX);
            tree.texts.push(overlay.text(node).unwrap_or("").into());
            *text = Text::Own(own);
        }
        tree.nodes.push(copy);
        match &node.kind {
            Kind::Map { .. } => {
                let mut pairs = Vec::new();
                for (key, value) in overlay.pairs(from) {
                    pairs.push((self.copy(tree, overlay, *key)?, self.copy(tree, overlay, *value)?));
                }
                tree.set_pairs(id, &pairs);
            }
            Kind::List { .. } => {
                let mut items = Vec::new();
                for item in (Value { tree: overlay, id: from }).items() {
                    items.push(self.copy(tree, overlay, item.id)?);
                }
                tree.set_items(id, &items);
            }
            Kind::Scalar { .. } | Kind::Alias(_) => {}
        }
        Ok(id)
    }
}

/// Whether two values become one, and the second does not simply take the place of the first.
fn is_merged(old: Value<'_>, new: Value<'_>) -> bool {
    !old.is_alias() && ((old.is_map() && new.is_map()) || (old.is_list() && new.is_list()))
}

/// Takes a value out of the list or map that it stands in.
fn remove(tree: &mut Tree, target: Selection, place: Place) -> Result<(), Box<Diagnostic>> {
    let Some((parent, position)) = target.parent else {
        return Err(Box::new(Diagnostic::error(
            "overlay-target",
            place,
            "the whole document cannot be removed",
        )));
    };
    if (Value { tree, id: parent }).is_map() {
        let mut pairs = tree.pairs(parent).to_vec();
        pairs.retain(|(_, value)| *value != target.id);
        tree.set_pairs(parent, &pairs);
    } else {
        let mut items: Vec<NodeId> = Value { tree, id: parent }.items().map(|item| item.id).collect();
        let position = position as usize;
        if items.get(position) == Some(&target.id) {
            items.remove(position);
        }
        tree.set_items(parent, &items);
    }
    Ok(())
}
