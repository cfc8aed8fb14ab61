//! Loads a document with every file that it references: a policy, its consumers, and all their errors.

mod folder;

use tollgate_http::text::shown;
use tollgate_policy::consumers::{ERRORS_MAX, Loader, LoaderLimits};
use tollgate_policy::{ConsumerIndex, Diagnostic, Place, Policy, Severity, Sources};

use crate::files;
use crate::finding::{Finding, Span};
use crate::settings::section;
pub(crate) use folder::{DocumentKind, in_folder};

/// Loaded documents, and the findings in them.
#[derive(Debug)]
pub(crate) struct CheckedDocuments {
    /// The files that were read, except the consumers file.
    pub(crate) sources: Sources,
    /// The findings.
    pub(crate) findings: Vec<Diagnostic>,
    /// The number of further findings.
    pub(crate) more: usize,
    /// Errors of the consumers file. Its text is not kept, so it cannot be drawn.
    pub(crate) in_consumers: Vec<Finding>,
    /// The policy, if the documents are valid.
    pub(crate) policy: Option<Policy>,
    /// The consumers, if the policy names a valid consumers file.
    pub(crate) directory: Option<ConsumerIndex>,
}

impl CheckedDocuments {
    /// Returns true if there is a policy and no finding is an error.
    pub(crate) fn usable(&self) -> bool {
        let fine = self.findings.iter().all(|finding| finding.severity != Severity::Error);
        self.policy.is_some() && fine && self.more == 0 && self.in_consumers.is_empty()
    }

    /// All findings, with lines and columns.
    pub(crate) fn all(&self) -> Vec<Finding> {
        let in_documents = self.findings.iter().map(|finding| Finding::of(finding, &self.sources));
        in_documents.chain(self.in_consumers.iter().cloned()).collect()
    }
}

/// The file that an argument names, read.
pub(crate) struct OpenedFile<'a> {
    /// What it is called in messages.
    pub(crate) name: &'a str,
    text: Option<String>,
}

/// Reads the file that an argument names, or standard input.
///
/// # Errors
/// A sentence with its name.
pub(crate) fn open(argument: &str) -> Result<OpenedFile<'_>, String> {
    let (name, text) = match argument {
        files::DASH => (files::STANDARD_INPUT, files::read_standard_input()),
        name => (name, files::read(name)),
    };
    let text = text.map_err(|why| format!("{} cannot be read: {why}", shown(name)))?;
    Ok(OpenedFile { name, text: Some(text) })
}

impl OpenedFile<'_> {
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
pub(crate) fn check(argument: &str) -> Result<CheckedDocuments, String> {
    check_noting(argument, &mut |_, _| {})
}

/// Takes note of what is read: the file's name and a piece of it, or none if it cannot be read.
pub(crate) type OnRead<'a> = &'a mut dyn FnMut(&str, Option<&[u8]>);

/// As [`check`], and every file that is asked for is noted, with what was read of it.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_noting(argument: &str, note: OnRead<'_>) -> Result<CheckedDocuments, String> {
    let (mut checked, consumers) = load(argument, note)?;
    if let Some((file, place)) = consumers {
        checked.consumers(&file, place, note);
    }
    Ok(checked)
}

/// As [`check`], without the consumers file.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_policy(argument: &str) -> Result<CheckedDocuments, String> {
    load(argument, &mut |_, _| {}).map(|(checked, _)| checked)
}

/// The documents, and where they name a consumers file.
fn load(argument: &str, note: OnRead<'_>) -> Result<(CheckedDocuments, Option<(String, Place)>), String> {
    let mut opened = open(argument).inspect_err(|_| note(argument, None))?;
    let mut read = |asked: &str| {
        let text = opened.read(asked);
        note(asked, text.as_ref().ok().map(String::as_bytes));
        text
    };
    let name = if argument == files::DASH { files::STANDARD_INPUT } else { argument };
    let (in_consumers, directory) = (Vec::new(), None);
    Ok(match Policy::load_with_section(name, &mut read, &mut section::check) {
        Err(refused) => {
            let findings = refused.findings.all().to_vec();
            let (sources, more) = (refused.sources, refused.findings.more());
            let checked = CheckedDocuments { sources, findings, more, in_consumers, policy: None, directory };
            (checked, refused.consumers)
        }
        Ok(policy) => {
            let (sources, findings) = (policy.sources().clone(), policy.findings().all().to_vec());
            let (more, consumers) = (policy.findings().more(), policy.settings().consumers.clone());
            let policy = Some(policy);
            (CheckedDocuments { sources, findings, more, in_consumers, policy, directory }, consumers)
        }
    })
}

impl CheckedDocuments {
    /// Reads the consumers file that stands at this place of the settings. Without a policy only the file itself is checked.
    fn consumers(&mut self, file: &str, place: Place, note: OnRead<'_>) {
        let mut loader = Loader::new(LoaderLimits { errors: ERRORS_MAX, ..LoaderLimits::default() });
        note(file, Some(&[]));
        let mut first = true;
        let mut binary = None;
        let mut take = |piece: &[u8]| {
            note(file, Some(piece));
            if std::mem::take(&mut first) {
                binary = files::binary(piece);
            }
            if binary.is_none() {
                loader.feed(piece);
            }
        };
        let read = files::feed(file, &mut take);
        let why = match (read, binary) {
            (Ok(()), None) => {
                match directory(loader, self.policy.as_ref(), file) {
                    Ok(directory) => self.directory = directory,
                    Err(wrong) => self.in_consumers = wrong,
                }
                return;
            }
            (Ok(()), Some(what)) => what,
            (Err(why), _) => {
                note(file, None);
                why
            }
        };
        self.findings.push(unreadable(file, place, &why));
        // In the order of the document, as the others are.
        self.findings.sort_by_key(|finding| finding.place);
    }
}

fn directory(
    loader: Loader,
    policy: Option<&Policy>,
    file: &str,
) -> Result<Option<ConsumerIndex>, Vec<Finding>> {
    let wrong = |line, column, text: String| {
        let (message, help) = styled(&text);
        let span = Span { file: file.into(), line, column, end: None };
        let (severity, code, label, also) = (Severity::Error, "consumers", String::new(), Vec::new());
        Finding { severity, code, message, span, label, also, help }
    };
    let consumers = loader.finish().map_err(|errors| {
        errors
            .into_iter()
            .map(|error| wrong(error.line, Some(error.column), error.message))
            .collect::<Vec<_>>()
    })?;
    let Some(policy) = policy else { return Ok(None) };
    ConsumerIndex::new(consumers, policy)
        .map(Some)
        .map_err(|errors| errors.into_iter().map(|error| wrong(error.line, None, error.message)).collect())
}

/// Sentences as findings have them: what is wrong, and what to do, both without a capital and a full stop.
fn styled(text: &str) -> (String, Option<String>) {
    let plain = |text: &str| {
        let mut chars = text.trim_end_matches('.').chars();
        let first = chars.next().map(|first| first.to_ascii_lowercase());
        first.into_iter().chain(chars).collect::<String>()
    };
    let ends = text.match_indices(". ").map(|(at, _)| at);
    let is_end = |at: &usize| {
        let after = text.get(at.saturating_add(2)..).unwrap_or_default();
        after.starts_with(|first: char| first.is_ascii_uppercase())
    };
    match ends.into_iter().find(is_end).and_then(|at| text.split_at_checked(at.saturating_add(1))) {
        Some((message, help)) => (plain(message), Some(plain(help.trim_start()))),
        None => (plain(text), None),
    }
}

#[test]
fn sentences_are_styled_as_findings_are() {
    let told = |text| styled(text);
    assert_eq!(
        told("It is 1.5 wrong. Say e.g. 2. Or 3."),
        ("it is 1.5 wrong".into(), Some("say e.g. 2. Or 3".into()))
    );
    assert_eq!(told("there is no tier `a`"), ("there is no tier `a`".into(), None));
    assert_eq!(told(""), (String::new(), None));
}

fn unreadable(file: &str, place: Place, why: &str) -> Diagnostic {
    let message = format!("{} cannot be read: {why}", shown(file));
    Diagnostic::new(Severity::Error, "unreadable", place, message)
}
