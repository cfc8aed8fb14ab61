//! Finds the layout of a document around a node: lines, indentation, and where a value ends.

use crate::document::tree::{Entry, Kind, Node, Tree, Value};

/// Indentation per level if the document does not show one.
const UNIT: &str = "  ";

/// The layout of one document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout<'t> {
    pub(super) tree: &'t Tree,
    pub(super) text: &'t str,
    /// The document's line break. Cached, because finding it in minified JSON scans the whole text.
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

    /// Resolves an alias; returns any other value unchanged.
    pub(super) fn target(self, value: Value<'t>) -> Value<'t> {
        let mut at = value;
        while let Some(Kind::Alias(id)) = self.raw(at).map(|node| &node.kind) {
            // An alias always refers to an earlier node, so this terminates.
            if id.0 >= at.id.0 {
                break;
            }
            at.id = *id;
        }
        at
    }

    /// Returns true if the value is empty text, not even `null`.
    pub(super) fn is_blank(self, value: Value<'t>) -> bool {
        value.is_null() && self.raw(value).is_some_and(|node| node.start == node.end)
    }

    pub(super) fn slice(self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or("")
    }

    /// The white space before a byte, if nothing else precedes it on its line (except a byte order mark).
    pub(super) fn indent(self, at: u32) -> Option<&'t str> {
        let before = self.slice(0, at as usize);
        // Scan only the white space: a line of minified JSON may be the whole document.
        let rest = before.trim_end_matches([' ', '\t']);
        let begins = rest.is_empty() || rest.ends_with('\n') || rest == "\u{feff}";
        begins.then(|| before.get(rest.len()..).unwrap_or(""))
    }

    /// The end of the byte's line, before its line break.
    pub(super) fn line_end(self, at: usize) -> usize {
        let rest = self.slice(at, self.text.len());
        let line = rest.split('\n').next().unwrap_or("");
        at.saturating_add(line.strip_suffix('\r').unwrap_or(line).len())
    }

    /// The offset at which lines can be added below a block value: the end of its last line.
    pub(super) fn block_end(self, value: Value<'t>) -> usize {
        let mut at = value;
        // Descend into the last child until it has none.
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

    /// Skips the comments below a line that belong to a map with this indentation.
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

    /// The end of a scalar. A block scalar's range includes the empty lines after it, some of which may be part of its text.
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

    /// The offset at which a comma can follow an entry of a flow map.
    pub(super) fn flow_end(self, entry: &Entry<'t>) -> usize {
        let Some(node) = self.raw(entry.value) else { return self.text.len() };
        if node.start < node.end {
            return node.end as usize;
        }
        // The value is empty, and its offset is before the colon.
        let end = node.end as usize;
        let rest = self.slice(end, self.text.len());
        let after = rest.trim_start();
        if after.starts_with(':') {
            end.saturating_add(rest.len() - after.len()).saturating_add(1)
        } else {
            end
        }
    }

    /// The additional indentation of blocks nested in this map.
    pub(super) fn step(self, map: Value<'t>) -> Option<String> {
        map.entries().find_map(|entry| {
            let inner = self.raw(entry.value).filter(|node| !node.is_flow())?;
            let first = matches!(inner.kind, Kind::Map { .. }).then(|| entry.value.entries().next())??;
            let (outer, inner) = (self.indent(entry.key_at.start)?, self.indent(first.key_at.start)?);
            inner.strip_prefix(outer).filter(|step| !step.is_empty()).map(Into::into)
        })
    }

    /// The indentation step of the document.
    pub(super) fn unit(self) -> String {
        let root = self.tree.value();
        let pretty = || {
            let first = root.entries().next()?;
            self.indent(first.key_at.start).filter(|indent| root.is_flow() && !indent.is_empty())
        };
        self.step(root).unwrap_or_else(|| pretty().unwrap_or(UNIT).into())
    }
}
