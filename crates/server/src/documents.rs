//! A document and all that it leads to, from files: a policy and its consumers, and everything that is wrong with them.

use tollgate_policy::consumers::{Limits, Loader};
use tollgate_policy::text::shown;
use tollgate_policy::{Diagnostic, Directory, Place, Policy, Severity, Sources};

use crate::files;
use crate::report::{Finding, Span};

/// What was read, and what was found on the way. It can be used if nothing found is an error.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The files that were read, but for the consumers.
    pub(crate) sources: Sources,
    /// What was found in them.
    pub(crate) findings: Vec<Diagnostic>,
    /// How much was found beyond that.
    pub(crate) more: usize,
    /// What is wrong with the consumers file. It is not kept, so there is no text to draw.
    pub(crate) in_consumers: Vec<Finding>,
    /// The policy, if the documents make one.
    pub(crate) policy: Option<Policy>,
    /// The consumers, if the policy names a file of them and nothing is wrong with it.
    pub(crate) directory: Option<Directory>,
}

impl Checked {
    /// Whether there is a policy and nothing that was found is an error.
    pub(crate) fn usable(&self) -> bool {
        let fine = self.findings.iter().all(|finding| finding.severity != Severity::Error);
        self.policy.is_some() && fine && self.more == 0 && self.in_consumers.is_empty()
    }
}

/// The file that an argument names, read.
pub(crate) struct Opened<'a> {
    /// What it is called in messages.
    pub(crate) name: &'a str,
    text: Option<String>,
}

/// Reads the file that an argument names, or standard input.
///
/// # Errors
/// A sentence with its name.
pub(crate) fn open(argument: &str) -> Result<Opened<'_>, String> {
    let (name, text) = match argument {
        files::DASH => (files::STANDARD_INPUT, files::read_standard_input()),
        name => (name, files::read(name)),
    };
    let text = text.map_err(|why| format!("{} cannot be read: {why}", shown(name)))?;
    Ok(Opened { name, text: Some(text) })
}

impl Opened<'_> {
    /// The text of a file by its name: of this one once, and after it of those that it leads to.
    pub(crate) fn read(&mut self, asked: &str) -> Result<String, String> {
        match self.text.take_if(|_| asked == self.name) {
            Some(text) => Ok(text),
            None => files::read(asked),
        }
    }
}

/// Reads the document that an argument names, and all that it leads to.
///
/// # Errors
/// When the document itself cannot be read: that is a sentence, and no finding.
pub(crate) fn check(argument: &str) -> Result<Checked, String> {
    let mut opened = open(argument)?;
    Ok(match Policy::load(opened.name, &mut |asked| opened.read(asked)) {
        Err(refused) => Checked {
            findings: refused.findings.all().to_vec(),
            more: refused.findings.more(),
            sources: refused.sources,
            in_consumers: Vec::new(),
            policy: None,
            directory: None,
        },
        Ok(policy) => with_consumers(policy),
    })
}

fn with_consumers(policy: Policy) -> Checked {
    let mut checked = Checked {
        sources: policy.sources().clone(),
        findings: policy.findings().all().to_vec(),
        more: policy.findings().more(),
        in_consumers: Vec::new(),
        policy: None,
        directory: None,
    };
    if let Some((file, place)) = policy.settings().consumers.clone() {
        let mut loader = Loader::new(Limits::default());
        match files::feed(&file, &mut |piece| loader.feed(piece)) {
            Err(why) => checked.findings.push(unreadable(&file, place, &why)),
            Ok(()) => match directory(loader, &policy, &file) {
                Ok(directory) => checked.directory = Some(directory),
                Err(wrong) => checked.in_consumers = wrong,
            },
        }
    }
    checked.policy = Some(policy);
    checked
}

fn directory(loader: Loader, policy: &Policy, file: &str) -> Result<Directory, Vec<Finding>> {
    let wrong = |line, column, message| Finding {
        severity: Severity::Error,
        code: "consumers",
        message,
        span: Span { file: file.into(), line, column, end: None },
        label: String::new(),
        also: Vec::new(),
        help: None,
    };
    let consumers = loader.finish().map_err(|errors| {
        errors
            .into_iter()
            .map(|error| wrong(error.line, Some(error.column), error.message))
            .collect::<Vec<_>>()
    })?;
    Directory::new(consumers, policy)
        .map_err(|errors| errors.into_iter().map(|error| wrong(error.line, None, error.message)).collect())
}

fn unreadable(file: &str, place: Place, why: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: "unreadable",
        message: format!("{} cannot be read: {why}", shown(file)),
        place,
        label: String::new(),
        also: Vec::new(),
        help: None,
    }
}
