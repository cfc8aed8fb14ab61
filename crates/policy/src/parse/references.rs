//! Follows `$ref` within a document and into other files, and says how far one leads that leads to nothing.

use crate::document::diagnostic::Diagnostic;
use crate::document::sources::Place;
use crate::document::suggest;
use crate::document::tree::{Tree, Value};
use crate::parse::context::Context;

/// So many `$ref` may lead to one another. A longer chain is refused, as a cycle is.
const REFERENCES_MAX: usize = 32;

impl<'t> Context<'t> {
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
            let finding = self.nowhere(tree.value(), (text, pointer), place);
            self.findings.push(finding);
        }
        found
    }

    /// That a reference leads to nothing, and how far it leads.
    fn nowhere(&mut self, root: Value<'t>, (text, pointer): (&str, &str), place: Place) -> Diagnostic {
        let message = format!("`{}` leads to nothing", tollgate_http::text::shown(text));
        let finding = Diagnostic::error("ref-nowhere", place, message);
        let (mut reached, mut steps) = (root, pointer.split('/').skip(1).peekable());
        let mut path = String::from("#");
        while let Some((step, next)) = steps.peek().and_then(|step| Some((*step, self.step(reached, step)?)))
        {
            reached = next;
            path.push('/');
            path.push_str(step);
            steps.next();
        }
        let Some(step) = steps.next().filter(|_| pointer.starts_with('/')) else {
            return finding.help("a pointer begins with a slash, as in `#/components/x-limits/slow`");
        };
        let missing = unescaped(step).replace("~1", "/").replace("~0", "~");
        let near = suggest::nearest(&missing, reached.entries().map(|entry| entry.key));
        // The whole reference, so that it can be copied.
        let near = near.map_or_else(String::new, |near| {
            let file = text.split_once('#').map_or("", |(file, _)| file);
            let key = near.replace('~', "~0").replace('/', "~1");
            let rest: String = steps.flat_map(|step| ["/", step]).collect();
            format!(": did you mean `{}`?", tollgate_http::text::shown(&format!("{file}{path}/{key}{rest}")))
        });
        let within = match path.as_str() {
            "#" => "the document".to_owned(),
            path => format!("`{}`", tollgate_http::text::shown(path)),
        };
        finding.help(format!("{within} has no `{}`{near}", tollgate_http::text::shown(&missing)))
    }

    /// What a JSON pointer points at.
    fn pointed(&mut self, root: Value<'t>, pointer: &str) -> Option<Value<'t>> {
        if pointer.is_empty() {
            return Some(root);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(root, |value, step| self.step(value, step))
    }

    /// What one step of a pointer leads to.
    fn step(&mut self, value: Value<'t>, step: &str) -> Option<Value<'t>> {
        let step = unescaped(step).replace("~1", "/").replace("~0", "~");
        if value.is_list() { value.items().nth(step.parse().ok()?) } else { self.under(value, &step) }
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
