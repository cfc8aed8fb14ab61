//! State shared by all document parsers: the trees, the findings, and the files still to be read.

use std::collections::{HashMap, HashSet};

use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::{FileId, Place, Sources};
use crate::document::suggest;
use crate::document::tree::{NodeId, Tree, Value};
use crate::parse::schema_fields::Field;

/// So many `$ref` may lead to one another. A longer chain is refused, as a cycle is.
const REFERENCES_MAX: usize = 32;

/// The trees that have been read, by file.
#[derive(Debug, Default)]
pub(crate) struct Trees {
    pub(crate) sources: Sources,
    pub(crate) trees: HashMap<FileId, Tree>,
    /// Files that could not be read, with the reason.
    pub(crate) failed: HashMap<String, String>,
}

/// A reader's company.
#[derive(Debug)]
pub(crate) struct Context<'t> {
    pub(crate) trees: &'t Trees,
    pub(crate) findings: Findings,
    /// Files that a `$ref` names and that have not been read: they are, and then everything is read again.
    pub(crate) wanted: Vec<(String, Place)>,
    /// The keys of maps that a `$ref` has led into.
    keys: HashMap<(FileId, NodeId), HashMap<&'t str, Value<'t>>>,
    /// What `$ref` of path items led to: limits in there that nobody reads are pointed at too.
    pub(crate) reached: Vec<Place>,
    /// Every `x-rate-limit` that has been read, so that the others can be pointed at.
    pub(crate) used: HashSet<(FileId, NodeId)>,
    /// The limits under `limits`, by where they stand.
    pub(crate) named: HashMap<(FileId, NodeId), String>,
}

impl<'t> Context<'t> {
    pub(crate) fn new(trees: &'t Trees) -> Self {
        Self {
            trees,
            findings: Findings::default(),
            wanted: Vec::new(),
            keys: HashMap::new(),
            reached: Vec::new(),
            used: HashSet::new(),
            named: HashMap::new(),
        }
    }

    pub(crate) fn error(&mut self, code: &'static str, place: Place, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(code, place, message));
    }

    /// Points at every key that is not among the fields.
    pub(crate) fn unknown_fields(&mut self, map: Value<'t>, known: &[&[Field]], what: &str) {
        self.unknown_keys(map, known.iter().flat_map(|fields| fields.iter().map(|field| field.name)), what);
    }

    /// Points at every key that is not among these.
    pub(crate) fn unknown_keys<'k>(
        &mut self,
        map: Value<'t>,
        known: impl Iterator<Item = &'k str> + Clone,
        what: &str,
    ) {
        let written = map.entries().map(|entry| entry.key);
        let written: HashSet<_> = written.filter(|key| known.clone().any(|name| name == *key)).collect();
        for entry in map.entries().filter(|entry| !known.clone().any(|name| name == entry.key)) {
            if entry.key.is_empty() && entry.key_at.range().len() > 2 {
                // A list or a map as a key has been pointed at.
                continue;
            }
            // Without a blank behind its colon a field and its value, which may be a password, are one word.
            let (name, rest) = entry.key.split_once(':').map_or((entry.key, ""), |(name, _)| (name, ":…"));
            let shown = format!("{}{rest}", tollgate_http::text::shown(name));
            let finding = if entry.key == "<<" {
                Diagnostic::error(
                    "merge-key",
                    entry.key_at,
                    "merge keys are not part of YAML 1.2, and are not followed",
                )
                .help(self.written_out(map, entry.value))
            } else {
                let message = format!("{what} has no field `{shown}`");
                let finding = Diagnostic::error("unknown-field", entry.key_at, message);
                if self.findings.are_many() {
                    finding
                } else {
                    let fields =
                        || format!("its fields are {}", known.clone().collect::<Vec<_>>().join(", "));
                    // What is there already was not meant.
                    let free = known.clone().filter(|name| !written.contains(name));
                    finding.help(suggest::did_you_mean(name, free).unwrap_or_else(fields))
                }
            };
            self.findings.push(finding);
        }
    }

    /// What to write in place of a merge key: the fields that it would have added.
    fn written_out(&self, map: Value<'t>, merged: Value<'t>) -> String {
        let added = merged.entries().filter(|entry| map.get(entry.key).is_none() && entry.key != "<<");
        let added: Option<Vec<_>> = added
            .take(MERGED_FIELDS_MAX)
            .map(|entry| {
                let source = self.trees.sources.get(entry.value.tree.file)?;
                // As it is written, unless it is a secret.
                let text = source.repeatable().get(entry.value.defined().range())?;
                let plain = text == self.trees.sources.slice(entry.value.defined());
                let text = Some(text).filter(|text| plain && !text.contains(['\n', '`']))?;
                Some(format!("`{}: {text}`", tollgate_http::text::shown(entry.key)))
            })
            .collect();
        match added.filter(|added| !added.is_empty()) {
            Some(added) => format!("write out what it would add: {}", added.join(", ")),
            None => "write out what it would add".into(),
        }
    }

    /// A map, or an error.
    pub(crate) fn map(&mut self, value: Value<'t>, what: &str) -> Option<Value<'t>> {
        if value.is_map() {
            return Some(value);
        }
        let message = format!("{what} has to be a map, and this is {}", value.what());
        self.error("type", value.place(), message);
        None
    }

    /// A text, or an error.
    pub(crate) fn text(&mut self, value: Value<'t>, what: &str, chars_max: usize) -> Option<&'t str> {
        let Some(text) = value.text().filter(|_| !value.is_null()) else {
            let message = format!("`{what}` has to be a text, and this is {}", value.what());
            self.error("type", value.place(), message);
            return None;
        };
        let length = text.chars().count();
        if length > chars_max {
            let message = format!("`{what}` has {length} characters, and may have at most {chars_max}");
            self.error("too-long", value.place(), message);
            return None;
        }
        Some(text)
    }

    /// One text or a list of texts.
    pub(crate) fn texts(&mut self, value: Value<'t>, what: &str, chars_max: usize) -> Vec<(&'t str, Place)> {
        let list: Vec<_> = if value.is_list() { value.items().collect() } else { vec![value] };
        list.into_iter().filter_map(|item| Some((self.text(item, what, chars_max)?, item.place()))).collect()
    }

    /// One of these words.
    pub(crate) fn word(
        &mut self,
        value: Value<'t>,
        what: &str,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let text = self.text(value, what, usize::MAX)?;
        let found = words.iter().find(|word| **word == text).copied();
        if found.is_none() {
            let shown = tollgate_http::text::shown(text);
            let help = suggest::did_you_mean(text, words.iter().copied())
                .unwrap_or_else(|| format!("write one of {}", words.join(", ")));
            let message = format!("`{shown}` is not a known value of `{what}`");
            self.findings.push(Diagnostic::error("unknown-value", value.place(), message).help(help));
        }
        found
    }

    /// A scalar by one of the strict grammars: numbers without quotes, everything else either way.
    pub(crate) fn parsed<T>(
        &mut self,
        value: Value<'t>,
        what: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        if value.is_map() || value.is_list() {
            self.error(
                "type",
                value.place(),
                format!("`{what}` has to be one value, and this is {}", value.what()),
            );
            return None;
        }
        let text = self.text(value, what, 200)?;
        let number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if number && !value.is_plain() {
            let message = format!("`{what}` is a text here, because it stands in quotes");
            let finding = Diagnostic::error("quoted-number", value.place(), message);
            self.findings.push(finding.help(format!("write {text} without quotes")));
            return None;
        }
        match parse(text) {
            Ok(parsed) => Some(parsed),
            Err(why) => {
                // A sentence of its own names what is wrong; the others go on from the field and its value.
                let whole = why.starts_with(|first: char| !first.is_ascii_lowercase());
                let field = if whole {
                    String::new()
                } else {
                    format!("`{what}: {}` ", tollgate_http::text::shown(text))
                };
                self.error("value", value.place(), format!("{field}{why}"));
                None
            }
        }
    }

    /// Follows `$ref`, if the value is one. The last one that it leads to, or nothing if that cannot be told (and has been
    /// said).
    pub(crate) fn resolve(&mut self, value: Value<'t>) -> Option<Value<'t>> {
        self.trail(value)?.pop()
    }

    /// What a value's `$ref` into its own file leads to, or the value itself; nothing, without a word, if that cannot be told.
    pub(crate) fn look_up(&mut self, value: Value<'t>) -> Option<Value<'t>> {
        let mut at = value;
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = at.get("$ref") else { return Some(at) };
            let pointer = reference.text()?.strip_prefix('#')?;
            at = self.pointed(at.tree.value(), pointer)?;
        }
        None
    }

    /// The value and everything that its `$ref` leads to, one after another; nothing if that cannot be told.
    pub(crate) fn trail(&mut self, value: Value<'t>) -> Option<Vec<Value<'t>>> {
        let mut trail = vec![value];
        let mut at = value;
        while let Some(reference) = at.get("$ref") {
            let text = self.text(reference, "$ref", 2_000)?;
            at = self.follow(at, text, reference.place())?;
            let seen = trail.iter().any(|other| (other.tree.file, other.id) == (at.tree.file, at.id));
            if seen || trail.len() > REFERENCES_MAX {
                let finding =
                    Diagnostic::error("ref-cycle", reference.place(), "this $ref leads back to itself");
                self.findings.push(finding.also(value.place(), "it is followed from here"));
                return None;
            }
            trail.push(at);
        }
        Some(trail)
    }

    /// What a reference leads to, by itself.
    pub(crate) fn follow(&mut self, from: Value<'t>, text: &str, place: Place) -> Option<Value<'t>> {
        let (file, pointer) = text.split_once('#').unwrap_or((text, ""));
        let tree = if file.is_empty() { from.tree } else { self.other_file(from, file, place)? };
        let found = self.pointed(tree.value(), pointer);
        if found.is_none() {
            let shown = tollgate_http::text::shown(text);
            self.error("ref-nowhere", place, format!("`{shown}` leads to nothing"));
        }
        found
    }

    /// What a JSON pointer points at.
    fn pointed(&mut self, root: Value<'t>, pointer: &str) -> Option<Value<'t>> {
        if pointer.is_empty() {
            return Some(root);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(root, |value, step| {
            let step = unescaped(step).replace("~1", "/").replace("~0", "~");
            if value.is_list() { value.items().nth(step.parse().ok()?) } else { self.under(value, &step) }
        })
    }

    /// The value under a key. Many `$ref` may lead into one large map, so its keys are looked through once.
    fn under(&mut self, map: Value<'t>, key: &str) -> Option<Value<'t>> {
        let keys = self
            .keys
            .entry((map.tree.file, map.id))
            .or_insert_with(|| map.entries().map(|entry| (entry.key, entry.value)).collect());
        keys.get(key).copied()
    }

    fn other_file(&mut self, from: Value<'t>, file: &str, place: Place) -> Option<&'t Tree> {
        if file.contains("://") {
            let finding = Diagnostic::error("ref-remote", place, "this $ref leads to another machine");
            self.findings.push(finding.help("nothing is downloaded: keep the file beside this one"));
            return None;
        }
        let here = self.trees.sources.get(from.tree.file).map_or("", |source| source.name());
        let name = beside(here, &unescaped(file));
        if let Some(why) = self.trees.failed.get(&name) {
            self.error(
                "ref-unreadable",
                place,
                format!("{} cannot be read: {why}", tollgate_http::text::shown(&name)),
            );
            return None;
        }
        let known = self.trees.sources.by_name(&name);
        match known {
            // A file whose grammar is wrong has no tree, and its own findings.
            Some(id) => self.trees.trees.get(&id),
            None => {
                self.wanted.push((name, place));
                None
            }
        }
    }
}

/// Maximum fields of a merge key that are spelled out.
const MERGED_FIELDS_MAX: usize = 10;

/// A part of a `$ref` without its percent escapes.
pub(crate) fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped =
            (*first == b'%').then(|| after.split_at_checked(2)).flatten().and_then(|(hex, after)| {
                let hex = std::str::from_utf8(hex).ok().filter(|hex| !hex.starts_with('+'))?;
                Some((u8::from_str_radix(hex, 16).ok()?, after))
            });
        let (byte, after) = escaped.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A file's name, as seen from another: `../common.yaml` from `api/openapi.yaml` is `common.yaml`.
pub(crate) fn beside(from: &str, name: &str) -> String {
    if name.starts_with('/') {
        return name.to_owned();
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let absolute = from.starts_with('/');
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

#[test]
fn names_of_files_are_seen_from_where_they_are_written() {
    let table = [
        ("openapi.yaml", "paths.yaml", "paths.yaml"),
        ("api/openapi.yaml", "../common.yaml", "common.yaml"),
        ("api/openapi.yaml", "./a/b.yaml", "api/a/b.yaml"),
        ("openapi.yaml", "../x.yaml", "../x.yaml"),
        ("/etc/api/openapi.yaml", "../x.yaml", "/etc/x.yaml"),
        ("a.yaml", "/etc/x.yaml", "/etc/x.yaml"),
    ];
    for (from, name, wanted) in table {
        assert_eq!(beside(from, name), wanted, "{name} from {from}");
    }
    assert_eq!(unescaped("a%20b%zz%"), "a b%zz%");
}
