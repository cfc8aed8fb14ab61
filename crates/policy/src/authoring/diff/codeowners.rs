//! Prints the required approvals in the syntax of a CODEOWNERS file, as a report.

use super::Diff;
use super::fold;

impl Diff {
    /// `file  owners  # limits`: for each document in which a limit that changed is written, and for each set of those who
    /// have to agree, one line. Spaces in a file's name are written `\ `, as in such a file; a name of somebody that has
    /// spaces stands in quotes. What is nobody's is a comment.
    #[must_use]
    pub fn codeowners(&self) -> String {
        let each = self.reviews.iter().map(|review| {
            let who: Vec<String> = review.who.iter().map(|name| quoted(name)).collect();
            (tollgate_http::text::shown(&review.limit), [file(&review.file), who.join(" ")])
        });
        let groups = fold::grouped(each);
        let width = |column: usize| {
            let owned = groups.iter().map(|(_, cells)| cells).filter(|[_, who]| !who.is_empty());
            owned.filter_map(|cells| cells.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths = [width(0), width(1)];
        let mut out = String::new();
        for (limits, [file, who]) in &groups {
            let limits = fold::names(limits);
            if who.is_empty() {
                out.push_str(&format!("# {file}: no owner: {limits}\n"));
                continue;
            }
            let [file_width, who_width] = widths;
            out.push_str(&format!("{file:file_width$}  {who:who_width$}  # {limits}\n"));
        }
        out
    }
}

/// A file's name as a pattern of such a file. It is not cut: it has to be found.
fn file(name: &str) -> String {
    let mut out = String::new();
    for char in name.chars() {
        match char {
            ' ' | '\\' | '#' => out.extend(['\\', char]),
            char if char.is_control() => out.extend(char.escape_unicode()),
            char => out.push(char),
        }
    }
    out
}

/// Somebody as one word.
fn quoted(name: &str) -> String {
    let shown = tollgate_http::text::shown(name);
    if shown.contains(char::is_whitespace) { format!("\"{}\"", shown.replace('"', "'")) } else { shown }
}
