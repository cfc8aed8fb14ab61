//! Puts what a run printed into a document, between two marks, so that figures in documents come from runs.

use std::fs;

use crate::run::root;

/// Replaces the text between `<!-- NAME -->` and `<!-- end of NAME -->` in a file of the repository.
///
/// # Errors
/// When the file or its marks are missing.
pub(crate) fn write(file: &str, name: &str, text: &str) -> Result<(), String> {
    let path = root().join(file);
    let document = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
    let replaced =
        replace(&document, name, text).ok_or_else(|| format!("{file} has no marks for `{name}`"))?;
    fs::write(&path, replaced).map_err(|error| format!("{file}: {error}"))
}

fn replace(document: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{}\n{end}{after}", text.trim_end()))
}

#[test]
fn only_what_stands_between_the_marks_is_replaced() {
    let document = "a\n<!-- run -->\nold\n<!-- end of run -->\nb\n";
    assert_eq!(replace(document, "run", "new\n").unwrap(), "a\n<!-- run -->\nnew\n<!-- end of run -->\nb\n");
    assert_eq!(replace(document, "other", "new"), None);
}
