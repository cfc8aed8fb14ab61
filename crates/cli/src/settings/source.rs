//! Where a setting comes from, and errors with that place.

use std::io::{self, Write};

use tollgate_http::text::shown;
use tollgate_policy::{Diagnostic, Place, Severity, Sources};

use super::value::Value;
use crate::finding::printable;
use crate::render;

/// Where a setting comes from. The earlier, the stronger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingSource {
    /// A flag of the command.
    Flag(&'static str),
    /// A variable of the environment.
    Variable(String),
    /// A place in a file.
    File(Place),
    /// It is the file itself that holds the settings: this is said of a policy only.
    Itself,
    /// Nobody gave it.
    Default,
}

impl SettingSource {
    /// In a few words: `--listen`, `TOLLGATE_LISTEN`, `tollgate.yaml:7`, `default`.
    #[must_use]
    pub fn shown(&self, sources: &Sources) -> String {
        match self {
            Self::Flag(flag) => (*flag).into(),
            Self::Variable(name) => printable(name),
            Self::File(place) => {
                let located = sources.locate(*place);
                // The line is enough to find it.
                printable(located.rsplit_once(':').map_or(located.as_str(), |(line, _)| line))
            }
            Self::Itself => "the file itself".into(),
            Self::Default => "default".into(),
        }
    }
}

/// A setting that somebody gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct GivenSetting {
    /// Which.
    pub(super) path: String,
    /// What; nothing if it is wrong, which has been said.
    pub(super) value: Option<Value>,
    /// By whom.
    pub(super) given: SettingSource,
}

/// What is wrong with settings, or could be better.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingProblem {
    /// In a file, at its place.
    InFile(Diagnostic),
    /// Elsewhere: a sentence with the name of the flag or variable.
    Told(Severity, String),
}

impl SettingProblem {
    /// An error in a sentence.
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self::Told(Severity::Error, message.into())
    }

    /// A value of a flag or a variable that cannot be used: `--listen 8080 has no address`.
    ///
    /// Why not goes on from the value, or is a sentence of its own that does not repeat it.
    pub(super) fn value(name: &str, between: char, value: &str, why: &str) -> Self {
        if why.starts_with(|first: char| first.is_ascii_lowercase()) {
            return Self::error(format!("{name}{between}{} {why}", shown(value)));
        }
        Self::error(format!("{name}: {why}"))
    }

    /// Something about a setting, at the place where it was given.
    pub(super) fn about(
        severity: Severity,
        given: Option<&SettingSource>,
        message: &str,
        help: &str,
    ) -> Self {
        let by = match given {
            Some(SettingSource::File(place)) => {
                return Self::InFile(Diagnostic {
                    help: Some(help.into()),
                    ..Diagnostic::new(severity, "settings", *place, message.into())
                });
            }
            Some(SettingSource::Flag(name)) => format!("{name}: "),
            Some(SettingSource::Variable(name)) => format!("{name}: "),
            Some(SettingSource::Itself | SettingSource::Default) | None => String::new(),
        };
        Self::Told(severity, format!("{by}{message}; {help}"))
    }

    /// How much it matters.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self {
            Self::InFile(finding) => finding.severity,
            Self::Told(severity, _) => *severity,
        }
    }

    /// In one line: `tollgate.yaml:7:13: error: …`, or the sentence.
    #[must_use]
    pub fn line(&self, sources: &Sources) -> String {
        match self {
            Self::InFile(finding) => finding.line(sources),
            Self::Told(_, message) => message.clone(),
        }
    }

    /// Tells it to people, drawn if it is in a file.
    pub(crate) fn tell(&self, sources: &Sources, err: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::InFile(finding) => writeln!(err, "{}\n", render::draw(finding, sources)),
            Self::Told(Severity::Error, message) => writeln!(err, "tollgate: {message}"),
            Self::Told(Severity::Warning | Severity::Note, message) => {
                writeln!(err, "tollgate: warning: {message}")
            }
        }
    }
}
