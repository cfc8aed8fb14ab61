//! `tollgate lint`: checks documents, and prints all findings at once.

mod coverage;
mod owners;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tollgate_http::text::shown;
use tollgate_policy::lint::{Advice, advise};
use tollgate_policy::{Diagnostic, Severity, Sources};

use crate::cli::{LintArgs, LintFormat};
use crate::documents::{self, Checked};
use crate::finding::{Aside, Counts, Finding, counted};
use crate::{Exit, files, formats, lint_codes, render};
use coverage::Coverage;
use owners::Owners;

/// Everything of all files.
#[derive(Debug, Default)]
struct Report {
    /// With the files that they are about, for those that can be drawn.
    drawn: Vec<(Diagnostic, Sources)>,
    /// The others: of consumers files.
    lines: Vec<Finding>,
    counts: Counts,
    coverage: Coverage,
    owners: Owners,
    /// How much advice of a kind is not listed, because there is so much of it.
    left_out: BTreeMap<&'static str, usize>,
    /// What has been said: of which file, where, and what.
    said: HashSet<(String, u32, &'static str, String)>,
    /// How many files were checked.
    checked: usize,
    /// Files that could not be read: what they are called, and a sentence.
    unread: Vec<(String, String)>,
    /// Codes of advice that was found and is allowed.
    allowed: BTreeSet<&'static str>,
}

/// Checks the documents.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &LintArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    if args.files.iter().filter(|file| *file == files::DASH).count() > 1 {
        writeln!(err, "tollgate: standard input can be read only once: name files for the others")?;
        return Ok(Exit::Usage);
    }
    let mut report = Report::default();
    let mut exit = Exit::Fine;
    for file in &args.files {
        match documents::check(file) {
            Ok(checked) => report.add(checked, &args.allow),
            Err(why) => {
                writeln!(err, "tollgate: {why}")?;
                report.unread.push((file.clone(), why));
                exit = Exit::Usage;
            }
        }
    }
    let known = |code: &str| lint_codes::ADVICE.iter().any(|(known, _)| *known == code);
    if let Some(code) = args.allow.iter().find(|code| !known(code) && !report.allowed.contains(code.as_str()))
    {
        let all: Vec<_> = lint_codes::ADVICE.iter().map(|(code, _)| *code).collect();
        let (code, all) = (shown(code), all.join(", "));
        writeln!(err, "tollgate: there is no advice `{code}` to allow; there is {all}")?;
        return Ok(Exit::Usage);
    }
    if report.counts.wrong() || (args.strict && report.counts.warnings > 0) {
        exit = exit.max(Exit::Findings);
    }
    match args.format {
        LintFormat::Human => report.human(out)?,
        LintFormat::Json => writeln!(out, "{:#}", report.json())?,
        LintFormat::Sarif => {
            writeln!(out, "{:#}", formats::sarif::log(&report.findings(), &report.asides()))?
        }
        LintFormat::Github => formats::github::write(&report.findings(), &report.asides(), out)?,
    }
    Ok(exit)
}

impl Report {
    fn add(&mut self, checked: Checked, allow: &[String]) {
        let allowed = |code: &str| allow.iter().any(|allowed| allowed == code);
        let Checked { sources, mut findings, more, in_consumers, policy, .. } = checked;
        self.checked = self.checked.saturating_add(1);
        self.counts.more = self.counts.more.saturating_add(more);
        if let Some(policy) = &policy {
            let Advice { findings: advice, left_out, coverage } = advise(policy);
            findings.extend(advice.all().iter().cloned());
            self.coverage.add(coverage);
            self.owners.add(policy.limits());
            for (code, count) in left_out.into_iter().filter(|(code, _)| !allowed(code)) {
                self.leave_out(advice.all().iter().find(|finding| finding.code == code), count);
                let sum = self.left_out.entry(code).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        for finding in findings {
            if finding.severity != Severity::Error && allowed(finding.code) {
                self.allowed.insert(finding.code);
                continue;
            }
            // Documents may lead to the same file. What is wrong there is said once.
            let Finding { span, code, message, .. } = Finding::of(&finding, &sources);
            if !self.said.insert((span.file, finding.place.start, code, message)) {
                continue;
            }
            self.counts.add(finding.severity);
            self.drawn.push((finding, sources.clone()));
        }
        for finding in in_consumers {
            self.counts.add(finding.severity);
            self.lines.push(finding);
        }
    }

    /// Counts advice that is not listed. Of a code it is mostly of one severity: that of the first that is listed.
    fn leave_out(&mut self, listed: Option<&Diagnostic>, count: usize) {
        let (warnings, notes) = &mut self.counts.left_out;
        let is_warning = listed.is_some_and(|finding| finding.severity == Severity::Warning);
        let sum = if is_warning { warnings } else { notes };
        *sum = sum.saturating_add(count);
    }

    /// What is about the run, and about no place of a document.
    fn asides(&self) -> Vec<Aside> {
        let unread =
            self.unread.iter().map(|(_, why)| Aside { severity: Severity::Error, message: why.clone() });
        let left_out = self.left_out.iter().map(|(code, count)| Aside {
            severity: Severity::Note,
            message: format!("{count} more of the kind `{code}` are not listed"),
        });
        let more = Some(self.counts.more)
            .filter(|more| *more > 0)
            .map(|more| Aside { severity: Severity::Note, message: format!("{more} more are not listed") });
        unread.chain(left_out).chain(more).collect()
    }

    fn findings(&self) -> Vec<Finding> {
        let drawn = self.drawn.iter().map(|(finding, sources)| Finding::of(finding, sources));
        drawn.chain(self.lines.iter().cloned()).collect()
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for (finding, sources) in &self.drawn {
            writeln!(out, "{}\n", render::draw(finding, sources))?;
        }
        for finding in &self.lines {
            writeln!(out, "{}\n", render::without_text(finding))?;
        }
        for (code, count) in &self.left_out {
            writeln!(out, "{count} more of the kind `{code}` are not listed")?;
        }
        // What could not be read was told on the other stream.
        let unread = match self.unread.len() {
            0 => String::new(),
            unread => format!("; {} cannot be read", counted(unread, "file")),
        };
        match (self.checked, self.counts.wrong()) {
            (0, _) => Ok(()),
            (_, true) => writeln!(out, "{}{unread}", self.counts),
            (_, false) => {
                self.coverage.tables(out)?;
                self.owners.table(out)?;
                writeln!(out, "{}{}{unread}", self.counts, self.coverage)
            }
        }
    }

    fn json(&self) -> Value {
        let findings: Vec<_> = self.findings().iter().map(formats::json::finding).collect();
        let Counts { errors, warnings, notes, more, .. } = self.counts;
        let unread = self.unread.iter().map(|(file, why)| json!({ "file": file, "why": why }));
        let mut all = Map::new();
        all.insert("errors".into(), json!(errors));
        all.insert("warnings".into(), json!(warnings));
        all.insert("notes".into(), json!(notes));
        all.insert("more".into(), json!(more));
        all.insert("left_out".into(), json!(self.left_out));
        all.insert("unread".into(), unread.collect());
        self.coverage.json(&mut all);
        self.owners.json(&mut all);
        all.insert("findings".into(), json!(findings));
        Value::Object(all)
    }
}
