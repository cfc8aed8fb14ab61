//! Reports documents with errors, for commands that need valid ones.

use std::io::{self, Write};

use tollgate_policy::{Diagnostic, Sources};

use crate::documents::CheckedDocuments;
use crate::finding::Finding;
use crate::formats::json;
use crate::render;

/// Whoever reads what a command prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Audience {
    /// Finds errors on the other stream: this one is for what the command makes.
    Person,
    /// Finds JSON on the stream where it waits for some.
    Program,
}

/// Tells what is wrong with these documents. Those without errors have nothing to tell.
pub(crate) fn tell(
    documents: &[&CheckedDocuments],
    reader: Audience,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    let wrong = || documents.iter().filter(|checked| !checked.usable());
    if reader == Audience::Program {
        let findings: Vec<_> = wrong().flat_map(|checked| checked.all()).collect();
        let more = wrong().fold(0_usize, |sum, checked| sum.saturating_add(checked.more));
        return writeln!(out, "{:#}", json::unusable(&findings, more));
    }
    for checked in wrong() {
        let lines = checked.in_consumers.iter().take(DRAWN_MAX.saturating_sub(checked.findings.len()));
        for finding in checked.findings.iter().take(DRAWN_MAX) {
            writeln!(err, "{}\n", render::draw(finding, &checked.sources))?;
        }
        for finding in lines {
            writeln!(err, "{}\n", render::without_text(finding))?;
        }
        let all = checked.findings.len().saturating_add(checked.in_consumers.len());
        let more = all.saturating_sub(DRAWN_MAX).saturating_add(checked.more);
        if more > 0 {
            writeln!(err, "{more} more are not shown; `tollgate lint --all` draws all of them\n")?;
        }
    }
    Ok(())
}

/// Maximum findings of a document that are drawn by commands other than `lint`.
const DRAWN_MAX: usize = 50;

/// Tells findings that are in files that were read.
pub(crate) fn tell_findings(
    findings: &[Diagnostic],
    sources: &Sources,
    reader: Audience,
    (out, err): (&mut dyn Write, &mut dyn Write),
) -> io::Result<()> {
    if reader == Audience::Program {
        let findings: Vec<_> = findings.iter().map(|finding| Finding::of(finding, sources)).collect();
        return writeln!(out, "{:#}", json::unusable(&findings, 0));
    }
    findings.iter().try_for_each(|finding| writeln!(err, "{}\n", render::draw(finding, sources)))
}
