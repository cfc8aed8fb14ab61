//! A document as a tree of scalars, lists and maps, each with its place. It is read by `read.rs`; it has no meaning yet.

use std::sync::Arc;

use super::sources::{FileId, Place, Source};

/// A node of one tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NodeId(pub(crate) u32);

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A text, a number, a word: YAML does not know which, its reader does. `plain` if it stands without quotes.
    Scalar { text: Text, plain: bool },
    /// Which of the tree's items are in the list.
    List { first: u32, count: u32 },
    /// Which of the tree's entries are in the map.
    Map { first: u32, count: u32 },
    /// Stands for another node, which ended before this one began: so trees have no cycles, and are never unfolded.
    Alias(NodeId),
}

/// A scalar's text: nearly always as it stands in the document.
#[derive(Clone, Debug)]
pub(crate) enum Text {
    In { start: u32, end: u32 },
    Own(Box<str>),
}

/// A node and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether a list or map is written in brackets, as in JSON.
    pub(crate) flow: bool,
}

/// A whole document.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) file: FileId,
    pub(crate) source: Arc<Source>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) items: Vec<NodeId>,
    pub(crate) entries: Vec<(NodeId, NodeId)>,
    pub(crate) root: NodeId,
}

/// A node of a tree, to be looked at. Aliases are followed.
#[derive(Clone, Copy, Debug)]
pub struct Value<'t> {
    pub(crate) tree: &'t Tree,
    pub(crate) id: NodeId,
}

/// An entry of a map.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'t> {
    /// Its key; empty if that is no scalar.
    pub key: &'t str,
    /// Where the key stands.
    pub key_at: Place,
    /// Its value.
    pub value: Value<'t>,
}

impl Tree {
    /// The text of a scalar.
    pub(crate) fn text<'t>(&'t self, text: &'t Text) -> &'t str {
        match text {
            Text::In { start, end } => self.source.text().get(*start as usize..*end as usize).unwrap_or(""),
            Text::Own(text) => text,
        }
    }

    /// The whole document.
    pub(crate) const fn value(&self) -> Value<'_> {
        Value { tree: self, id: self.root }
    }
}

impl<'t> Value<'t> {
    /// The node, after aliases; a node that is not there is an empty map, which nobody can make.
    fn node(self) -> Option<&'t Node> {
        let mut id = self.id;
        loop {
            let node = self.tree.nodes.get(id.0 as usize)?;
            match node.kind {
                // An alias stands for an earlier node, so this ends.
                Kind::Alias(other) if other.0 < id.0 => id = other,
                Kind::Alias(_) => return None,
                Kind::Scalar { .. } | Kind::List { .. } | Kind::Map { .. } => return Some(node),
            }
        }
    }

    /// Where it stands: for an alias, where the alias stands.
    #[must_use]
    pub fn place(self) -> Place {
        let (start, end) =
            self.tree.nodes.get(self.id.0 as usize).map_or((0, 0), |node| (node.start, node.end));
        Place { file: self.tree.file, start, end }
    }

    /// Where it was written: for an alias, what it stands for.
    #[must_use]
    pub fn defined(self) -> Place {
        let (start, end) = self.node().map_or((0, 0), |node| (node.start, node.end));
        Place { file: self.tree.file, start, end }
    }

    /// The text of a scalar.
    #[must_use]
    pub fn text(self) -> Option<&'t str> {
        match &self.node()?.kind {
            Kind::Scalar { text, .. } => Some(self.tree.text(text)),
            Kind::List { .. } | Kind::Map { .. } | Kind::Alias(_) => None,
        }
    }

    /// Whether it is a scalar without quotes: only such a one is a number, true, false or nothing.
    #[must_use]
    pub fn is_plain(self) -> bool {
        self.node().is_some_and(|node| matches!(node.kind, Kind::Scalar { plain: true, .. }))
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.is_plain() && matches!(self.text(), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// Whether it is a map.
    #[must_use]
    pub fn is_map(self) -> bool {
        self.node().is_some_and(|node| matches!(node.kind, Kind::Map { .. }))
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_list(self) -> bool {
        self.node().is_some_and(|node| matches!(node.kind, Kind::List { .. }))
    }

    /// Whether it is written in brackets.
    pub(crate) fn is_flow(self) -> bool {
        self.node().is_some_and(|node| node.flow)
    }

    /// What is in the list; nothing if it is none.
    pub fn items(self) -> impl Iterator<Item = Self> + use<'t> {
        let range = match self.node().map(|node| &node.kind) {
            Some(Kind::List { first, count }) => *first as usize..first.saturating_add(*count) as usize,
            _ => 0..0,
        };
        self.tree.items.get(range).unwrap_or(&[]).iter().map(move |id| Self { tree: self.tree, id: *id })
    }

    /// What is in the map; nothing if it is none.
    pub fn entries(self) -> impl Iterator<Item = Entry<'t>> + use<'t> {
        let range = match self.node().map(|node| &node.kind) {
            Some(Kind::Map { first, count }) => *first as usize..first.saturating_add(*count) as usize,
            _ => 0..0,
        };
        self.tree.entries.get(range).unwrap_or(&[]).iter().map(move |(key, value)| {
            let key = Self { tree: self.tree, id: *key };
            let value = Self { tree: self.tree, id: *value };
            Entry { key: key.text().unwrap_or(""), key_at: key.place(), value }
        })
    }

    /// The entry with this key.
    #[must_use]
    pub fn entry(self, key: &str) -> Option<Entry<'t>> {
        self.entries().find(|entry| entry.key == key)
    }

    /// The value under this key.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.entry(key).map(|entry| entry.value)
    }

    /// What it is, in a word, for messages.
    pub(crate) fn what(self) -> &'static str {
        if self.is_map() {
            "a map"
        } else if self.is_list() {
            "a list"
        } else if self.is_null() {
            "nothing"
        } else if self.is_plain() {
            "a word or number"
        } else {
            "a text in quotes"
        }
    }
}
