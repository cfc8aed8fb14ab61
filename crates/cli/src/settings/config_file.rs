//! A file that may contain settings of `tollgate serve`, and whether it is also a policy.

use tollgate_policy::section::Outline;
use tollgate_policy::{Findings, Place, Sources};

use super::section;
use super::value::Value;

/// A setting that stands in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileSetting {
    /// Where it stands below `serve`.
    pub(crate) path: String,
    /// What is written; nothing if it is wrong, which is among the findings. Names of files are as seen from the current
    /// folder, not from that of the file.
    pub(crate) value: Option<Value>,
    /// Where.
    pub(crate) place: Place,
}

/// What a file says of `tollgate serve`.
#[derive(Clone, Debug)]
pub(crate) struct ConfigFile {
    /// What it is called.
    pub(crate) name: String,
    /// Whether it is a Tollgate file, and not an OpenAPI document.
    pub(crate) native: bool,
    /// Its section `serve`, if it has one: every setting in it.
    pub(crate) serve: Option<Vec<FileSetting>>,
    /// Where the section is named, or else the file begins.
    pub(crate) place: Place,
    /// The first field of a Tollgate file that is about limits or those who are limited: the file is a policy.
    pub(crate) policy: Option<(&'static str, Place)>,
}

impl ConfigFile {
    /// Reads a file: its grammar, its root's fields, and its section `serve`. The text is kept in `sources`, for messages.
    ///
    /// What is wrong is added to the findings; without a file there is an error among them.
    pub(crate) fn read(
        name: &str,
        text: &str,
        sources: &mut Sources,
        findings: &mut Findings,
    ) -> Option<Self> {
        let mut written = Vec::new();
        let outline = Outline::read((name, text), sources, findings, &mut |section, reader| {
            written = section::read(section, reader);
        })?;
        Some(Self {
            name: name.into(),
            native: outline.native,
            serve: outline.serve.map(|_| written),
            place: outline.serve.unwrap_or(outline.start),
            policy: outline.policy,
        })
    }
}
