//! Random small documents, printed in random styles, under the laws of annotating. A failure says its seed.

use super::laws;
use tollgate_testing::dice::Dice;

/// A document before it is printed.
#[derive(Clone)]
enum Doc {
    Map(Vec<(String, Self)>),
    List(Vec<Self>),
    Text(&'static str),
    Raw(&'static str),
    Nothing,
}

fn map(entries: Vec<(&str, Doc)>) -> Doc {
    Doc::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn limits(dice: &mut Dice) -> Doc {
    let limit = |mode| {
        let numbers = vec![
            ("algorithm", Doc::Raw("gcra")),
            ("capacity", Doc::Raw("5")),
            ("refill_rate", Doc::Raw("1")),
        ];
        map(numbers.into_iter().chain([("mode", Doc::Raw(mode))]).collect())
    };
    match dice.below(5) {
        0 => Doc::Raw("none"),
        1 => limit("shadow"),
        2 => Doc::List(vec![limit("shadow"), limit("enforced")]),
        _ => limit("enforced"),
    }
}

fn maybe(dice: &mut Dice, entries: &mut Vec<(&str, Doc)>) {
    if dice.below(3) == 0 {
        let at = dice.below(entries.len() + 1);
        entries.insert(at, ("x-rate-limit", limits(dice)));
    }
}

fn operation(dice: &mut Dice) -> Doc {
    let mut entries = Vec::new();
    if dice.below(2) == 0 {
        entries.push(("summary", Doc::Text("What it does: this # and that")));
    }
    if dice.below(3) > 0 {
        let codes = ["200", "404", "default", "4XX"];
        let responses: Vec<_> = codes
            .iter()
            .take(dice.below(4))
            .map(|code| {
                let description =
                    dice.pick(&["ok", "line\n", "two\nlines\n", "kept\n\n\n", "  indented\n", ""]);
                (*code, map(vec![("description", Doc::Text(description))]))
            })
            .collect();
        let responses = if dice.below(6) == 0 { Doc::Nothing } else { map(responses) };
        let at = dice.below(entries.len() + 1);
        entries.insert(at, ("responses", responses));
    }
    maybe(dice, &mut entries);
    map(entries)
}

fn document(dice: &mut Dice) -> Doc {
    let mut paths = Vec::new();
    for path in ["/a", "/b/{id}", "/c"].iter().take(dice.below(4)) {
        let mut item: Vec<_> = ["get", "put", "post"]
            .iter()
            .take(dice.below(4))
            .map(|method| (*method, operation(dice)))
            .collect();
        maybe(dice, &mut item);
        paths.push((*path, map(item)));
    }
    let mut root = vec![("paths", map(paths))];
    let schemas = || map(vec![("A", map(vec![("type", Doc::Raw("string"))]))]);
    let part = |dice: &mut Dice| if dice.below(3) == 0 { map(vec![]) } else { schemas() };
    if dice.below(3) == 0 {
        let mut parts = vec![("securitySchemes", map(vec![]))];
        for name in ["responses", "schemas", "examples"] {
            if dice.below(2) == 0 {
                parts.push((name, part(dice)));
            }
        }
        let at = dice.below(root.len() + 1);
        root.insert(at, ("components", map(parts)));
    }
    maybe(dice, &mut root);
    root.insert(0, ("openapi", Doc::Text(dice.pick(&["3.0.3", "3.1.0"]))));
    map(root)
}

/// How a document is printed.
struct Print<'d> {
    dice: &'d mut Dice,
    json: bool,
    /// Whether braces are spread over lines: never, always, or now and then.
    lines: usize,
    unit: &'static str,
    tight: bool,
}

impl Print<'_> {
    fn quoted(&mut self, text: &str) -> String {
        let double = || serde_json::to_string(text).unwrap();
        match self.dice.below(2) {
            0 if !self.json && !text.contains('\n') => format!("'{}'", text.replace('\'', "''")),
            _ => double(),
        }
    }

    fn key(&mut self, key: &str) -> String {
        let plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if self.json || !plain || self.dice.below(4) == 0 { self.quoted(key) } else { key.to_owned() }
    }

    fn flow(&mut self, doc: &Doc, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let parts: Vec<String> = match doc {
            Doc::Text(text) => return self.quoted(text),
            Doc::Raw(word) if !self.json || word.starts_with(|first: char| first.is_ascii_digit()) => {
                return (*word).into();
            }
            Doc::Raw(word) => return format!("\"{word}\""),
            // JSON has no such thing, and within braces it is skipped: see `refused`.
            Doc::Nothing => return "{}".into(),
            Doc::List(items) => items.iter().map(|item| self.flow(item, &inner)).collect(),
            Doc::Map(entries) => {
                let colon = if self.json && self.tight { ":" } else { ": " };
                entries
                    .iter()
                    .map(|(key, value)| format!("{}{colon}{}", self.key(key), self.flow(value, &inner)))
                    .collect()
            }
        };
        let (open, close) = if matches!(doc, Doc::List(_)) { ('[', ']') } else { ('{', '}') };
        let on_lines = self.lines == 1 || self.lines == 2 && self.dice.below(2) == 0;
        let pad = if self.tight || self.dice.below(2) == 0 { "" } else { " " };
        if parts.is_empty() {
            return format!("{open}{pad}{close}");
        }
        if on_lines {
            let comma = if !self.json && self.dice.below(4) == 0 { "," } else { "" };
            return format!("{open}\n{inner}{}{comma}\n{indent}{close}", parts.join(&format!(",\n{inner}")));
        }
        format!("{open}{pad}{}{pad}{close}", parts.join(if self.tight { "," } else { ", " }))
    }

    /// A map in lines.
    fn block(&mut self, entries: &[(String, Doc)], indent: &str, out: &mut String) {
        let inner = format!("{indent}{}", self.unit);
        for (key, value) in entries {
            *out += &format!("{indent}{}:", self.key(key));
            let comment = self.dice.pick(&["", "", "", " # a comment", "   "]);
            match value {
                Doc::Map(entries) if !entries.is_empty() && self.dice.below(5) > 0 => {
                    *out += &format!("{comment}\n");
                    self.block(entries, &inner, out);
                }
                Doc::Text(text) if text.ends_with('\n') && self.dice.below(3) > 0 => {
                    let keep = if text.ends_with("\n\n") { "+" } else { "" };
                    let digit = if text.starts_with(' ') { inner.len() - indent.len() } else { 0 };
                    let digit = if digit > 0 { digit.to_string() } else { String::new() };
                    *out += &format!(" |{digit}{keep}\n");
                    for line in text.lines() {
                        *out += &if line.is_empty() { "\n".into() } else { format!("{inner}{line}\n") };
                    }
                    // Further empty lines would belong to a text that keeps them.
                    if !keep.is_empty() {
                        continue;
                    }
                }
                Doc::Nothing => *out += &format!("{comment}\n"),
                Doc::Map(_) | Doc::List(_) | Doc::Text(_) | Doc::Raw(_) => {
                    *out += &format!(" {}{comment}\n", self.flow(value, &inner));
                }
            }
            *out += self.dice.pick(&["", "", "", "\n", "# between\n", "\n\n# after two\n"]);
            if self.dice.below(6) == 0 {
                *out += &format!("{}# deep\n", self.dice.pick(&[indent, inner.as_str()]));
            }
        }
    }
}

fn printed(doc: &Doc, dice: &mut Dice) -> String {
    let (json, tight) = (dice.below(3) == 0, dice.below(2) == 0);
    let (lines, unit) = (dice.below(3), dice.pick(&["  ", "    ", " "]));
    let unit = if json && dice.below(4) == 0 { "\t" } else { unit };
    let mut print = Print { dice, json, lines, unit, tight };
    let mut text = String::new();
    if let (Doc::Map(entries), false) = (doc, json) {
        print.block(entries, "", &mut text);
    } else {
        text = print.flow(doc, "") + "\n";
    }
    if dice.below(5) == 0 && !json {
        text = format!("---\n{text}");
    }
    if dice.below(4) == 0 && !text.ends_with("\n\n") {
        text.pop();
    }
    if dice.below(4) == 0 { text.replace('\n', "\r\n") } else { text }
}

#[test]
fn random_documents_in_random_styles_obey_the_laws() {
    let mut changed = 0;
    for seed in 0..4_000 {
        let mut dice = Dice::new(seed);
        let doc = document(&mut dice);
        let text = printed(&doc, &mut dice);
        let done = laws(&text, &format!("seed {seed}"));
        assert!(done.skipped.is_empty(), "seed {seed}: {:?}\n{text}", done.skipped);
        changed += usize::from(!done.inserted.is_empty());
    }
    assert!(changed > 1_000, "most documents have something to be said: {changed}");
}
