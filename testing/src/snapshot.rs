//! Compares text with a file, or writes it there: with `UPDATE_SNAPSHOTS=1` in the environment every test updates its files.

use std::fs;
use std::path::Path;

/// The variable. Whether it is there decides, not its value.
pub const VARIABLE: &str = "UPDATE_SNAPSHOTS";

/// Whether files are to be written instead of compared.
#[must_use]
pub fn is_updating() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Compares a text with a file, or writes the file if that is asked for.
///
/// # Errors
/// With the lines that differ, and how to update the file.
pub fn check(file: &Path, got: &str) -> Result<(), String> {
    compare(file, got, is_updating())
}

/// Looks for a table in a document of Markdown, or puts it in the place of the one that begins with the same line.
///
/// # Errors
/// With the table, if the document does not have it; if it has none that begins so, also while updating.
pub fn check_table(file: &Path, table: &str) -> Result<(), String> {
    let document = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    match with_table(&document, table) {
        Some(fresh) => check(file, &fresh),
        None => Err(format!("{} has no table that begins as this one does:\n{table}", file.display())),
    }
}

/// The document with this table in the place of the one that begins with the same line.
fn with_table(document: &str, table: &str) -> Option<String> {
    let mut old = String::new();
    let first = table.lines().next()?;
    let mut lines = document.split_inclusive('\n').skip_while(|line| line.trim_end() != first);
    old.extend(lines.by_ref().take_while(|line| line.starts_with('|')));
    (!old.is_empty()).then(|| document.replacen(&old, table, 1))
}

fn compare(file: &Path, got: &str, is_updating: bool) -> Result<(), String> {
    let expected = fs::read_to_string(file).ok();
    if expected.as_deref() == Some(got) {
        return Ok(());
    }
    if is_updating {
        return fs::write(file, got).map_err(|error| format!("{}: {error}", file.display()));
    }
    let expected = expected.unwrap_or_default();
    Err(format!(
        "{} differs {}If the new text is right, run the test again with {VARIABLE}=1.",
        file.display(),
        difference(&expected, got)
    ))
}

/// The lines that differ, those between the first and the last of them included.
fn difference(expected: &str, got: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), got.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let left = old.len().min(new.len()) - same;
    let end = old.iter().rev().zip(new.iter().rev()).take(left).take_while(|(old, new)| old == new).count();
    let marked = |lines: &[&str], mark: char| -> String {
        lines[same..lines.len() - end].iter().map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("from line {}:\n{}{}", same + 1, marked(&old, '-'), marked(&new, '+'))
}

#[cfg(test)]
mod tests {
    use super::{compare, difference, with_table};
    use crate::folder::Folder;

    #[test]
    fn a_difference_shows_the_lines_that_differ() {
        assert_eq!(difference("a\nb\nc\n", "a\nx\ny\nc\n"), "from line 2:\n- b\n+ x\n+ y\n");
        assert_eq!(difference("a\n", "a\na\n"), "from line 2:\n+ a\n");
    }

    #[test]
    fn a_table_goes_where_the_one_with_its_first_line_is() {
        let document = "a\n| x | y |\n|---|---|\n| 1 | 2 |\n\nb\n";
        let table = "| x | y |\n|---|---|\n| 3 | 4 |\n| 5 | 6 |\n";
        assert_eq!(with_table(document, table), Some(format!("a\n{table}\nb\n")));
        assert_eq!(with_table(document, "| z |\n"), None);
    }

    #[test]
    fn a_file_is_compared_unless_it_is_to_be_updated() {
        let folder = Folder::new("snapshot");
        let file = folder.at().join("file.txt");
        let why = compare(&file, "a\n", false).unwrap_err();
        assert!(why.contains("UPDATE_SNAPSHOTS=1") && !file.exists(), "{why}");
        assert_eq!(compare(&file, "a\n", true), Ok(()));
        assert_eq!(compare(&file, "a\n", false), Ok(()));
        assert!(compare(&file, "b\n", false).unwrap_err().contains("- a\n+ b\n"));
        assert_eq!((compare(&file, "b\n", true), compare(&file, "b\n", false)), (Ok(()), Ok(())));
    }
}
