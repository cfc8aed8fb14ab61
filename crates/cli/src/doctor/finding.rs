//! What a check came to: a grade, a sentence, and what to do. Nothing is judged or printed here.

/// How a check came out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Grade {
    /// As it should be.
    Good,
    /// Worth knowing; nothing is wrong.
    Note,
    /// It works, and can fail or be slow because of this.
    Warning,
    /// It does not work, or limits can be got round.
    Fault,
    /// The check could not be made. That is never good.
    Unknown,
}

impl Grade {
    /// In the order in which they are counted up, the worst first.
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

/// One check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    /// Which check, in a word.
    pub(crate) check: &'static str,
    /// How it came out.
    pub(crate) grade: Grade,
    /// What was found, as a sentence without its full stop. Words of the server in it are not made printable yet.
    pub(crate) found: String,
    /// What to do, with the command or the setting; nothing if there is nothing to do.
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
