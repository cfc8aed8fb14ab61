//! `tollgate lint`: documents are checked, and everything that was found is printed at once. What is wrong is decided elsewhere.

mod coverage;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use serde_json::{Map, Value, json};
use tollgate_policy::lint::{Advice, advise};
use tollgate_policy::{Diagnostic, Sources};

use crate::cli::{LintArgs, LintFormat};
use crate::documents::{self, Checked};
use crate::report::{Counts, Finding, counted};
use crate::{Exit, draw, formats};
use coverage::Coverage;

/// Everything of all files.
#[derive(Debug, Default)]
struct Report {
    /// With the files that they are about, for those that can be drawn.
    drawn: Vec<(Diagnostic, Sources)>,
    /// The others: of consumers files.
    lines: Vec<Finding>,
    counts: Counts,
    coverage: Coverage,
    /// How much advice of a kind is not listed, because there is so much of it.
    left_out: BTreeMap<&'static str, usize>,
    /// What has been said: of which file, where, and what.
    said: HashSet<(String, u32, &'static str, String)>,
    /// How many files were checked, and how many could not be read.
    checked: usize,
    unread: usize,
}

/// Checks the documents.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &LintArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let mut report = Report::default();
    let mut exit = Exit::Fine;
    for file in &args.files {
        match documents::check(file) {
            Ok(checked) => report.add(checked),
            Err(why) => {
                writeln!(err, "tollgate: {why}")?;
                report.unread = report.unread.saturating_add(1);
                exit = Exit::Usage;
            }
        }
    }
    if report.counts.wrong() || (args.strict && report.counts.warnings > 0) {
        exit = exit.max(Exit::Findings);
    }
    match args.format {
        LintFormat::Human => report.human(out)?,
        LintFormat::Json => writeln!(out, "{:#}", report.json())?,
        LintFormat::Sarif => writeln!(out, "{:#}", formats::sarif::log(&report.findings()))?,
        LintFormat::Github => formats::github::write(&report.findings(), out)?,
    }
    Ok(exit)
}

impl Report {
    fn add(&mut self, checked: Checked) {
        let Checked { sources, mut findings, more, in_consumers, policy, .. } = checked;
        self.checked = self.checked.saturating_add(1);
        self.counts.more = self.counts.more.saturating_add(more);
        if let Some(policy) = &policy {
            let Advice { findings: advice, left_out, coverage } = advise(policy);
            findings.extend(advice.all().iter().cloned());
            self.coverage.add(coverage);
            for (code, count) in left_out {
                let sum = self.left_out.entry(code).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        for finding in findings {
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

    fn findings(&self) -> Vec<Finding> {
        let drawn = self.drawn.iter().map(|(finding, sources)| Finding::of(finding, sources));
        drawn.chain(self.lines.iter().cloned()).collect()
    }

    fn human(&self, out: &mut dyn Write) -> io::Result<()> {
        for (finding, sources) in &self.drawn {
            writeln!(out, "{}\n", draw::draw(finding, sources))?;
        }
        for finding in &self.lines {
            writeln!(out, "{}", finding.line())?;
        }
        if !self.lines.is_empty() {
            writeln!(out)?;
        }
        for (code, count) in &self.left_out {
            writeln!(out, "{count} more of the kind `{code}` are not listed")?;
        }
        // What could not be read was told on the other stream.
        let unread = match self.unread {
            0 => String::new(),
            unread => format!("; {} cannot be read", counted(unread, "file")),
        };
        match (self.checked, self.counts.wrong()) {
            (0, _) => Ok(()),
            (_, true) => writeln!(out, "{}{unread}", self.counts),
            (_, false) => {
                self.coverage.tables(out)?;
                writeln!(out, "{}{}{unread}", self.counts, self.coverage)
            }
        }
    }

    fn json(&self) -> Value {
        let findings: Vec<_> = self.findings().iter().map(formats::json::finding).collect();
        let Counts { errors, warnings, notes, more } = self.counts;
        let mut all = Map::new();
        all.insert("errors".into(), json!(errors));
        all.insert("warnings".into(), json!(warnings));
        all.insert("notes".into(), json!(notes));
        all.insert("more".into(), json!(more));
        all.insert("left_out".into(), json!(self.left_out));
        self.coverage.json(&mut all);
        all.insert("findings".into(), json!(findings));
        Value::Object(all)
    }
}
