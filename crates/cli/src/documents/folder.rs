//! Finds the documents in a folder, recognised by a key at their root. It does not parse them.

use crate::files;

/// What a document is, by the key at its root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DocumentKind {
    /// It has `tollgate`.
    Tollgate,
    /// It has `openapi` or `swagger`.
    OpenApi,
    /// It has `scenarios`.
    Scenarios,
}

/// How the names of documents end.
const ENDINGS: &[&str] = &[".yaml", ".yml", ".json"];

/// The documents in a folder and in the folders below it, sorted by name.
///
/// # Errors
/// A sentence, when a folder cannot be read.
pub(crate) fn in_folder(folder: &str) -> Result<Vec<(String, DocumentKind)>, String> {
    let mut names = files::below(folder)?;
    names.retain(|name| ENDINGS.iter().any(|ending| name.ends_with(ending)));
    // What cannot be read has no kind. If something leads to it, it is told there.
    let kinds = names.into_iter().filter_map(|name| {
        let kind = kind(&files::read(&name).ok()?)?;
        Some((name, kind))
    });
    Ok(kinds.collect())
}

/// What a text is, also if its grammar is wrong further on.
fn kind(text: &str) -> Option<DocumentKind> {
    let text = text.trim_start_matches('\u{feff}');
    let mut found = None;
    let mut take = |key: &str| {
        let kind = match key {
            // A Tollgate file has `openapi` too.
            "tollgate" => DocumentKind::Tollgate,
            "openapi" | "swagger" => found.unwrap_or(DocumentKind::OpenApi),
            "scenarios" => found.unwrap_or(DocumentKind::Scenarios),
            _ => return,
        };
        found = Some(kind);
    };
    if text.trim_start().starts_with('{') {
        root_keys(text, &mut take);
    } else {
        for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '-'])) {
            let key = line.split(':').next().unwrap_or_default();
            take(key.trim_end().trim_matches(['"', '\'']));
        }
    }
    found
}

/// Gives every text in the outermost braces of JSON. Values are among them, which does no harm here.
fn root_keys(text: &str, take: &mut dyn FnMut(&str)) {
    let (mut depth, mut rest) = (0_usize, text);
    while let Some((at, char)) = rest.char_indices().find(|(_, char)| "{}[]\"".contains(*char)) {
        rest = rest.get(at.saturating_add(1)..).unwrap_or_default();
        match char {
            '{' | '[' => depth = depth.saturating_add(1),
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {
                let length = quoted(rest);
                let (inside, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
                rest = after.get(1..).unwrap_or_default();
                if depth == 1 && rest.trim_start().starts_with(':') {
                    take(inside);
                }
            }
        }
    }
}

/// How many bytes there are before the quote that ends a text.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match (escaped, byte) {
            (true, _) => escaped = false,
            (false, b'\\') => escaped = true,
            (false, b'"') => return at,
            (false, _) => {}
        }
    }
    text.len()
}

#[test]
fn documents_are_told_by_a_key_at_their_root() {
    let table = [
        ("openapi: 3.1.0\npaths: {}\n", Some(DocumentKind::OpenApi)),
        ("# a comment\n'openapi' : 3.1.0\n", Some(DocumentKind::OpenApi)),
        ("tollgate: 1\nopenapi: [a.yaml]\n", Some(DocumentKind::Tollgate)),
        ("openapi: [a.yaml]\ntollgate: 1\n", Some(DocumentKind::Tollgate)),
        ("policy: a.yaml\nscenarios: []\n", Some(DocumentKind::Scenarios)),
        ("{\"info\":{\"x\":\"}\\\"{\"},\"openapi\":\"3.1.0\"}", Some(DocumentKind::OpenApi)),
        ("openapi: 3.1.0\n\tbroken", Some(DocumentKind::OpenApi)),
        ("{\"info\":{\"openapi\":1}}", None),
        ("{\"a\":\"openapi\"}", None),
        ("info:\n  openapi: 3\n", None),
        ("- openapi: 3\n", None),
        ("", None),
    ];
    for (text, expected) in table {
        assert_eq!(kind(text), expected, "{text}");
    }
}
