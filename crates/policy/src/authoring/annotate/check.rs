//! Checks after every annotation that it only added the intended text.

use super::contents::{PROBLEM, RESPONSE};
use crate::document::tree::{Kind, Value};

/// The keys that may be new.
const ADDED: &[&str] = &["429", "responses", "components", "schemas", RESPONSE, PROBLEM];

/// Returns true if `new` is `old` with added entries. Recursion is bounded by [`DEPTH_MAX`](crate::DEPTH_MAX).
pub(super) fn only_added(old: Value<'_>, new: Value<'_>) -> bool {
    match (kind(old), kind(new)) {
        // The target of an alias is compared at its own place.
        (Some(Kind::Alias(_)), Some(Kind::Alias(_))) => true,
        (Some(Kind::Scalar { plain, .. }), Some(Kind::Scalar { plain: new_plain, .. })) => {
            plain == new_plain && old.text() == new.text()
        }
        // An empty `responses:` became a map.
        (Some(Kind::Scalar { .. }), Some(Kind::Map { .. })) => {
            old.is_null() && new.entries().all(|entry| ADDED.contains(&entry.key))
        }
        (Some(Kind::List { .. }), Some(Kind::List { .. })) => {
            old.items().count() == new.items().count()
                && old.items().zip(new.items()).all(|(old, new)| only_added(old, new))
        }
        (Some(Kind::Map { .. }), Some(Kind::Map { .. })) => maps(old, new),
        _ => false,
    }
}

/// The kind of a node, without following aliases.
fn kind(value: Value<'_>) -> Option<&Kind> {
    value.tree.nodes.get(value.id.0 as usize).map(|node| &node.kind)
}

fn maps(old: Value<'_>, new: Value<'_>) -> bool {
    let mut before = old.entries().peekable();
    for entry in new.entries() {
        match before.next_if(|old| old.key == entry.key) {
            Some(old) if only_added(old.value, entry.value) => {}
            Some(_) => return false,
            None if ADDED.contains(&entry.key) => {}
            None => return false,
        }
    }
    before.next().is_none()
}
