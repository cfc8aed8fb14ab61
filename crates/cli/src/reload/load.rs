//! Loads a policy and its consumers from files, at start-up and on reload.

use std::io::{self, Write};
use std::sync::Arc;

use tollgate_policy::{ConsumerIndex, Policy, Severity};

use super::file_hashes::FileHashes;
use crate::documents::{self, CheckedDocuments};
use crate::files;
use crate::finding::printable;
use crate::report_errors::{self, Audience};

/// Maximum number of errors in one log line; the others are counted.
const TOLD_MAX: usize = 5;

/// What was loaded.
#[derive(Debug)]
pub struct LoadedPolicy {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The consumers, if the policy names a file of them.
    pub directory: Option<Arc<ConsumerIndex>>,
    /// Every file that was read.
    pub seen: FileHashes,
}

/// Why nothing was loaded.
#[derive(Debug)]
pub struct LoadFailure {
    why: LoadFailureReason,
    /// Every file that was asked for, as far as it got.
    pub seen: FileHashes,
}

#[derive(Debug)]
enum LoadFailureReason {
    /// The document itself cannot be read.
    Unread(String),
    /// Something is wrong with it, or with what it leads to.
    Wrong(Box<CheckedDocuments>),
}

/// Loads a policy, and everything that it leads to.
///
/// # Errors
/// When there is an error in them: all that was found.
pub fn load(policy: &str) -> Result<LoadedPolicy, LoadFailure> {
    load_after(policy, &FileHashes::default())
}

/// As [`load`], with what was read comparable with what was seen before.
pub(super) fn load_after(policy: &str, before: &FileHashes) -> Result<LoadedPolicy, LoadFailure> {
    let mut seen = before.afresh();
    if policy.is_empty() {
        return Ok(LoadedPolicy { policy: Arc::new(nothing()), directory: None, seen });
    }
    if policy == files::DASH {
        let why = "standard input cannot be reloaded: name a file".into();
        return Err(LoadFailure { why: LoadFailureReason::Unread(why), seen });
    }
    let checked = documents::check_noting(policy, &mut |name, piece| seen.note(name, piece));
    seen.look_at_the_unread();
    let checked = match checked {
        Err(why) => return Err(LoadFailure { why: LoadFailureReason::Unread(why), seen }),
        Ok(checked) => checked,
    };
    let usable = checked.usable();
    match checked {
        CheckedDocuments { policy: Some(policy), directory, .. } if usable => {
            Ok(LoadedPolicy { policy: Arc::new(policy), directory: directory.map(Arc::new), seen })
        }
        wrong => Err(LoadFailure { why: LoadFailureReason::Wrong(Box::new(wrong)), seen }),
    }
}

/// The policy of a process without one: it has no limits, and no request matches.
fn nothing() -> Policy {
    Policy::parse("no policy", "openapi: 3.1.0\npaths: {}\n")
        .expect("a document without operations is a policy")
}

impl LoadFailure {
    /// What is wrong, in one line: the first few errors, each with its file, line and column.
    #[must_use]
    pub fn sentence(&self) -> String {
        let checked = match &self.why {
            LoadFailureReason::Unread(why) => return printable(why),
            LoadFailureReason::Wrong(checked) => checked,
        };
        let findings = checked.all();
        let errors: Vec<_> = findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        let told = errors.iter().take(TOLD_MAX).map(|finding| {
            let column = finding.span.column.map_or_else(String::new, |column| format!(":{column}"));
            format!("{}:{}{column}: {}", finding.span.file, finding.span.line, finding.sentence())
        });
        let mut all: Vec<_> = told.collect();
        let more = errors.len().saturating_sub(TOLD_MAX).saturating_add(checked.more);
        if more > 0 {
            all.push(format!("and {more} more"));
        }
        printable(&all.join("; "))
    }

    /// Tells everything that was found, drawn for people.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn tell(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.why {
            LoadFailureReason::Unread(why) => writeln!(out, "error: {}", printable(why)),
            LoadFailureReason::Wrong(checked) => {
                report_errors::tell(&[checked], Audience::Person, &mut io::sink(), out)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(policy: &str) -> LoadFailure {
        load(policy).expect_err(policy)
    }

    #[test]
    fn what_is_loaded_comes_with_the_names_of_its_files() {
        let loaded = load("tests/documents/gateway.yaml").expect("the document is good");
        assert!(loaded.directory.is_some());
        let names: Vec<_> = loaded.seen.names().collect();
        assert_eq!(names, ["tests/documents/consumers.csv", "tests/documents/gateway.yaml"]);
        assert_eq!(loaded.seen, loaded.seen.again());
    }

    #[test]
    fn what_is_not_loaded_is_told_in_one_line_with_its_places() {
        let said = refused("tests/documents/bad.yaml").sentence();
        assert!(said.starts_with("tests/documents/bad.yaml:") && !said.contains('\n'), "{said}");
        let said = refused("tests/documents/bad-consumers.yaml").sentence();
        assert!(said.starts_with("tests/documents/bad-consumers.csv:"), "{said}");
        let said = refused("no-such-file.yaml").sentence();
        assert_eq!(said, "no-such-file.yaml cannot be read: there is no such file");
        let said = refused("-").sentence();
        assert_eq!(said, "standard input cannot be reloaded: name a file");
    }

    #[test]
    fn what_is_not_loaded_can_be_drawn_for_people() {
        for (policy, part) in [
            ("tests/documents/bad.yaml", "tests/documents/bad.yaml:"),
            ("tests/documents/bad-consumers.yaml", "bad-consumers.csv:"),
            ("no-such-file.yaml", "error: no-such-file.yaml cannot be read"),
        ] {
            let mut out = Vec::new();
            refused(policy).tell(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn files_that_could_not_be_used_are_seen_all_the_same() {
        // A document that is not text changes when its bytes do, and not with every look.
        for policy in
            ["no-such-file.yaml", "tests/documents/bad-consumers.yaml", "tests/documents/no-consumers.yaml"]
        {
            let seen = refused(policy).seen;
            assert_eq!(seen, seen.again(), "{policy}");
            assert!(seen.names().any(|name| name == policy), "{policy}");
        }
    }
}
