//! The result of a check: a grade, a sentence, and a remedy.

/// The grade of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Grade {
    /// Nothing is wrong.
    Good,
    /// Worth knowing; nothing is wrong.
    Note,
    /// It works, but may fail or be slow because of this.
    Warning,
    /// It does not work, or limits can be bypassed.
    Fault,
    /// The check was not possible.
    Unknown,
}

impl Grade {
    /// All grades, worst first.
    pub(crate) const ALL: [Self; 5] = [Self::Fault, Self::Warning, Self::Unknown, Self::Note, Self::Good];

    /// Its name, for people and programs.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Fault => "fault",
            Self::Unknown => "not known",
        }
    }
}

/// The result of one check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    /// The name of the check.
    pub(crate) check: &'static str,
    /// Its grade.
    pub(crate) grade: Grade,
    /// What was found, as a sentence without a full stop. Text from the server in it is not escaped yet.
    pub(crate) found: String,
    /// The remedy, with a command or setting; `None` if there is nothing to do.
    pub(crate) cure: Option<String>,
}

impl Finding {
    pub(crate) fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, grade: Grade::Good, found: found.into(), cure: None }
    }

    pub(crate) fn note(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { check, grade: Grade::Note, found: found.into(), cure: Some(cure.into()) }
    }

    pub(crate) fn warning(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { check, grade: Grade::Warning, found: found.into(), cure: Some(cure.into()) }
    }

    pub(crate) fn fault(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self { check, grade: Grade::Fault, found: found.into(), cure: Some(cure.into()) }
    }

    pub(crate) fn unknown(check: &'static str, why: impl Into<String>, needed: impl Into<String>) -> Self {
        Self { check, grade: Grade::Unknown, found: why.into(), cure: Some(needed.into()) }
    }
}
