//! Loads limits files: the form of each is recognised by its root. All files are in force together, or none.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tollgate_policy::section::{Node, SectionReader, read_foreign};
use tollgate_policy::{Diagnostic, Findings, Place, Severity, Sources};

use super::{Domain, Limits, RULES_MAX, Rule, limitador, ratelimit};

/// Limits files that cannot be used, with everything that is wrong with them.
#[derive(Debug)]
pub struct Rejected {
    findings: Vec<Findings>,
    sources: Vec<Sources>,
}

impl Rejected {
    /// Every finding in one line, with file, line and column.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let pairs = self.findings.iter().zip(&self.sources);
        pairs.flat_map(|(findings, sources)| findings.lines(sources))
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().collect::<Vec<_>>().join("\n"))
    }
}

impl std::error::Error for Rejected {}

/// What reading a file adds to.
#[derive(Default)]
pub(super) struct Loading {
    pub(super) domains: HashMap<Box<str>, Domain>,
    /// The file that defines each domain.
    defined_in: HashMap<Box<str>, String>,
    pub(super) rules: Vec<Arc<Rule>>,
    file: String,
}

impl Loading {
    /// Adds a limit. `None`, with an error, if there are too many.
    pub(super) fn add(
        &mut self,
        rule: Rule,
        place: Place,
        reader: &mut SectionReader<'_, '_>,
    ) -> Option<Arc<Rule>> {
        if self.rules.len() >= RULES_MAX {
            // Once is enough.
            if self.rules.len() == RULES_MAX {
                let message = format!(
                    "there are more than {RULES_MAX} limits: remove some, or use values with wildcards"
                );
                reader.error("too-many", place, message);
            }
            return None;
        }
        let rule = Arc::new(Rule { id: self.rules.len(), ..rule });
        self.rules.push(Arc::clone(&rule));
        Some(rule)
    }

    /// Whether a domain is not defined yet, or else an error.
    pub(super) fn is_new(&mut self, domain: &str, place: Place, reader: &mut SectionReader<'_, '_>) -> bool {
        let Some(other) = self.defined_in.get(domain) else {
            self.defined_in.insert(domain.into(), self.file.clone());
            return true;
        };
        let message =
            format!("the domain `{domain}` is defined in {other} already: move its limits into one file");
        reader.error("repeated-domain", place, message);
        false
    }
}

impl Limits {
    /// Loads files, given as pairs of a name and a text, and returns notes on what is accepted without effect.
    ///
    /// A map at the root is a file of envoyproxy/ratelimit, and a list is one of Limitador.
    ///
    /// ```
    /// use tollgate_envoy::{Limits, Match};
    /// let file = "
    /// domain: edge
    /// descriptors:
    ///   - key: remote_address
    ///     rate_limit: { unit: minute, requests_per_unit: 100 }
    /// ";
    /// let (limits, notes) = Limits::load(&[("edge.yaml", file)])?;
    /// assert!(notes.is_empty());
    /// let found = limits.find("edge", [("remote_address", "192.0.2.1")].into_iter());
    /// assert!(matches!(found, Match::Limit(rule, _) if &*rule.path == "edge.remote_address"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If anything is wrong with a file: every error, with its place.
    pub fn load(files: &[(&str, &str)]) -> Result<(Self, Vec<String>), Rejected> {
        let mut loading = Loading::default();
        let (mut all_findings, mut all_sources, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for (name, text) in files {
            let (mut findings, mut sources) = (Findings::default(), Sources::default());
            loading.file = (*name).to_owned();
            let start_of_file = loading.rules.len();
            read_foreign((name, text), &mut sources, &mut findings, &mut |root, reader| {
                read_root(root, reader, &mut loading);
            });
            if findings.is_empty() && loading.rules.len() == start_of_file {
                notes.push(format!("{name}: note: the file has no limits"));
            }
            let advice = findings.all().iter().filter(|finding| finding.severity != Severity::Error);
            notes.extend(advice.map(|finding| finding.line(&sources)));
            all_findings.push(findings);
            all_sources.push(sources);
        }
        if all_findings.iter().any(Findings::has_errors) {
            return Err(Rejected { findings: all_findings, sources: all_sources });
        }
        Ok((Self { domains: loading.domains, rules: loading.rules }, notes))
    }
}

fn read_root<'t>(root: Node<'t>, reader: &mut SectionReader<'_, 't>, loading: &mut Loading) {
    if root.is_list() {
        limitador::read(root, reader, loading);
    } else if root.is_map() {
        ratelimit::read(root, reader, loading);
    } else {
        let message = "a limits file has `domain` and `descriptors` (envoyproxy/ratelimit), or is a list of limits (Limitador)";
        reader.error("type", root.place(), message);
    }
}

/// A note at a place.
pub(super) fn note(code: &'static str, place: Place, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Severity::Note, code, place, message.into())
}
