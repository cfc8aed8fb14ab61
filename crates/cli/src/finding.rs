//! Findings with line and column, as all output formats use them.

use tollgate_http::text::shown;
use tollgate_policy::{Diagnostic, LineColumn, Place, Severity, Sources};

/// A stretch of a file, as people and programs count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    /// The file's name as it was given, or as a document has it.
    pub(crate) file: String,
    /// The line, from 1.
    pub(crate) line: u32,
    /// The character in the line, from 1, if it is known.
    pub(crate) column: Option<u32>,
    /// The character after the last, if it is known.
    pub(crate) end: Option<LineColumn>,
}

impl Span {
    /// A place in one of the files.
    pub(crate) fn of(place: Place, sources: &Sources) -> Self {
        let Some(source) = sources.get(place.file) else {
            return Self { file: String::new(), line: 1, column: None, end: None };
        };
        let start = source.line_column(place.start);
        let end = source.line_column(place.end.max(place.start));
        Self { file: source.name().into(), line: start.line, column: Some(start.column), end: Some(end) }
    }
}

/// One finding with its places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) span: Span,
    pub(crate) label: String,
    pub(crate) also: Vec<(Span, String)>,
    pub(crate) help: Option<String>,
}

impl Finding {
    /// A finding of a document.
    pub(crate) fn of(finding: &Diagnostic, sources: &Sources) -> Self {
        let also = finding.also.iter().map(|(place, label)| (Span::of(*place, sources), label.clone()));
        Self {
            severity: finding.severity,
            code: finding.code,
            message: finding.message.clone(),
            span: Span::of(finding.place, sources),
            label: finding.label.clone(),
            also: also.collect(),
            help: finding.help.clone(),
        }
    }

    /// Where it is, as `openapi.yaml:12:7`.
    pub(crate) fn place(&self) -> String {
        let column = self.span.column.map_or_else(String::new, |column| format!(":{column}"));
        format!("{}:{}{column}", self.span.file, self.span.line)
    }

    /// The message and what to do, in one line.
    pub(crate) fn sentence(&self) -> String {
        self.help.as_ref().map_or_else(|| self.message.clone(), |help| format!("{}; {help}", self.message))
    }
}

/// Something about the run itself, and about no place of a document: a file that cannot be read, findings left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RunNote {
    pub(crate) severity: Severity,
    pub(crate) message: String,
}

/// How many there are of each severity, and beyond those that are listed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SeverityCounts {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) notes: usize,
    /// Found, and not kept: there are too many.
    pub(crate) more: usize,
}

impl SeverityCounts {
    /// Counts one more.
    pub(crate) const fn add(&mut self, severity: Severity) {
        let count = match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
            Severity::Note => &mut self.notes,
        };
        *count = count.saturating_add(1);
    }

    /// Whether something is wrong. More findings than are listed are always wrong.
    pub(crate) const fn wrong(&self) -> bool {
        self.errors > 0 || self.more > 0
    }
}

/// `no errors`, or `3 errors, 1 warning`.
impl std::fmt::Display for SeverityCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.errors {
            0 => f.write_str("no errors")?,
            errors => f.write_str(&counted(errors, "error"))?,
        }
        for (count, what) in [(self.warnings, "warning"), (self.notes, "note")] {
            if count > 0 {
                write!(f, ", {}", counted(count, what))?;
            }
        }
        if self.more > 0 {
            write!(f, ", and {} more that are not listed", self.more)?;
        }
        Ok(())
    }
}

/// All of a text, with what would move the cursor or turn the writing shown as escapes.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|char| shown(char.encode_utf8(&mut [0; 4]))).collect()
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[test]
fn what_is_printable_is_whole_and_moves_no_cursor() {
    assert_eq!(printable(&"x".repeat(500)).len(), 500);
    assert_eq!(printable("a\x1b[2J\n\u{202e}b"), "a\\u{1b}[2J\\u{a}\\u{202e}b");
}

#[test]
fn counts_are_told_in_words() {
    let counts = |errors, warnings, notes, more| SeverityCounts { errors, warnings, notes, more }.to_string();
    assert_eq!(counts(0, 0, 0, 0), "no errors");
    assert_eq!(counts(1, 2, 0, 0), "1 error, 2 warnings");
    assert_eq!(counts(0, 1, 3, 0), "no errors, 1 warning, 3 notes");
    assert_eq!(counts(1000, 0, 0, 7), "1000 errors, and 7 more that are not listed");
}
