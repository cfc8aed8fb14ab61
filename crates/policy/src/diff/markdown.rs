//! A difference for a pull request, in Markdown as GitHub and GitLab read it. Nothing that a document says is markup here.

use super::{Diff, cells};

impl Diff {
    /// For a pull request: a summary line, then tables and lists, as far as there is something in them.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = format!("**{}**\n", escaped(&cells::summary(self)));
        let operations: Vec<Vec<String>> =
            self.operations.iter().map(|row| cells::operation(row).to_vec()).collect();
        table(&mut out, &cells::OPERATION_HEADS, &operations);
        if let Some(more) = cells::left_out(self) {
            out.push_str(&format!("\n{more}\n"));
        }
        let limits: Vec<Vec<String>> =
            self.limits.iter().flat_map(cells::limit).map(|row| row.to_vec()).collect();
        table(&mut out, &cells::LIMIT_HEADS, &limits);
        list(
            &mut out,
            "Settings",
            self.settings.iter().map(|of| format!("{}: {}", of.verdict, escaped(&of.text))),
        );
        let approvals = self.approvals.iter().map(|approval| {
            let why: Vec<String> =
                approval.why.iter().map(|name| escaped(&crate::text::shown(name))).collect();
            format!("{}, because of {}", escaped(&crate::text::shown(&approval.who)), why.join(", "))
        });
        list(&mut out, "Approvals", approvals);
        out
    }
}

fn table(out: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    out.push('\n');
    out.push_str(&line(&heads.iter().map(|head| (*head).to_owned()).collect::<Vec<_>>()));
    out.push_str(&line(&heads.iter().map(|_| "---".to_owned()).collect::<Vec<_>>()));
    for row in rows {
        out.push_str(&line(&row.iter().map(|cell| escaped(cell)).collect::<Vec<_>>()));
    }
}

fn list(out: &mut String, head: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.map(|item| format!("- {item}\n")).collect();
    if !items.is_empty() {
        out.push_str(&format!("\n**{head}**\n\n{}", items.concat()));
    }
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
