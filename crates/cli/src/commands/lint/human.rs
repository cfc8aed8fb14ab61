//! Prints findings for people: source excerpts, at most a few of each code, and a summary.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::report::Report;
use crate::cli::LintArgs;
use crate::finding::counted;
use crate::render;

/// Findings of one code that are drawn. Further ones are counted, unless `--all` asks for them.
const DRAWN_PER_CODE_MAX: usize = 50;

/// Prints it.
pub(super) fn write(report: &Report, args: &LintArgs, out: &mut dyn Write) -> io::Result<()> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for (finding, drawing) in report.findings().iter().zip(&report.drawings) {
        let count = counts.entry(finding.code).or_default();
        *count = count.saturating_add(1);
        if *count > DRAWN_PER_CODE_MAX && !args.all {
            continue;
        }
        let sources =
            drawing.as_ref().and_then(|(drawn, number)| Some((drawn, report.sources.get(*number)?)));
        match sources {
            Some((drawn, sources)) => writeln!(out, "{}\n", render::draw(drawn, sources))?,
            None => writeln!(out, "{}\n", render::without_text(finding))?,
        }
    }
    if !args.all {
        not_shown(&counts, out)?;
    }
    // What could not be read was told on the other stream.
    let unread = match report.unread.len() {
        0 => String::new(),
        unread => format!("; {} cannot be read", counted(unread, "file")),
    };
    let suppressed = match report.suppressed.len() {
        0 => String::new(),
        count => format!(", {count} suppressed"),
    };
    match (report.checked.len(), report.counts.wrong()) {
        _ if args.quiet => Ok(()),
        (0, _) => Ok(()),
        (_, true) => writeln!(out, "{}{suppressed}{unread}", report.counts),
        (_, false) => {
            report.coverage.tables(out)?;
            report.owners.table(out)?;
            writeln!(out, "{}{suppressed}{}{unread}", report.counts, report.coverage)
        }
    }
}

/// How many of which code are not drawn, and how to see them.
fn not_shown(counts: &BTreeMap<&'static str, usize>, out: &mut dyn Write) -> io::Result<()> {
    let more = counts.iter().map(|(code, count)| (code, count.saturating_sub(DRAWN_PER_CODE_MAX)));
    let more: Vec<_> = more.filter(|(_, more)| *more > 0).collect();
    for (code, more) in &more {
        writeln!(out, "{more} more of `{code}` are not shown")?;
    }
    if !more.is_empty() {
        writeln!(out, "--all shows them here, --format json lists them for programs\n")?;
    }
    Ok(())
}
