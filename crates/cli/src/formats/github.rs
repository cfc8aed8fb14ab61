//! GitHub workflow commands, which show findings next to their lines.
//!
//! `::error file=openapi.yaml,line=12,col=7,title=…::…`, as
//! <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands> has it.

use std::io::{self, Write};

use tollgate_policy::Severity;

use crate::finding::{Finding, RunNote};

/// Prints one line for each finding, and one for each that is about the run.
pub(crate) fn write(findings: &[Finding], asides: &[RunNote], out: &mut dyn Write) -> io::Result<()> {
    for finding in findings {
        let command = command(finding.severity);
        write!(out, "::{command} file={},line={}", property(&finding.span.file), finding.span.line)?;
        if let Some(column) = finding.span.column {
            write!(out, ",col={column}")?;
        }
        writeln!(out, ",title={}::{}", property(finding.code), data(&finding.sentence()))?;
    }
    asides
        .iter()
        .try_for_each(|aside| writeln!(out, "::{}::{}", command(aside.severity), data(&aside.message)))
}

const fn command(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    }
}

/// A message: what would end the line is escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property: what would end the property, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[test]
fn what_would_end_a_command_or_a_property_is_escaped() {
    assert_eq!(data("100 %\r\nof: a, b"), "100 %25%0D%0Aof: a, b");
    assert_eq!(property("c:\\a,b%\n"), "c%3A\\a%2Cb%25%0A");
}
