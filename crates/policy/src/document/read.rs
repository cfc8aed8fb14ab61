//! YAML and JSON as a tree, within bounds of time and memory. YAML's grammar is `granit-parser`'s; what is written means nothing yet.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, Span, StructureStyle, Tag};

use super::diagnostic::{Diagnostic, Findings};
use super::json::{self, JsonError};
use super::sources::{FileId, Place, Source};
use super::syntax;
use super::tree::{Kind, Node, NodeId, Text, Tree};

/// The longest document. A longer one is refused before it is read.
pub const DOCUMENT_BYTES_MAX: usize = 96 << 20;
/// How deep lists and maps may stand in one another. A deeper document is refused.
pub const DEPTH_MAX: usize = 100;
/// How many scalars, lists and maps a document may have. A larger one is refused: it would need more than 200 MB.
pub const NODES_MAX: usize = 8_000_000;
/// Maps of up to so many keys are searched for repeated ones key by key, larger ones with a set.
const FEW_KEYS: usize = 12;

/// A list or map that has not ended.
struct OpenNode {
    node: NodeId,
    children: Vec<NodeId>,
    anchor: usize,
}

/// The state of a reader.
pub(super) struct Reader {
    file: FileId,
    tree: Tree,
    open: Vec<OpenNode>,
    /// Nodes by the number of their anchor; `None` while the node has not ended.
    anchors: HashMap<usize, Option<NodeId>>,
    documents: usize,
    root: Option<NodeId>,
    findings: Findings,
    reason: Reason,
}

/// Reads a document. What is found to be wrong with it is added to `findings`; a tree is there if its grammar is right.
pub(crate) fn read(file: FileId, source: &Arc<Source>, findings: &mut Findings) -> Option<Tree> {
    read_for(Reason::Use, file, source, findings)
}

/// The tree of a document whose secrets are looked for: nobody is told its mistakes, and what is repeated stays in it.
pub(crate) fn read_for_secrets(file: FileId, source: &Arc<Source>) -> Option<Tree> {
    read_for(Reason::Secrets, file, source, &mut Findings::default())
}

/// Why a document is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    Use,
    Secrets,
}

fn read_for(reason: Reason, file: FileId, source: &Arc<Source>, findings: &mut Findings) -> Option<Tree> {
    let text = source.text();
    let start = Place { file, start: 0, end: 0 };
    if text.len() > DOCUMENT_BYTES_MAX {
        let size = text.len();
        findings.push(
            Diagnostic::error("too-large", start, format!("the document has {size} bytes"))
                .help(format!("the most that is read is {DOCUMENT_BYTES_MAX}: split it with $ref")),
        );
        return None;
    }
    let mut reader = Reader::new(file, source, reason);
    let is_json = json::is_likely(text)
        && match json::read(&mut reader) {
            Ok(()) => true,
            Err(JsonError::Beyond(finding)) => {
                findings.append(reader.findings);
                findings.push(*finding);
                return None;
            }
            Err(JsonError::NotJson) => {
                // A map in brackets is YAML, too.
                reader = Reader::new(file, source, reason);
                false
            }
        };
    let failed = if is_json { None } else { yaml(text, &mut reader) };
    findings.append(std::mem::take(&mut reader.findings));
    if let Some(finding) = failed {
        findings.push(finding);
        return None;
    }
    let Some(root) = reader.root else {
        findings.push(Diagnostic::error("empty", start, "the document is empty"));
        return None;
    };
    reader.tree.root = root;
    Some(reader.tree)
}

/// Reads YAML into a reader that has read nothing yet. What it stopped at, if it did.
fn yaml(text: &str, reader: &mut Reader) -> Option<Diagnostic> {
    let mut options = Options::default();
    // Our own bound comes first, with a sentence of ours.
    options.flow_nesting_limit = DEPTH_MAX.saturating_mul(2);
    options.block_nesting_limit = DEPTH_MAX.saturating_mul(2);
    // JSON on one line has keys far from their colon.
    options.simple_key_max_lookahead = 64 * 1024;
    let mut parser = Parser::new_from_str_with_options(text.trim_start_matches('\u{feff}'), options);
    let shift = u32::from(text.starts_with('\u{feff}')).saturating_mul(3);
    loop {
        let (event, span) = match parser.next_event() {
            None | Some(Ok((Event::StreamEnd, _))) => return None,
            Some(Err(error)) => {
                let at = offset(error.marker().byte_offset()).saturating_add(shift);
                let place = Place { file: reader.file, start: at, end: at };
                if *error.kind() == ErrorKind::RecursionLimitExceeded {
                    return Some(syntax::too_deep(place));
                }
                let source = reader.source();
                let text = syntax::Text {
                    file: reader.file,
                    text: source.repeatable(),
                    open: reader.open_bracket(),
                };
                return Some(syntax::finding(&error, at, &text));
            }
            Some(Ok(next)) => next,
        };
        let at = reader.place(span, shift);
        if let Err(finding) = reader.take(event, at) {
            return Some(*finding);
        }
    }
}

fn offset(bytes: Option<usize>) -> u32 {
    bytes.and_then(|at| u32::try_from(at).ok()).unwrap_or(0)
}

pub(super) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl Reader {
    fn new(file: FileId, source: &Arc<Source>, reason: Reason) -> Self {
        let (nodes, items, entries, texts) = Default::default();
        let (source, grafts, root) = (Arc::clone(source), Vec::new(), NodeId(0));
        let tree = Tree { file, source, nodes, items, entries, texts, grafts, root };
        let (open, anchors, findings) = Default::default();
        Self { file, tree, open, anchors, documents: 0, root: None, findings, reason }
    }

    /// The file that it reads.
    pub(super) fn source(&self) -> Arc<Source> {
        Arc::clone(&self.tree.source)
    }

    /// The place from one byte to another.
    pub(super) fn at(&self, start: usize, end: usize) -> Place {
        Place { file: self.file, start: count(start), end: count(end) }
    }

    fn place(&self, span: Span, shift: u32) -> Place {
        let range = span.byte_range().unwrap_or(0..0);
        let at = |byte: usize| offset(Some(byte)).saturating_add(shift);
        Place { file: self.file, start: at(range.start), end: at(range.end) }
    }

    fn take(&mut self, event: Event<'_>, at: Place) -> Result<(), Box<Diagnostic>> {
        match event {
            Event::DocumentStart(..) => {
                self.documents = self.documents.saturating_add(1);
                if self.documents > 1 {
                    let finding = Diagnostic::error("documents", at, "a second document begins here");
                    return Err(Box::new(finding.help("keep one document in a file")));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let as_text = tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
                self.check_tag(tag.as_deref(), at);
                let plain = style == ScalarStyle::Plain && !as_text;
                if let Some(finding) = plain.then(|| self.comment(&text, at)).flatten() {
                    return Err(Box::new(finding));
                }
                let text = self.text(text, at);
                let node = self.node(Kind::Scalar { text, plain }, at)?;
                self.add(node, anchor);
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.check_tag(tag.as_deref(), at);
                self.begin(
                    Kind::List { first: 0, count: 0, flow: style == StructureStyle::Flow },
                    at,
                    anchor,
                )?;
            }
            Event::MappingStart(style, anchor, tag) => {
                self.check_tag(tag.as_deref(), at);
                self.begin(
                    Kind::Map { first: 0, count: 0, flow: style == StructureStyle::Flow },
                    at,
                    anchor,
                )?;
            }
            Event::SequenceEnd => self.end_list(at),
            Event::MappingEnd => self.end_map(at),
            Event::Alias(anchor) => self.alias(anchor, at)?,
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            // What the parser was not asked for says nothing here.
            Event::Anchor(..) | Event::UnresolvedAlias(_) | _ => {}
        }
        Ok(())
    }

    /// The innermost bracket that is open.
    fn open_bracket(&self) -> Option<u32> {
        let nodes = self.open.iter().rev().filter_map(|open| self.tree.nodes.get(open.node.0 as usize));
        let mut open = nodes.filter(|node| node.is_flow());
        open.next().map(|node| node.start)
    }

    fn comment(&self, scalar: &str, at: Place) -> Option<Diagnostic> {
        syntax::json_comment(scalar, at, self.tree.source.text())
    }

    fn check_tag(&mut self, tag: Option<&Tag>, at: Place) {
        if tag.is_some_and(|tag| !tag.is_yaml_core_schema()) {
            let message = "a tag of one's own has no meaning in this document";
            let finding = Diagnostic::error("tag", at, message);
            self.findings.push(finding.help("take the tag out, and write the value itself"));
        }
    }

    /// Where the text stands at its place, or the text itself if it does not stand there as it is.
    fn text(&mut self, text: Cow<'_, str>, at: Place) -> Text {
        let written = self.tree.source.text().get(at.range()).unwrap_or("");
        let quoted = written.len().checked_sub(1).and_then(|end| written.get(1..end));
        if written == text {
            Text::Whole
        } else if quoted == Some(&text) && written.starts_with(['"', '\'']) {
            Text::Quoted
        } else {
            self.own(text.into())
        }
    }

    /// Keeps a text that does not stand in the document.
    pub(super) fn own(&mut self, text: Box<str>) -> Text {
        self.tree.texts.push(text);
        Text::Own(count(self.tree.texts.len().saturating_sub(1)))
    }

    pub(super) fn node(&mut self, kind: Kind, at: Place) -> Result<NodeId, Box<Diagnostic>> {
        if self.tree.nodes.len() >= NODES_MAX {
            let message = format!("the document has more than {NODES_MAX} values");
            return Err(Box::new(Diagnostic::error("too-large", at, message).help("split it with $ref")));
        }
        let id = NodeId(count(self.tree.nodes.len()));
        self.tree.nodes.push(Node { kind, start: at.start, end: at.end });
        Ok(id)
    }

    pub(super) fn begin(&mut self, kind: Kind, at: Place, anchor: usize) -> Result<(), Box<Diagnostic>> {
        if self.open.len() >= DEPTH_MAX {
            return Err(Box::new(syntax::too_deep(at)));
        }
        let node = self.node(kind, at)?;
        if anchor > 0 {
            self.anchors.insert(anchor, None);
        }
        self.open.push(OpenNode { node, children: Vec::new(), anchor });
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Place) -> Result<(), Box<Diagnostic>> {
        let Some(Some(target)) = self.anchors.get(&anchor).copied() else {
            let message = "this alias is part of the value that it refers to";
            return Err(Box::new(Diagnostic::error("alias-cycle", at, message)));
        };
        let node = self.node(Kind::Alias(target), at)?;
        self.add(node, 0);
        Ok(())
    }

    /// A node that is complete goes into what it stands in.
    pub(super) fn add(&mut self, node: NodeId, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, Some(node));
        }
        match self.open.last_mut() {
            Some(open) => open.children.push(node),
            None => self.root = Some(node),
        }
    }

    pub(super) fn end_list(&mut self, at: Place) {
        let Some(open) = self.open.pop() else { return };
        let first = count(self.tree.items.len());
        let length = count(open.children.len());
        self.tree.items.extend(&open.children);
        self.close(&open, (first, length), at);
    }

    pub(super) fn end_map(&mut self, at: Place) {
        let Some(mut open) = self.open.pop() else { return };
        self.check_keys(&mut open.children);
        let first = count(self.tree.entries.len());
        let length = count(open.children.len() / 2);
        let pairs = open.children.chunks_exact(2);
        self.tree.entries.extend(pairs.filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))));
        self.close(&open, (first, length), at);
    }

    /// A list or map ends where its last child does, or with its bracket.
    fn close(&mut self, open: &OpenNode, (begins, length): (u32, u32), at: Place) {
        let last = open.children.last().and_then(|id| self.tree.nodes.get(id.0 as usize));
        let last = last.map_or(at.end, |node| node.end);
        if let Some(node) = self.tree.nodes.get_mut(open.node.0 as usize) {
            let in_brackets = match &mut node.kind {
                Kind::List { first, count, flow } | Kind::Map { first, count, flow } => {
                    (*first, *count) = (begins, length);
                    *flow
                }
                Kind::Scalar { .. } | Kind::Alias(_) => false,
            };
            node.end = if in_brackets { at.end } else { last.max(node.end) };
        }
        self.add(open.node, open.anchor);
    }

    /// Keys are scalars, and no key stands twice: which of two would count is anybody's guess. The second is taken away, so that
    /// one mistake is one error.
    fn check_keys(&mut self, children: &mut Vec<NodeId>) {
        let keys = || children.iter().step_by(2).filter_map(|id| self.tree.nodes.get(id.0 as usize));
        let at = |node: &Node| Place { file: self.file, start: node.start, end: node.end };
        let mut found = Vec::new();
        for node in keys().filter(|node| !matches!(node.kind, Kind::Scalar { .. })) {
            found.push(Diagnostic::error("key", at(node), "a key has to be a plain word or a text"));
        }
        let repeated = if children.len() / 2 <= FEW_KEYS {
            keys().enumerate().any(|(index, node)| {
                keys()
                    .take(index)
                    .any(|other| self.text_of(node).is_some() && self.text_of(node) == self.text_of(other))
            })
        } else {
            let mut seen = HashSet::with_capacity(children.len() / 2);
            keys().filter_map(|node| self.text_of(node)).any(|key| !seen.insert(key))
        };
        let mut taken_away = HashSet::new();
        if repeated {
            let mut seen: HashMap<_, Place> = HashMap::new();
            for (number, node) in keys().enumerate() {
                let Some(key) = self.text_of(node) else { continue };
                if let Some(first) = seen.get(key) {
                    let message = format!("the key `{}` is repeated here", tollgate_http::text::shown(key));
                    let finding = Diagnostic::error("repeated-key", at(node), message);
                    found.push(finding.also(*first, "first here").help("keep one of them"));
                    taken_away.insert(number);
                } else {
                    seen.insert(key, at(node));
                }
            }
        }
        found.into_iter().for_each(|finding| self.findings.push(finding));
        if self.reason == Reason::Use && !taken_away.is_empty() {
            let mut number = 0_usize;
            children.retain(|_| {
                let kept = !taken_away.contains(&(number / 2));
                number = number.saturating_add(1);
                kept
            });
        }
    }

    fn text_of<'a>(&'a self, node: &'a Node) -> Option<&'a str> {
        self.tree.text(node)
    }
}

/// Reads a document by one of the two grammars alone; nothing if it is not of that grammar.
#[cfg(test)]
pub(super) fn read_as(file: FileId, source: &Arc<Source>, as_json: bool) -> Option<Tree> {
    let mut reader = Reader::new(file, source, Reason::Use);
    let text = source.text();
    let is_wrong =
        as_json && json::read(&mut reader).is_err() || !as_json && yaml(text, &mut reader).is_some();
    reader.tree.root = reader.root.filter(|_| !is_wrong)?;
    Some(reader.tree)
}
