//! JSON as a tree: strictly by its grammar, several times as fast as YAML is read. What is not JSON is left to `read.rs`.

use super::diagnostic::Diagnostic;
use super::read::Reader;
use super::sources::Place;
use super::tree::{Kind, Text};

/// Why a text was not read as JSON.
pub(super) enum JsonError {
    /// Its grammar is another one: it may be YAML.
    NotJson,
    /// It is too deep, or has too many values.
    Beyond(Box<Diagnostic>),
}

impl From<Box<Diagnostic>> for JsonError {
    fn from(finding: Box<Diagnostic>) -> Self {
        Self::Beyond(finding)
    }
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedToken {
    /// A value.
    Value,
    /// A value, or the end of the list that has just begun.
    FirstItem,
    /// A key, or the end of the map that has just begun.
    FirstKey,
    /// A key.
    Key,
    /// A comma, or the end of the list or map.
    Comma,
}

/// Whether a text can be JSON that is worth reading as such: a map or a list in brackets.
pub(super) fn is_likely(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '['])
}

/// Reads a text into a reader that has read nothing yet.
pub(super) fn read(reader: &mut Reader) -> Result<(), JsonError> {
    let source = reader.source();
    let text = source.text();
    let at = text.len().saturating_sub(text.trim_start_matches('\u{feff}').len());
    Json { text, bytes: text.as_bytes(), at, reader }.document()
}

struct Json<'s, 'r> {
    text: &'s str,
    bytes: &'s [u8],
    at: usize,
    reader: &'r mut Reader,
}

impl Json<'_, '_> {
    fn document(&mut self) -> Result<(), JsonError> {
        // Whether each of the lists and maps that are open is a map.
        let mut maps: Vec<bool> = Vec::new();
        let mut next = ExpectedToken::Value;
        loop {
            self.blanks();
            let byte = self.peek().ok_or(JsonError::NotJson)?;
            next = match (byte, next) {
                (b'{', ExpectedToken::Value | ExpectedToken::FirstItem) => {
                    self.begin(Kind::Map { first: 0, count: 0, flow: true })?;
                    maps.push(true);
                    ExpectedToken::FirstKey
                }
                (b'[', ExpectedToken::Value | ExpectedToken::FirstItem) => {
                    self.begin(Kind::List { first: 0, count: 0, flow: true })?;
                    maps.push(false);
                    ExpectedToken::FirstItem
                }
                (b'}' | b']', ExpectedToken::Comma | ExpectedToken::FirstKey | ExpectedToken::FirstItem) => {
                    if maps.pop() != Some(byte == b'}') {
                        return Err(JsonError::NotJson);
                    }
                    self.end(byte == b'}');
                    ExpectedToken::Comma
                }
                (b',', ExpectedToken::Comma) => {
                    self.at = self.at.saturating_add(1);
                    if maps.last() == Some(&true) { ExpectedToken::Key } else { ExpectedToken::Value }
                }
                (b'"', ExpectedToken::Key | ExpectedToken::FirstKey) => {
                    self.string()?;
                    self.blanks();
                    if self.peek() != Some(b':') {
                        return Err(JsonError::NotJson);
                    }
                    self.at = self.at.saturating_add(1);
                    ExpectedToken::Value
                }
                (b'"', ExpectedToken::Value | ExpectedToken::FirstItem) => {
                    self.string()?;
                    ExpectedToken::Comma
                }
                (_, ExpectedToken::Value | ExpectedToken::FirstItem) => {
                    self.word()?;
                    ExpectedToken::Comma
                }
                _ => return Err(JsonError::NotJson),
            };
            if maps.is_empty() {
                break;
            }
        }
        self.blanks();
        if self.at == self.bytes.len() { Ok(()) } else { Err(JsonError::NotJson) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at = self.at.saturating_add(1);
        }
    }

    /// From a byte to where the reader stands.
    fn place(&self, start: usize) -> Place {
        self.reader.at(start, self.at)
    }

    fn begin(&mut self, kind: Kind) -> Result<(), JsonError> {
        let start = self.at;
        self.at = start.saturating_add(1);
        Ok(self.reader.begin(kind, self.place(start), 0)?)
    }

    fn end(&mut self, is_map: bool) {
        let start = self.at;
        self.at = start.saturating_add(1);
        let at = self.place(start);
        if is_map { self.reader.end_map(at) } else { self.reader.end_list(at) }
    }

    fn scalar(&mut self, text: Text, plain: bool, start: usize) -> Result<(), JsonError> {
        let at = self.place(start);
        let node = self.reader.node(Kind::Scalar { text, plain }, at)?;
        self.reader.add(node, 0);
        Ok(())
    }

    /// A number, or `true`, `false`, `null`.
    fn word(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let ends = |byte: &u8| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'));
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        if !matches!(word, b"true" | b"false" | b"null") && !is_number(word) {
            return Err(JsonError::NotJson);
        }
        self.at = start.saturating_add(length);
        self.scalar(Text::Whole, true, start)
    }

    /// A text in quotes.
    fn string(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let begin = start.saturating_add(1);
        let mut at = begin;
        loop {
            match self.bytes.get(at) {
                Some(b'"') => {
                    self.at = at.saturating_add(1);
                    return self.scalar(Text::Quoted, false, start);
                }
                Some(b'\\') => break,
                Some(0x20..) => at = at.saturating_add(1),
                Some(_) | None => return Err(JsonError::NotJson),
            }
        }
        let mut own = self.text.get(begin..at).unwrap_or_default().to_owned();
        loop {
            let rest = self.text.get(at..).ok_or(JsonError::NotJson)?;
            let plain = rest.bytes().position(|byte| byte < 0x20 || matches!(byte, b'"' | b'\\'));
            let plain = plain.ok_or(JsonError::NotJson)?;
            own.push_str(rest.get(..plain).unwrap_or_default());
            at = at.saturating_add(plain);
            match self.bytes.get(at) {
                Some(b'"') => {
                    self.at = at.saturating_add(1);
                    let own = self.reader.own(own.into());
                    return self.scalar(own, false, start);
                }
                Some(b'\\') => at = self.escape(at.saturating_add(1), &mut own)?,
                Some(_) | None => return Err(JsonError::NotJson),
            }
        }
    }

    /// What stands for one character, behind its backslash; where it ends.
    fn escape(&self, at: usize, own: &mut String) -> Result<usize, JsonError> {
        let letter = self.bytes.get(at).copied().ok_or(JsonError::NotJson)?;
        own.push(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unit(at.saturating_add(1), own),
            _ => return Err(JsonError::NotJson),
        });
        Ok(at.saturating_add(1))
    }

    /// A character by its number, or two numbers that are one character. Half of such a pair is what JSON allows and is no
    /// character: U+FFFD stands for it.
    fn unit(&self, at: usize, own: &mut String) -> Result<usize, JsonError> {
        let first = self.digits(at).ok_or(JsonError::NotJson)?;
        let end = at.saturating_add(4);
        if let Some(character) = char::from_u32(first) {
            own.push(character);
            return Ok(end);
        }
        let escaped = self.bytes.get(end..end.saturating_add(2)) == Some(b"\\u");
        let second = escaped.then(|| self.digits(end.saturating_add(2))).flatten();
        let pair = second.filter(|second| first < 0xDC00 && (0xDC00..0xE000).contains(second));
        let Some(second) = pair else {
            own.push(char::REPLACEMENT_CHARACTER);
            return Ok(end);
        };
        let joined = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        own.push(char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(end.saturating_add(6))
    }

    fn digits(&self, at: usize) -> Option<u32> {
        let digits = self.text.get(at..at.saturating_add(4))?;
        let are_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        are_digits.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    }
}

/// Whether a word is a number of JSON.
fn is_number(word: &[u8]) -> bool {
    let rest = word.strip_prefix(b"-").unwrap_or(word);
    let digits = |rest: &[u8]| rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = rest.get(whole..).unwrap_or_default();
    if let Some(after) = rest.strip_prefix(b".") {
        let decimals = digits(after);
        if decimals == 0 {
            return false;
        }
        rest = after.get(decimals..).unwrap_or_default();
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let after = after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"-")).unwrap_or(after);
        let exponent = digits(after);
        return exponent > 0 && exponent == after.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tollgate_testing::dice::Dice;

    use super::*;
    use crate::document::read;
    use crate::document::sources::{FileId, Source};
    use crate::document::tree::Tree;

    /// Any value, in any layout.
    fn value(dice: &mut Dice, depth: usize, out: &mut String) {
        let blank = |dice: &mut Dice, out: &mut String| {
            out.push_str(dice.pick(&["", "", " ", "\n  ", " \n"]));
        };
        blank(dice, out);
        match dice.below(if depth > 4 { 4 } else { 7 }) {
            0 => out.push_str(dice.pick(&["true", "false", "null"])),
            1 => out.push_str(dice.pick(&["0", "-1", "10.25", "1e9", "-0.5E+2"])),
            2 | 3 => string(dice, out),
            4 => {
                out.push('[');
                for at in 0..dice.below(4) {
                    out.push_str(if at > 0 { "," } else { "" });
                    value(dice, depth + 1, out);
                }
                blank(dice, out);
                out.push(']');
            }
            _ => {
                out.push('{');
                for at in 0..dice.below(16) {
                    out.push_str(if at > 0 { ", " } else { "" });
                    let mut key = String::new();
                    string(dice, &mut key);
                    out.push_str(&format!("\"{at}{}:", &key[1..]));
                    value(dice, depth + 1, out);
                }
                blank(dice, out);
                out.push('}');
            }
        }
        blank(dice, out);
    }

    fn string(dice: &mut Dice, out: &mut String) {
        let pieces = [
            "a",
            "x-rate",
            "\u{e9}",
            "\\n",
            "\\\"",
            "\\u0041",
            "\\ud83d\\ude00",
            "/",
            "# ",
            ": ",
            "\\\\",
            "{",
            "]",
        ];
        out.push('"');
        for _ in 0..dice.below(6) {
            out.push_str(dice.pick(&pieces));
        }
        out.push('"');
    }

    fn shown(tree: &Tree) -> Vec<String> {
        let nodes = tree.nodes.iter();
        let lists = format!("{:?} {:?}", tree.items, tree.entries);
        nodes
            .map(|node| format!("{:?} {:?} {}..{}", shape(&node.kind), tree.text(node), node.start, node.end))
            .chain([lists])
            .collect()
    }

    /// A node without where its text is kept.
    fn shape(kind: &Kind) -> String {
        match kind {
            Kind::Scalar { plain, .. } => format!("scalar {plain}"),
            Kind::List { .. } | Kind::Map { .. } | Kind::Alias(_) => format!("{kind:?}"),
        }
    }

    #[test]
    fn json_is_read_as_yaml_reads_it() {
        let mut read = 0;
        for seed in 0..3_000 {
            let mut dice = Dice::new(seed);
            let mut text = String::from("{\"root\":");
            value(&mut dice, 0, &mut text);
            text.push('}');
            let source = Arc::new(Source::new("a.json", text.as_str()));
            let [json, yaml] = [true, false].map(|as_json| read::read_as(FileId(0), &source, as_json));
            let (json, yaml) = (json.expect("it is JSON"), yaml.expect("it is YAML"));
            assert_eq!(shown(&json), shown(&yaml), "seed {seed}: {text}");
            read += json.nodes.len();
        }
        assert!(read > 20_000, "only {read} values");
    }

    #[test]
    fn what_is_not_json_is_left_to_yaml() {
        let table = [
            ("{\"a\": 1}", true),
            ("\u{feff} [1, 2]\n", true),
            ("{\"a\": 1,}", false),
            ("{\"a\": 1} {}", false),
            ("{\"a\" 1}", false),
            ("{a: 1}", false),
            ("[01]", false),
            ("[1.]", false),
            ("[.5]", false),
            ("[1e]", false),
            ("[+1]", false),
            ("[-]", false),
            ("[tru]", false),
            ("[\"\\x\"]", false),
            ("[\"\\u12\"]", false),
            ("[\"\n\"]", false),
            ("[1}", false),
            ("[", false),
            ("[\"a", false),
            ("[\"\\", false),
        ];
        for (text, is_json) in table {
            let source = Arc::new(Source::new("a.json", text));
            assert_eq!(read::read_as(FileId(0), &source, true).is_some(), is_json, "{text}");
        }
    }
}
