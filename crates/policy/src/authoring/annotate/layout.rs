//! How a document is laid out around a node: lines, indentation, where a value ends. What is inserted is not known here.

use crate::document::tree::{Entry, Kind, Node, Tree, Value};

/// How deep a block stands in another, where nothing in the document shows it.
const UNIT: &str = "  ";

/// A document's text, to be asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'t> {
    pub(super) tree: &'t Tree,
    pub(super) text: &'t str,
    /// The line break of the document, found once: minified JSON is searched to its end for it.
    pub(super) newline: &'static str,
}

impl<'t> Layout<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        let text = tree.source.text();
        let windows =
            text.find('\n').is_some_and(|at| text.get(..at).is_some_and(|line| line.ends_with('\r')));
        Self { tree, text, newline: if windows { "\r\n" } else { "\n" } }
    }

    /// The node itself, aliases not followed.
    pub(super) fn raw(self, value: Value<'t>) -> Option<&'t Node> {
        self.tree.nodes.get(value.id.0 as usize)
    }

    pub(super) fn is_alias(self, value: Value<'t>) -> bool {
        self.raw(value).is_some_and(|node| matches!(node.kind, Kind::Alias(_)))
    }

    /// What an alias stands for; any other value is itself.
    pub(super) fn target(self, value: Value<'t>) -> Value<'t> {
        let mut at = value;
        while let Some(Kind::Alias(id)) = self.raw(at).map(|node| &node.kind) {
            // An alias stands for an earlier node, so this ends.
            if id.0 >= at.id.0 {
                break;
            }
            at.id = *id;
        }
        at
    }

    /// Whether nothing at all is written there, not even `null`.
    pub(super) fn is_blank(self, value: Value<'t>) -> bool {
        value.is_null() && self.raw(value).is_some_and(|node| node.start == node.end)
    }

    pub(super) fn slice(self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or("")
    }

    /// The white space before a byte, if nothing else stands before it on its line. A byte order mark is nothing.
    pub(super) fn indent(self, at: u32) -> Option<&'t str> {
        let before = self.slice(0, at as usize);
        // Only the white space is looked at: a line of minified JSON may be the whole document.
        let rest = before.trim_end_matches([' ', '\t']);
        let begins = rest.is_empty() || rest.ends_with('\n') || rest == "\u{feff}";
        begins.then(|| before.get(rest.len()..).unwrap_or(""))
    }

    /// Where the line of a byte ends, before its line break.
    pub(super) fn line_end(self, at: usize) -> usize {
        let rest = self.slice(at, self.text.len());
        let line = rest.split('\n').next().unwrap_or("");
        at.saturating_add(line.strip_suffix('\r').unwrap_or(line).len())
    }

    /// After which byte something can be added below a value in a block: the end of its last line.
    pub(super) fn block_end(self, value: Value<'t>) -> usize {
        let mut at = value;
        // Down the last children, to the one that ends last.
        loop {
            let Some(node) = self.raw(at) else { return self.text.len() };
            let last = match node.kind {
                Kind::Map { .. } if !node.is_flow() => at.entries().last().map(|entry| entry.value),
                Kind::List { .. } if !node.is_flow() => at.items().last(),
                Kind::Scalar { .. } => return self.scalar_end(at, node),
                Kind::Map { .. } | Kind::List { .. } | Kind::Alias(_) => None,
            };
            match last {
                Some(last) => at = last,
                None => return self.line_end(node.end as usize),
            }
        }
    }

    /// From the end of a line, past the comments below it that belong to a map whose keys stand so deep.
    pub(super) fn past_comments(self, end: usize, depth: usize) -> usize {
        let (mut past, mut at) = (end, end);
        for line in self.slice(end, self.text.len()).split_inclusive('\n') {
            let text = line.trim();
            let deep = line.len().saturating_sub(line.trim_start_matches(' ').len()) >= depth;
            let first = at == end;
            at = at.saturating_add(line.len());
            if !first && text.starts_with('#') && deep {
                let length = line.trim_end_matches(['\r', '\n']).len();
                past = at.saturating_sub(line.len()).saturating_add(length);
            } else if !text.is_empty() {
                break;
            }
        }
        past
    }

    /// A block scalar's place goes on through the empty lines after it, and some of them may belong to its text.
    fn scalar_end(self, value: Value<'t>, node: &Node) -> usize {
        let (start, end) = (node.start as usize, node.end as usize);
        let covered = self.slice(start, end);
        let text = value.text().unwrap_or("");
        let kept = text.strip_suffix('\n').unwrap_or(text).ends_with(char::is_whitespace) || text == "\n";
        if kept && !value.is_plain() && covered.ends_with(char::is_whitespace) {
            let last = covered.rfind('\n').unwrap_or(covered.len());
            let line = covered.get(..last).unwrap_or("");
            return start.saturating_add(line.strip_suffix('\r').unwrap_or(line).len());
        }
        self.line_end(start.saturating_add(covered.trim_end().len()))
    }

    /// After which byte a comma can follow an entry of a flow map.
    pub(super) fn flow_end(self, entry: &Entry<'t>) -> usize {
        let Some(node) = self.raw(entry.value) else { return self.text.len() };
        if node.start < node.end {
            return node.end as usize;
        }
        // Nothing is written there, and the place is before the colon.
        let end = node.end as usize;
        let rest = self.slice(end, self.text.len());
        let after = rest.trim_start();
        if after.starts_with(':') {
            end.saturating_add(rest.len() - after.len()).saturating_add(1)
        } else {
            end
        }
    }

    /// How much deeper the blocks stand that are in this map.
    pub(super) fn step(self, map: Value<'t>) -> Option<String> {
        map.entries().find_map(|entry| {
            let inner = self.raw(entry.value).filter(|node| !node.is_flow())?;
            let first = matches!(inner.kind, Kind::Map { .. }).then(|| entry.value.entries().next())??;
            let (outer, inner) = (self.indent(entry.key_at.start)?, self.indent(first.key_at.start)?);
            inner.strip_prefix(outer).filter(|step| !step.is_empty()).map(Into::into)
        })
    }

    /// How much deeper things stand in the whole document.
    pub(super) fn unit(self) -> String {
        let root = self.tree.value();
        let pretty = || {
            let first = root.entries().next()?;
            self.indent(first.key_at.start).filter(|indent| root.is_flow() && !indent.is_empty())
        };
        self.step(root).unwrap_or_else(|| pretty().unwrap_or(UNIT).into())
    }
}
