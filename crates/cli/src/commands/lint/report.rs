//! Collects the findings of all files before a format prints them.

use std::collections::{BTreeSet, HashSet};

use tollgate_policy::lint::{Advice, Applied, Suppressed, Suppressions, advise};
use tollgate_policy::{Diagnostic, Severity, Sources};

use super::coverage::Coverage;
use super::owners::Owners;
use super::severity::Severities;
use crate::documents::CheckedDocuments;
use crate::finding::{Finding, RunNote, SeverityCounts};
use crate::formats::junit::{Case, Fault, Suite};
use crate::formats::sarif;

/// Everything of all files.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) severities: Severities,
    /// What is printed.
    findings: Vec<Finding>,
    /// How each of them is drawn: with the file that it is about, if its text was kept.
    pub(super) drawings: Vec<Option<(Diagnostic, usize)>>,
    /// The files of each document, by the number in a drawing.
    pub(super) sources: Vec<Sources>,
    /// What comments accept, with their reasons.
    pub(super) suppressed: Vec<(Finding, String)>,
    pub(super) counts: SeverityCounts,
    pub(super) coverage: Coverage,
    pub(super) owners: Owners,
    /// What has been said: of which file, where, and what.
    said: HashSet<(String, u32, &'static str, String)>,
    /// The documents that were checked.
    pub(super) checked: Vec<String>,
    /// Every file that was read.
    read: BTreeSet<String>,
    /// Files that could not be read: what they are called, and a sentence.
    pub(super) unread: Vec<(String, String)>,
}

impl Report {
    pub(super) fn new(severities: Severities) -> Self {
        Self { severities, ..Self::default() }
    }

    /// Whether a file was read, as a document or as a part of one.
    pub(super) fn has_read(&self, name: &str) -> bool {
        self.read.contains(name)
    }

    /// Adds what was found in a document and all that it leads to.
    pub(super) fn add(&mut self, checked: CheckedDocuments) {
        let CheckedDocuments { sources, findings, more, in_consumers, policy, .. } = checked;
        self.checked.extend(sources.iter().next().map(|(_, source)| source.name().to_owned()));
        self.read.extend(sources.iter().map(|(_, source)| source.name().to_owned()));
        self.counts.more = self.counts.more.saturating_add(more);
        let (findings, suppressed) = match &policy {
            Some(policy) => {
                let Advice { findings: advice, suppressed, coverage } = advise(policy);
                self.coverage.add(coverage);
                self.owners.add(policy.limits());
                self.counts.more = self.counts.more.saturating_add(advice.more());
                // What was found while loading is among the advice.
                let errors = findings.into_iter().filter(|finding| finding.severity == Severity::Error);
                (errors.chain(advice.all().iter().cloned()).collect(), suppressed)
            }
            None => {
                let Applied { kept, suppressed } = Suppressions::of(&sources).accept(findings);
                (kept, suppressed)
            }
        };
        let number = self.sources.len();
        for finding in findings {
            self.add_finding(finding, &sources, number);
        }
        for Suppressed { finding, reason } in suppressed {
            self.suppressed.push((Finding::of(&finding, &sources), reason));
        }
        self.sources.push(sources);
        for finding in in_consumers {
            self.counts.add(finding.severity);
            self.findings.push(finding);
            self.drawings.push(None);
        }
    }

    fn add_finding(&mut self, mut diagnostic: Diagnostic, sources: &Sources, number: usize) {
        let Some(severity) = self.severities.of(diagnostic.code, diagnostic.severity) else { return };
        diagnostic.severity = severity;
        let finding = Finding::of(&diagnostic, sources);
        // Documents may lead to the same file. What is wrong there is said once.
        let said = (finding.span.file.clone(), diagnostic.place.start, finding.code, finding.message.clone());
        if !self.said.insert(said) {
            return;
        }
        self.counts.add(severity);
        self.findings.push(finding);
        self.drawings.push(Some((diagnostic, number)));
    }

    /// Whether the check fails.
    pub(super) fn fails(&self) -> bool {
        self.counts.wrong() || (self.severities.strict && self.counts.warnings > 0)
    }

    /// Takes away what does not fail the check. It stays counted.
    pub(super) fn keep_failing(&mut self) {
        let fails: Vec<_> =
            self.findings.iter().map(|finding| self.severities.fails(finding.severity)).collect();
        let mut kept = fails.iter();
        self.findings.retain(|_| kept.next().copied().unwrap_or(true));
        let mut kept = fails.iter();
        self.drawings.retain(|_| kept.next().copied().unwrap_or(true));
        self.suppressed.clear();
    }

    pub(super) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What is about the run, and about no place of a document.
    pub(super) fn asides(&self) -> Vec<RunNote> {
        let unread =
            self.unread.iter().map(|(_, why)| RunNote { severity: Severity::Error, message: why.clone() });
        let more = Some(self.counts.more)
            .filter(|more| *more > 0)
            .map(|more| RunNote { severity: Severity::Note, message: format!("{more} more are not listed") });
        unread.chain(more).collect()
    }

    /// The same as a SARIF log has it.
    pub(super) fn sarif(&self) -> sarif::Run<'_> {
        sarif::Run { findings: &self.findings, suppressed: &self.suppressed, asides: self.asides() }
    }

    /// A suite for each file, and a case for each finding in it. A file without findings has one case, which passed.
    pub(super) fn suites(&self) -> Vec<Suite> {
        let mut suites: Vec<Suite> = self.checked.iter().map(Suite::new).collect();
        for finding in &self.findings {
            let at = suites.iter().position(|suite| suite.name == finding.span.file).unwrap_or_else(|| {
                suites.push(Suite::new(&finding.span.file));
                suites.len().saturating_sub(1)
            });
            let place = finding.place();
            let text = format!("{place}: {}: {}", finding.severity.name(), finding.sentence());
            let fault = if self.severities.fails(finding.severity) {
                Fault::Failure { message: finding.message.clone(), kind: finding.code.into(), text }
            } else {
                Fault::None { output: text }
            };
            let name = format!("{} at {place}", finding.code);
            suites
                .get_mut(at)
                .into_iter()
                .for_each(|suite| suite.cases.push(Case { name: name.clone(), fault: fault.clone() }));
        }
        for suite in suites.iter_mut().filter(|suite| suite.cases.is_empty()) {
            suite
                .cases
                .push(Case { name: "no findings".into(), fault: Fault::None { output: String::new() } });
        }
        for (file, why) in &self.unread {
            let fault = Fault::Error { message: why.clone() };
            suites.push(Suite { name: file.clone(), cases: vec![Case { name: "readable".into(), fault }] });
        }
        suites
    }
}
