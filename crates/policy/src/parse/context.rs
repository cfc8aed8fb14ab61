//! State shared by all document parsers: the trees, the findings, and the files still to be read.

use std::collections::{HashMap, HashSet};

use crate::document::diagnostic::{Diagnostic, Findings};
use crate::document::sources::{FileId, Place, Sources};
use crate::document::suggest;
use crate::document::tree::{NodeId, Tree, Value};
pub(crate) use crate::parse::references::beside;
use crate::parse::schema_fields::Field;

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
    pub(super) keys: HashMap<(FileId, NodeId), HashMap<&'t str, Value<'t>>>,
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
            let is_known = || known.clone().any(|known| known == name);
            let finding = if !rest.is_empty() && entry.value.is_null() && is_known() {
                let message = format!("there is no space behind the colon of `{shown}`");
                let help = "write one between a name and its value";
                Diagnostic::error("unknown-field", entry.key_at, message).help(help)
            } else if entry.key == "<<" {
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
            let message = format!("`{what}` is a string here, because it is quoted");
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
}

/// Maximum fields of a merge key that are spelled out.
const MERGED_FIELDS_MAX: usize = 10;
