//! JSONPath as overlays need it (RFC 9535): names, positions, wildcards, descendants, and filters that compare. What it selects is
//! found, not changed.

use crate::document::tree::{Kind, NodeId, Tree, Value};

/// A longer path is refused.
const PATH_BYTES_MAX: usize = 2_000;

/// A path, read.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Debug)]
struct Step {
    /// Whether it is taken from every value below, too: `..`.
    deep: bool,
    selectors: Vec<Selector>,
}

#[derive(Clone, PartialEq, Debug)]
enum Selector {
    Name(String),
    Position(i32),
    All,
    /// One of these, each of which holds if all in it do.
    Where(Vec<Vec<Condition>>),
}

/// `@.a.b == 'c'`, or without the comparison: whether it is there.
#[derive(Clone, PartialEq, Debug)]
struct Condition {
    names: Vec<String>,
    /// Whether it has to hold, or not to hold.
    holds: bool,
    equals: Option<(String, bool)>,
}

/// A value that a path selects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Selection {
    pub(super) id: NodeId,
    /// The list or map that it stands in, and where in it; nothing for the root.
    pub(super) parent: Option<(NodeId, u32)>,
    /// Whether an alias leads to it, so that it also stands elsewhere.
    pub(super) by_alias: bool,
}

impl JsonPath {
    /// Reads a path; of one that is not understood, what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > PATH_BYTES_MAX {
            return Err(format!("it is longer than {PATH_BYTES_MAX} bytes"));
        }
        let Some(rest) = text.strip_prefix('$') else { return Err("it begins with `$`".into()) };
        let mut reader = Reader { rest };
        let mut steps = Vec::new();
        while !reader.rest.is_empty() {
            steps.push(reader.step()?);
        }
        Ok(Self { steps })
    }

    /// Every value that it selects, in the order of the document.
    pub(super) fn select(&self, tree: &Tree) -> Vec<Selection> {
        let mut found = vec![Selection { id: tree.root, parent: None, by_alias: false }];
        for step in &self.steps {
            let from = if step.deep { found.iter().flat_map(|at| below(tree, *at)).collect() } else { found };
            found = from.iter().flat_map(|at| step.take(tree, *at)).collect();
            let mut seen = std::collections::HashSet::new();
            found.retain(|selected| seen.insert(*selected));
        }
        found
    }
}

/// A value and everything in it.
fn below(tree: &Tree, from: Selection) -> Vec<Selection> {
    let (mut found, mut left) = (Vec::new(), vec![from]);
    while let Some(at) = left.pop() {
        found.push(at);
        // What an alias stands for is found where it stands.
        let mut inner: Vec<_> =
            children(tree, at).map(|(_, child)| child).filter(|child| !child.by_alias).collect();
        inner.reverse();
        left.extend(inner);
    }
    found
}

/// What stands in a list or map, with its key in a map.
fn children(tree: &Tree, at: Selection) -> impl Iterator<Item = (Option<&str>, Selection)> {
    let (id, alias) = tree.resolved(at.id);
    let by_alias = at.by_alias || alias;
    let entries = Value { tree, id }.entries().map(|entry| (Some(entry.key), entry.value.id));
    let items = Value { tree, id }.items().map(|item| (None, item.id));
    entries.chain(items).zip(0..).map(move |((key, child), position)| {
        let aliased = matches!(tree.nodes.get(child.0 as usize).map(|node| &node.kind), Some(Kind::Alias(_)));
        (key, Selection { id: child, parent: Some((id, position)), by_alias: by_alias || aliased })
    })
}

impl Step {
    fn take(&self, tree: &Tree, at: Selection) -> Vec<Selection> {
        let mut found = Vec::new();
        for selector in &self.selectors {
            let count = Value { tree, id: at.id }.items().count();
            found.extend(children(tree, at).filter(|(key, child)| match selector {
                Selector::All => true,
                Selector::Name(name) => *key == Some(name.as_str()),
                Selector::Position(position) => {
                    let from_end = i32::try_from(count).unwrap_or(i32::MAX).saturating_add(*position);
                    let wanted = if *position < 0 { from_end } else { *position };
                    let place = child.parent.map(|(_, place)| i64::from(place));
                    key.is_none() && place == Some(i64::from(wanted))
                }
                Selector::Where(any) => {
                    let value = Value { tree, id: child.id };
                    any.iter().any(|all| all.iter().all(|condition| condition.is_met(value)))
                }
            }));
        }
        found.into_iter().map(|(_, child)| child).collect()
    }
}

impl Condition {
    fn is_met(&self, value: Value<'_>) -> bool {
        let found = self.names.iter().try_fold(value, |at, name| at.get(name));
        let met = match (&self.equals, found) {
            (None, found) => found.is_some(),
            (Some(_), None) => false,
            (Some((text, quoted)), Some(found)) => {
                found.text() == Some(text.as_str()) && is_text(found) == *quoted
            }
        };
        met == self.holds
    }
}

/// Whether a scalar is a text: in YAML it may stand without quotes, if it is nothing else then.
fn is_text(value: Value<'_>) -> bool {
    let text = value.text().unwrap_or("");
    let is_word = matches!(text, "true" | "false") || text.parse::<serde_json::Number>().is_ok();
    !(value.is_null() || value.is_plain() && is_word)
}

/// What is left of a path.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn step(&mut self) -> Result<Step, String> {
        let deep = self.take("..");
        if !deep && !self.take(".") || deep && self.rest.starts_with('[') {
            return Ok(Step { deep, selectors: self.bracket()? });
        }
        let selector = if self.take("*") { Selector::All } else { Selector::Name(self.name()?.to_owned()) };
        Ok(Step { deep, selectors: vec![selector] })
    }

    fn bracket(&mut self) -> Result<Vec<Selector>, String> {
        if !self.take("[") {
            return Err(format!("{} is not understood: write `.name` or `['name']`", self.found()));
        }
        let mut selectors = Vec::new();
        loop {
            self.blanks();
            selectors.push(self.selector()?);
            self.blanks();
            if self.take("]") {
                return Ok(selectors);
            }
            if !self.take(",") {
                return Err(format!("a `]` is missing before {}", self.found()));
            }
        }
    }

    fn selector(&mut self) -> Result<Selector, String> {
        if self.take("*") {
            return Ok(Selector::All);
        }
        if self.rest.starts_with(['\'', '"']) {
            return Ok(Selector::Name(self.quoted()?));
        }
        if self.take("?") {
            let mut any = vec![vec![self.condition()?]];
            loop {
                self.blanks();
                if self.take("&&") {
                    let condition = self.condition()?;
                    any.last_mut().into_iter().for_each(|all| all.push(condition.clone()));
                } else if self.take("||") {
                    any.push(vec![self.condition()?]);
                } else {
                    return Ok(Selector::Where(any));
                }
            }
        }
        let is_digit = |byte: char| byte.is_ascii_digit() || byte == '-';
        let end = self.rest.find(|byte| !is_digit(byte)).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        let wrong =
            |_| format!("{} is no name in quotes, position, `*` or `?`: write `['name']`", self.found());
        let position = digits.parse().map_err(wrong)?;
        self.rest = rest;
        Ok(Selector::Position(position))
    }

    fn condition(&mut self) -> Result<Condition, String> {
        self.blanks();
        let holds = !self.take("!");
        self.blanks();
        if !self.take("@") {
            return Err(format!("{} is not understood: a condition begins with `@`", self.found()));
        }
        let mut names = Vec::new();
        loop {
            if self.take(".") {
                names.push(self.name()?.to_owned());
            } else if self.rest.starts_with("['") || self.rest.starts_with("[\"") {
                self.take("[");
                names.push(self.quoted()?);
                if !self.take("]") {
                    return Err(format!("a `]` is missing before {}", self.found()));
                }
            } else {
                break;
            }
        }
        self.blanks();
        let (equal, unequal) = (self.take("=="), self.take("!="));
        if !equal && !unequal {
            return Ok(Condition { names, holds, equals: None });
        }
        self.blanks();
        let quoted = self.rest.starts_with(['\'', '"']);
        let text = if quoted { self.quoted()? } else { self.word()?.to_owned() };
        Ok(Condition { names, holds: holds == equal, equals: Some((text, quoted)) })
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// A name after a point.
    fn name(&mut self) -> Result<&'a str, String> {
        let ends = |byte: char| !(byte.is_alphanumeric() || byte == '_' || byte == '-');
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(format!("a name is missing before {}", self.found()));
        }
        self.rest = rest;
        Ok(name)
    }

    /// A number, or `true`, `false`, `null`.
    fn word(&mut self) -> Result<&'a str, String> {
        let ends = |byte: char| !(byte.is_ascii_alphanumeric() || matches!(byte, '-' | '.' | '+'));
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let is_number = word.parse::<serde_json::Number>().is_ok();
        if !is_number && !matches!(word, "true" | "false" | "null") {
            return Err(format!("{} is not understood: write a text in quotes", self.found()));
        }
        self.rest = rest;
        Ok(word)
    }

    fn quoted(&mut self) -> Result<String, String> {
        let mut chars = self.rest.char_indices();
        let quote = chars.next().map(|(_, quote)| quote);
        let mut text = String::new();
        while let Some((at, character)) = chars.next() {
            if Some(character) == quote {
                self.rest = self.rest.get(at.saturating_add(1)..).unwrap_or("");
                return Ok(text);
            }
            if character == '\\' {
                match chars.next() {
                    Some((_, escaped @ ('\\' | '\'' | '"' | '/'))) => text.push(escaped),
                    _ => return Err("of escapes, `\\\\`, `\\'`, `\\\"` and `\\/` are understood".into()),
                }
            } else {
                text.push(character);
            }
        }
        Err("a quote is not closed".into())
    }

    /// What stands here, as a part of a sentence.
    fn found(&self) -> String {
        if self.rest.is_empty() {
            return "the end of the path".into();
        }
        format!("`{}`", tollgate_http::text::shown(self.rest))
    }
}
