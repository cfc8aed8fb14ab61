//! Prints a diff for a terminal: aligned tables in plain text. The command adds colours.

use super::{Diff, cells, fold};

impl Diff {
    /// For people at a terminal: a summary, then operations, limits, settings and approvals, as far as there are some.
    /// Operations with the same change are one row, and so are tiers.
    #[must_use]
    pub fn human(&self) -> String {
        let mut out = format!("{}\n", cells::summary(self));
        table(&mut out, &cells::OPERATION_HEADS, &fold::operations(&self.operations));
        if let Some(more) = cells::left_out(self) {
            out.push_str(&format!("{more}\n"));
        }
        let limits: Vec<Vec<String>> = self.limits.iter().flat_map(cells::limit).collect();
        table(&mut out, &cells::LIMIT_HEADS, &limits);
        if let Some(rollout) = cells::rollout(self) {
            out.push_str(&format!("\n{rollout}\n"));
        }
        if let Some(lockouts) = cells::lockouts(self) {
            out.push_str(&format!("\n{lockouts}\n"));
        }
        let settings: Vec<Vec<String>> =
            self.settings.iter().map(|of| vec![of.verdict.to_string(), of.text.clone()]).collect();
        table(&mut out, &["Change", "Setting"], &settings);
        let approvals = self.approvals.iter().map(|approval| {
            let why: Vec<String> = approval.why.iter().map(|name| tollgate_http::text::shown(name)).collect();
            vec![tollgate_http::text::shown(&approval.who), why.join(", ")]
        });
        table(&mut out, &["Approval", "Because of"], &approvals.collect::<Vec<_>>());
        out
    }
}

/// A table after an empty line, with heads in capitals. Nothing if there is no row.
fn table(out: &mut String, heads: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let heads: Vec<String> = heads.iter().map(|head| head.to_uppercase()).collect();
    let length = |text: &String| text.chars().count();
    let mut widths: Vec<usize> = heads.iter().map(length).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(length(cell));
        }
    }
    out.push('\n');
    for row in std::iter::once(&heads).chain(rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let padding = width.saturating_sub(length(cell)).saturating_add(2);
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', padding));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
