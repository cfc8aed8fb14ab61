//! What is wrong with a document, or could be better: a sentence, a place, and what to do. How it is drawn is not here.

use super::sources::{Place, Sources};

/// How much it matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The document cannot be used.
    Error,
    /// It can be used, and probably does not do what was meant.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// What kind of finding it is: a stable name, for filters and for SARIF.
    pub code: &'static str,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// Where.
    pub place: Place,
    /// What stands under the place, if there is more to say than the message.
    pub label: String,
    /// Other places that belong to it.
    pub also: Vec<(Place, String)>,
    /// What to do.
    pub help: Option<String>,
    /// The parts of a finding that is about several things at once.
    pub parts: Option<Box<DiagnosticParts>>,
}

/// What a finding about several things says of each of them, so that one of them can be taken out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiagnosticParts {
    /// Where each of them is, and its name.
    pub each: Vec<(Place, String)>,
    /// What is said of one of them, after its name.
    pub one: String,
    /// What is said of several, after their names.
    pub many: String,
}

impl DiagnosticParts {
    /// The message about these parts.
    pub(crate) fn message(&self) -> String {
        match self.each.as_slice() {
            [] => String::new(),
            [(_, name)] => format!("{name} {}", self.one),
            [(_, name), ..] => format!("{} limits, {name} and others, {}", self.each.len(), self.many),
        }
    }
}

impl Diagnostic {
    /// An error.
    pub(crate) fn error(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, place, message.into())
    }

    /// A warning.
    pub(crate) fn warning(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, place, message.into())
    }

    /// A note.
    pub(crate) fn note(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, place, message.into())
    }

    /// A finding with nothing but a message.
    #[must_use]
    pub const fn new(severity: Severity, code: &'static str, place: Place, message: String) -> Self {
        Self {
            severity,
            code,
            message,
            place,
            label: String::new(),
            also: Vec::new(),
            help: None,
            parts: None,
        }
    }

    /// The same finding about these parts only; `None` if there are none.
    #[must_use]
    pub(crate) fn of_parts(&self, parts: DiagnosticParts) -> Option<Self> {
        let ((place, _), others) = parts.each.split_first()?;
        let also = others.iter().map(|(place, name)| (*place, format!("{name} too"))).collect();
        let message = parts.message();
        Some(Self { place: *place, also, message, parts: Some(Box::new(parts)), ..self.clone() })
    }

    /// Another place that belongs to it.
    #[must_use]
    pub(crate) fn also(mut self, place: Place, label: impl Into<String>) -> Self {
        self.also.push((place, label.into()));
        self
    }

    /// What to do.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// In one line: `openapi.yaml:12:7: error: …; help: …`.
    #[must_use]
    pub fn line(&self, sources: &Sources) -> String {
        let help = self.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
        format!("{}: {}: {}{help}", sources.locate(self.place), self.severity.name(), self.message)
    }
}

/// Everything that was found, up to [`FINDINGS_MAX`](Findings::FINDINGS_MAX).
#[derive(Clone, Debug, Default)]
pub struct Findings {
    list: Vec<Diagnostic>,
    /// How many more there were.
    more: usize,
    /// Whether an error is among those.
    more_errors: bool,
}

impl Findings {
    /// Maximum findings that are kept; further ones are counted. It bounds the memory that a document made of mistakes takes.
    pub const FINDINGS_MAX: usize = 100_000;
    /// Nearest words are looked up for so many findings. Nobody reads further ones one by one, and the look-up takes time.
    const SUGGESTIONS_MAX: usize = 1_000;

    /// Adds one.
    pub(crate) fn push(&mut self, finding: Diagnostic) {
        if self.list.len() < Self::FINDINGS_MAX {
            self.list.push(finding);
        } else {
            self.more = self.more.saturating_add(1);
            self.more_errors |= finding.severity == Severity::Error;
        }
    }

    /// Whether there are so many that further ones are said without a suggestion.
    pub(crate) const fn are_many(&self) -> bool {
        self.list.len() >= Self::SUGGESTIONS_MAX
    }

    /// Adds all of another list.
    pub(crate) fn append(&mut self, other: Self) {
        other.list.into_iter().for_each(|finding| self.push(finding));
        self.more = self.more.saturating_add(other.more);
        self.more_errors |= other.more_errors;
    }

    /// Every finding that was kept, in the order of the files and of their lines.
    #[must_use]
    pub fn all(&self) -> &[Diagnostic] {
        &self.list
    }

    /// How many were found beyond those that were kept.
    #[must_use]
    pub const fn more(&self) -> usize {
        self.more
    }

    /// Whether there is an error among them.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.more_errors || self.list.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// Whether nothing was found.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// By file, then by place, errors first where both are the same; what was said twice of one place is said once.
    pub(crate) fn sort(&mut self) {
        self.list.sort_by(|a, b| (a.place, a.severity, a.code).cmp(&(b.place, b.severity, b.code)));
        self.list.dedup();
    }

    /// Every finding in one line each.
    #[must_use]
    pub fn lines(&self, sources: &Sources) -> Vec<String> {
        self.list.iter().map(|finding| finding.line(sources)).collect()
    }
}
