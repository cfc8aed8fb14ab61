//! A document as a tree of scalars, lists and maps, each with its place. It is read by `read.rs`; it has no meaning yet.

use std::sync::Arc;

use super::sources::{FileId, Place, Source};

/// A node of one tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeId(pub(crate) u32);

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A text, a number, a word: YAML does not know which, its reader does. `plain` if it stands without quotes.
    Scalar { text: Text, plain: bool },
    /// Which of the tree's items are in the list, and whether it is written in brackets.
    List { first: u32, count: u32, flow: bool },
    /// Which of the tree's entries are in the map, and whether it is written in brackets, as in JSON.
    Map { first: u32, count: u32, flow: bool },
    /// Stands for another node, which ended before this one began: so trees have no cycles, and are never unfolded.
    Alias(NodeId),
}

/// A scalar's text: nearly always as it stands in the document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Text {
    /// From its first byte to its last.
    Whole,
    /// The same without the quotes around it.
    Quoted,
    /// Which of the tree's own texts.
    Own(u32),
}

/// A node and its place. A large document has millions, so it is kept small.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

const _: () = assert!(size_of::<Node>() == 20, "a document of 3 million values fits into 60 MB");

/// A whole document.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) file: FileId,
    pub(crate) source: Arc<Source>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) items: Vec<NodeId>,
    pub(crate) entries: Vec<(NodeId, NodeId)>,
    /// Texts that do not stand in the document as they are, because an escape had to be read.
    pub(crate) texts: Vec<Box<str>>,
    /// From which node on nodes come from another file: that of an overlay. In the order of the nodes.
    pub(crate) grafts: Vec<(NodeId, FileId)>,
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

impl Node {
    /// Whether it is a list or map in brackets, as in JSON.
    pub(crate) const fn is_flow(&self) -> bool {
        matches!(self.kind, Kind::List { flow: true, .. } | Kind::Map { flow: true, .. })
    }
}

impl Tree {
    /// The text of a scalar; nothing of a list or a map.
    pub(crate) fn text(&self, node: &Node) -> Option<&str> {
        let Kind::Scalar { text, .. } = &node.kind else { return None };
        let (start, end) = (node.start as usize, node.end as usize);
        let text = match text {
            Text::Whole => self.source.text().get(start..end),
            Text::Quoted => self.source.text().get(start.saturating_add(1)..end.saturating_sub(1)),
            Text::Own(own) => self.texts.get(*own as usize).map(AsRef::as_ref),
        };
        Some(text.unwrap_or(""))
    }

    /// The file that a node is written in.
    fn file_of(&self, id: NodeId) -> FileId {
        let after = self.grafts.partition_point(|(first, _)| *first <= id);
        let graft = after.checked_sub(1).and_then(|at| self.grafts.get(at));
        graft.map_or(self.file, |(_, file)| *file)
    }

    /// The id of the node that is added next.
    pub(crate) fn next_id(&self) -> NodeId {
        NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX))
    }

    /// A node after aliases, and whether there was one.
    pub(crate) fn resolved(&self, id: NodeId) -> (NodeId, bool) {
        let mut at = id;
        while let Some(Kind::Alias(other)) = self.nodes.get(at.0 as usize).map(|node| &node.kind) {
            // An alias stands for an earlier node, so this ends.
            if other.0 >= at.0 {
                break;
            }
            at = *other;
        }
        (at, at != id)
    }

    /// The keys and values of a map; nothing if it is none.
    pub(crate) fn pairs(&self, map: NodeId) -> &[(NodeId, NodeId)] {
        match self.nodes.get(map.0 as usize).map(|node| &node.kind) {
            Some(Kind::Map { first, count, .. }) => {
                self.entries.get(*first as usize..first.saturating_add(*count) as usize).unwrap_or(&[])
            }
            _ => &[],
        }
    }

    /// Gives a map other keys and values.
    pub(crate) fn set_pairs(&mut self, map: NodeId, pairs: &[(NodeId, NodeId)]) {
        let begins = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        if let Some(Kind::Map { first, count, .. }) =
            self.nodes.get_mut(map.0 as usize).map(|node| &mut node.kind)
        {
            (*first, *count) = (begins, u32::try_from(pairs.len()).unwrap_or(u32::MAX));
            self.entries.extend_from_slice(pairs);
        }
    }

    /// Gives a list other items.
    pub(crate) fn set_items(&mut self, list: NodeId, items: &[NodeId]) {
        let begins = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        if let Some(Kind::List { first, count, .. }) =
            self.nodes.get_mut(list.0 as usize).map(|node| &mut node.kind)
        {
            (*first, *count) = (begins, u32::try_from(items.len()).unwrap_or(u32::MAX));
            self.items.extend_from_slice(items);
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
        let node = self.tree.nodes.get(self.id.0 as usize)?;
        if !matches!(node.kind, Kind::Alias(_)) {
            return Some(node);
        }
        let node = self.tree.nodes.get(self.tree.resolved(self.id).0.0 as usize)?;
        Some(node).filter(|node| !matches!(node.kind, Kind::Alias(_)))
    }

    /// Where it stands: for an alias, where the alias stands.
    #[must_use]
    pub fn place(self) -> Place {
        let (start, end) =
            self.tree.nodes.get(self.id.0 as usize).map_or((0, 0), |node| (node.start, node.end));
        Place { file: self.tree.file_of(self.id), start, end }
    }

    /// Where it was written: for an alias, what it stands for.
    #[must_use]
    pub fn defined(self) -> Place {
        let (start, end) = self.node().map_or((0, 0), |node| (node.start, node.end));
        Place { file: self.tree.file_of(self.tree.resolved(self.id).0), start, end }
    }

    /// The text of a scalar.
    #[must_use]
    pub fn text(self) -> Option<&'t str> {
        self.tree.text(self.node()?)
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

    /// Whether it is the word `true`.
    pub(crate) fn is_true(self) -> bool {
        self.is_plain() && matches!(self.text(), Some("true" | "True" | "TRUE"))
    }

    /// Whether it stands for another node.
    pub(crate) fn is_alias(self) -> bool {
        self.tree.nodes.get(self.id.0 as usize).is_some_and(|node| matches!(node.kind, Kind::Alias(_)))
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
        self.node().is_some_and(Node::is_flow)
    }

    /// What is in the list; nothing if it is none.
    pub fn items(self) -> impl Iterator<Item = Self> + use<'t> {
        let range = match self.node().map(|node| &node.kind) {
            Some(Kind::List { first, count, .. }) => *first as usize..first.saturating_add(*count) as usize,
            _ => 0..0,
        };
        self.tree.items.get(range).unwrap_or(&[]).iter().map(move |id| Self { tree: self.tree, id: *id })
    }

    /// What is in the map; nothing if it is none.
    pub fn entries(self) -> impl Iterator<Item = Entry<'t>> + use<'t> {
        let range = match self.node().map(|node| &node.kind) {
            Some(Kind::Map { first, count, .. }) => *first as usize..first.saturating_add(*count) as usize,
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
