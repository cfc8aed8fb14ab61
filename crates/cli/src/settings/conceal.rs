//! The secrets in a document, concealed so that messages can show the lines around them. Each byte of a secret becomes a star, so
//! that every place in the text stays what it is.

use std::borrow::Cow;
use std::ops::Range;

use tollgate_policy::section::{Document, Entry, nearest, root_fields};

use super::definitions::{Field, FieldType, SERVE};
use super::kind::{Kind, parse};
use super::secret_parts::{is_pasted, secrets};
use super::value::Value as Written;

/// What ends a URL that stands somewhere in a text.
const ENDS: [char; 8] = [' ', '\t', '\r', '"', '\'', '`', '<', '>'];
/// What is shown of a section that cannot be read: where its parts begin and end.
const MARKS: &str = "{}[],:\"'#";

/// A text without the secrets of its settings, and without what stands before an `@` in any URL.
pub(crate) fn conceal(text: &str) -> Cow<'_, str> {
    let mut found = in_urls(text);
    found.extend(in_settings(text));
    found.retain(|range| range.start < range.end);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for range in found {
        for byte in bytes.get_mut(range).unwrap_or_default() {
            if !byte.is_ascii_whitespace() {
                *byte = b'*';
            }
        }
    }
    // Every range begins and ends between characters, so the result is UTF-8. Otherwise nothing of it would be shown.
    Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|_| "*".repeat(text.len())))
}

/// What stands before the `@` of each URL, and after `pass=` and `password=`.
fn in_urls(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for mark in ["://", "pass=", "password="] {
        let mut at = 0;
        while let Some(next) = text.get(at..).and_then(|rest| rest.find(mark)) {
            let from = at.saturating_add(next).saturating_add(mark.len());
            let part = first(text, from, &ENDS);
            let length = if mark == "://" {
                part.rfind('@').unwrap_or(0)
            } else {
                part.find('&').unwrap_or(part.len())
            };
            found.push(from..from.saturating_add(length));
            // Another mark within this part has no more in it, and each part is looked through once.
            at = from.saturating_add(part.len());
        }
    }
    found
}

/// The part of a line from a byte on, up to one of these characters.
fn first<'t>(text: &'t str, from: usize, ends: &[char]) -> &'t str {
    let rest = text.get(from..).unwrap_or_default();
    let end = rest.find(|char| char == '\n' || ends.contains(&char)).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

/// The secrets in the section `serve`, and in parts of it that stand at the root by mistake.
fn in_settings(text: &str) -> Vec<Range<usize>> {
    let is_native = text.contains("tollgate");
    // Of other documents, only the section itself is looked for: `store` may be any word of theirs.
    let groups = SERVE.iter().filter(|field| is_native && may_hold(std::slice::from_ref(field)));
    let section = groups.map(|field| field.name).chain(["serve"]).filter_map(|name| key_at(text, name)).min();
    if section.is_none() && !is_native {
        return Vec::new();
    }
    let Some(document) = Document::read(text) else {
        return section.map_or_else(Vec::new, |from| unreadable(text, from));
    };
    let mut found = SecretSpans { text, ranges: Vec::new() };
    let is_native = document.root().get("tollgate").is_some();
    for entry in document.root().entries() {
        let is_known = || root_fields().any(|name| name == entry.key);
        let meant = || nearest(entry.key, SERVE.iter().map(|field| field.name).chain(["serve"]));
        if entry.key == "serve" {
            found.fields(entry, SERVE);
            found.comments(entry.key_at.range().start..entry.value.place().range().end);
        } else if is_native && !is_known() && meant().is_some() {
            found.misplaced(entry, SERVE);
        }
    }
    found.ranges
}

/// Where this key stands first, as far as can be told without reading the document.
fn key_at(text: &str, name: &str) -> Option<usize> {
    let is_key = |(at, word): (usize, &str)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at.saturating_add(word.len())..).unwrap_or_default();
        let begins = before.is_none_or(|char| char.is_whitespace() || "{,\"'\u{feff}".contains(char));
        let ends = after.trim_start_matches(['"', '\'']).trim_start().starts_with(':');
        (begins && ends).then_some(at)
    };
    text.match_indices(name).find_map(is_key)
}

/// A section in a document whose grammar is wrong: all that is neither a field's name nor a mark, up to the next field of the root.
fn unreadable(text: &str, from: usize) -> Vec<Range<usize>> {
    let rest = text.get(from..).unwrap_or_default();
    let root = |name: &str| format!("\n{name}:");
    let others = root_fields().filter(|name| *name != "serve");
    let end = others.filter_map(|name| rest.find(&root(name))).min().unwrap_or(rest.len());
    let mut found = Vec::new();
    let mut at = from;
    let is_mark = |char: char| char.is_whitespace() || MARKS.contains(char);
    for word in rest.get(..end).unwrap_or_default().split_inclusive(is_mark) {
        let bare = word.trim_end_matches(is_mark);
        // A name is shown where it is one, and not where it may be a part of a password.
        let is_name = bare == "serve" || is_field(bare, SERVE);
        if !is_name {
            found.push(at..at.saturating_add(bare.len()));
        }
        at = at.saturating_add(word.len());
    }
    found
}

/// Whether it is the name of a field among these or below them.
fn is_field(word: &str, fields: &[Field]) -> bool {
    fields.iter().any(|field| {
        let below = if let FieldType::Map(below) = field.kind { below } else { &[] };
        field.name == word || is_field(word, below)
    })
}

/// Whether a field among these or below them may hold a secret.
fn may_hold(fields: &[Field]) -> bool {
    fields.iter().any(|field| {
        if let FieldType::Map(below) = field.kind {
            return may_hold(below);
        }
        matches!(field.kind, FieldType::Setting(kind) if matches!(kind.one(), Kind::Secret | Kind::Store | Kind::Origin))
    })
}

/// What was found in a document.
struct SecretSpans<'t> {
    text: &'t str,
    ranges: Vec<Range<usize>>,
}

impl SecretSpans<'_> {
    /// The secrets in a map of settings.
    fn fields(&mut self, section: Entry<'_>, fields: &[Field]) {
        if !section.value.is_map() {
            // A URL or a password in place of the map.
            if may_hold(fields) {
                self.whole(section);
            }
            return;
        }
        for entry in section.value.entries() {
            let kind = fields.iter().find(|field| field.name == entry.key).map(|field| field.kind);
            if let Some(FieldType::Map(below)) = kind {
                self.fields(entry, below);
            } else if let Some(FieldType::Setting(kind)) = kind {
                self.setting(entry, kind);
            } else {
                self.misplaced(entry, fields);
            }
        }
    }

    /// A field that is not known: another name for one that holds a secret, or a password without its field.
    fn misplaced(&mut self, entry: Entry<'_>, fields: &[Field]) {
        if may_hold(fields) {
            let key = entry.key_at.range();
            let written = self.text.get(key.clone()).unwrap_or_default();
            let name = written.find(':').unwrap_or(written.len());
            self.ranges.push(key.start.saturating_add(name)..key.end);
            self.whole(entry);
        }
    }

    /// The comments on these lines: a setting that was tried out may have become one.
    fn comments(&mut self, section: Range<usize>) {
        let mut at = section.start;
        while at < section.end {
            let line = first(self.text, at, &[]);
            let begins = |(mark, _): &(usize, &str)| {
                let before = line.get(..*mark).unwrap_or_default();
                // Behind the section, what is not a comment on it may follow on the same line.
                let behind = before.get(section.end.saturating_sub(at)..).unwrap_or_default();
                before.chars().next_back().is_none_or(char::is_whitespace) && behind.trim().is_empty()
            };
            if let Some((mark, _)) = line.match_indices('#').find(begins) {
                let from = at.saturating_add(mark).saturating_add(1);
                self.ranges.push(from..at.saturating_add(line.len()));
            }
            at = at.saturating_add(line.len()).saturating_add(1);
        }
    }

    fn setting(&mut self, entry: Entry<'_>, kind: Kind) {
        let value = entry.value.text().unwrap_or_default();
        let place = entry.value.place().range();
        let written = self.text.get(place.clone()).unwrap_or_default();
        let bare = written.trim_matches(['"', '\'']);
        // With an escape or a line's end in it, parts of the value stand elsewhere than in the document.
        let is_plain = bare == value;
        let is_off = is_plain && matches!(parse(kind, value), Ok(Written::Off(_)));
        let kind = kind.one();
        let is_address = matches!(kind, Kind::Store | Kind::Origin);
        if is_address && is_plain && !is_off {
            let start = written.find(bare).unwrap_or(0).saturating_add(place.start);
            let moved =
                |range: Range<usize>| start.saturating_add(range.start)..start.saturating_add(range.end);
            self.ranges.extend(secrets(bare).into_iter().map(moved));
        } else if !is_off
            && (is_address || kind == Kind::Secret || (kind == Kind::File && (!is_plain || is_pasted(value))))
        {
            self.whole(entry);
        }
    }

    /// All behind a key. A tag or an anchor may be the beginning of a password.
    fn whole(&mut self, entry: Entry<'_>) {
        let (key, value) = (entry.key_at.range(), entry.value.place().range());
        let behind = self.text.get(key.end..).unwrap_or_default();
        let colon = behind.find(|char: char| !char.is_whitespace() && char != ':').unwrap_or(0);
        let from = key.end.saturating_add(colon);
        if entry.value.is_null() {
            // There may be a tag or an anchor all the same, and there may be another line.
            let marks = first(behind, 0, &[',', '}', ']']);
            self.ranges.push(from..key.end.saturating_add(marks.len()));
        } else {
            self.ranges.push(from..value.end);
        }
        // An alias stands for what was written before.
        self.ranges.push(entry.value.defined().range());
    }
}

#[cfg(test)]
mod tests;
