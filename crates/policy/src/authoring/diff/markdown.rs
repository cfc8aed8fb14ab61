//! Prints a diff for a pull request, in the Markdown of GitHub and GitLab. Escapes all text from documents.

use super::{Diff, cells, fold};

/// So many characters are drawn: GitHub takes 65,536 in a comment. Of each table and list, the rows that do not fit are
/// only counted.
pub const MARKDOWN_CHARS_MAX: usize = 60_000;
/// A list takes so much of them at most, so that the tables have room.
const LIST_CHARS_MAX: usize = 7_500;
/// What is said of the rows that do not fit takes no more than this.
const NOTE_CHARS: usize = 60;
/// A table of operations with more rows than this is folded away.
const ROWS_OPEN: usize = 20;

impl Diff {
    /// For a pull request: a summary line, then limits, operations, settings and approvals, as far as there are some.
    /// At most [`MARKDOWN_CHARS_MAX`] characters.
    #[must_use]
    pub fn markdown(&self) -> String {
        let summary = format!("**{}**\n", escaped(&cells::summary(self)));
        let notes = [cells::rollout(self), cells::lockouts(self)].into_iter().flatten();
        let notes: String = notes.map(|text| format!("\n{}\n", escaped(&text))).collect();
        let settings = self.settings.iter().map(|of| format!("{}: {}", of.verdict, escaped(&of.text)));
        let settings = list("Settings", settings).drawn(LIST_CHARS_MAX);
        let approvals = self.approvals.iter().map(|approval| {
            let why: Vec<String> =
                approval.why.iter().map(|name| escaped(&tollgate_http::text::shown(name))).collect();
            format!(
                "{}, because of {}",
                escaped(&tollgate_http::text::shown(&approval.who)),
                fold::names(&why)
            )
        });
        let approvals = list("Approvals", approvals).drawn(LIST_CHARS_MAX);
        let limits =
            table(&cells::LIMIT_HEADS, &self.limits.iter().flat_map(cells::limit).collect::<Vec<_>>());
        let operations =
            self.folded_away(table(&cells::OPERATION_HEADS, &fold::operations(&self.operations)));
        // Either table may have half of the room, and what the other does not need.
        let taken = [&summary, &notes, &settings, &approvals].map(|text| length(text)).iter().sum();
        let room = MARKDOWN_CHARS_MAX.saturating_sub(taken);
        let least = length(&operations.drawn(room / 2));
        let limits = limits.drawn(room.saturating_sub(least));
        let operations = operations.drawn(room.saturating_sub(length(&limits)));
        [summary, limits, notes, operations, settings, approvals].concat()
    }

    /// The table of operations, behind a line to open it if it is long.
    fn folded_away(&self, mut table: Section) -> Section {
        let rows = table.lines.len();
        if rows > ROWS_OPEN {
            let before = table.before;
            table.before = format!("\n<details>\n<summary>Operations: {rows} rows</summary>\n{before}");
            table.after = "\n</details>\n".into();
        }
        if let Some(more) = cells::left_out(self) {
            table.after.push_str(&format!("\n{more}\n"));
        }
        table
    }
}

/// Everything of one kind: what stands before it, its lines, and what stands after it.
struct Section {
    before: String,
    lines: Vec<String>,
    after: String,
}

impl Section {
    /// As much of it as there is room for, in characters. Nothing if there is no line.
    fn drawn(&self, room: usize) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let mut used = length(&self.before).saturating_add(length(&self.after)).saturating_add(NOTE_CHARS);
        let mut lines = String::new();
        let mut left = self.lines.len();
        for line in &self.lines {
            used = used.saturating_add(length(line));
            if used > room {
                break;
            }
            lines.push_str(line);
            left = left.saturating_sub(1);
        }
        let note = if left == 0 { String::new() } else { format!("\n… and {left} more rows.\n") };
        if lines.is_empty() { note } else { format!("{}{lines}{}{note}", self.before, self.after) }
    }
}

fn table(heads: &[&str], rows: &[Vec<String>]) -> Section {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads_line = line(&heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>());
    let rule = line(&heads.iter().map(|_| "---".to_owned()).collect::<Vec<_>>());
    let escaped = |row: &Vec<String>| line(&row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>());
    let lines = rows.iter().map(escaped).collect();
    Section { before: format!("\n{heads_line}{rule}"), lines, after: String::new() }
}

fn list(head: &str, items: impl Iterator<Item = String>) -> Section {
    let lines = items.map(|item| format!("- {item}\n")).collect();
    Section { before: format!("\n**{head}**\n\n"), lines, after: String::new() }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A text that no reader of Markdown takes for markup or for the end of a cell.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => out.extend(['\\', char]),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

#[test]
fn no_text_becomes_markup() {
    assert_eq!(
        escaped("GET /a|b `x` *y* <i> [z](u) \\ _"),
        "GET /a\\|b \\`x\\` \\*y\\* &lt;i&gt; \\[z\\](u) \\\\ \\_"
    );
}
