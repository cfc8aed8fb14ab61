//! `tollgate test`: runs scenarios, and shows where results differ from the expected ones.

mod failure;
mod report;

use std::io::{self, Write};
use std::sync::Arc;

use annotate_snippets::renderer::{AnsiColor, Style};
use serde_json::{Value, json};
use tollgate_engine::simulate;
use tollgate_http::text::shown;
use tollgate_policy::scenario::Scenarios;
use tollgate_policy::{Diagnostic, Sources};

use crate::cli::{TestArgs, TestFormat};
use crate::documents::{self, CheckedDocuments, DocumentKind};
use crate::finding::{Finding, counted, printable};
use crate::{Exit, files, formats, render};
use failure::Failure;

const PASSED: Style = AnsiColor::Green.on_default();
const FAILED: Style = AnsiColor::Red.on_default().bold();

/// What happened in one file.
#[derive(Debug)]
struct FileResult {
    file: String,
    scenarios: Vec<ScenarioResult>,
    /// Why nothing could be played: what is wrong with the file, or with the policy that it names.
    wrong: Vec<Finding>,
    drawn: Vec<String>,
}

/// What happened in one scenario.
#[derive(Debug)]
struct ScenarioResult {
    name: String,
    failures: Vec<Failure>,
    /// Where it failed, and in what.
    drawn: Option<String>,
}

/// Runs the scenarios.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &TestArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    if args.files.iter().filter(|file| *file == files::DASH).count() > 1 {
        writeln!(err, "tollgate: standard input can be read only once: name files for the others")?;
        return Ok(Exit::Usage);
    }
    let mut exit = Exit::Fine;
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for (file, found) in inputs(&args.files) {
        match found.and_then(|()| play_file(&file)) {
            Ok(played) => {
                let failed = played.scenarios.iter().any(|scenario| !scenario.failures.is_empty());
                if failed || !played.wrong.is_empty() {
                    exit = exit.max(Exit::Findings);
                }
                all.push(played);
            }
            Err(why) => {
                writeln!(err, "tollgate: {why}")?;
                unread.push((file, why));
                exit = Exit::Usage;
            }
        }
    }
    match args.format {
        TestFormat::Human => human(&all, args.quiet, out)?,
        TestFormat::Json => writeln!(out, "{:#}", data(&all, &unread))?,
        TestFormat::Junit => formats::junit::write(&report::suites(&all, &unread), out)?,
    }
    Ok(exit)
}

/// The files that the arguments name, those of folders among them, or why a folder has none.
fn inputs(arguments: &[String]) -> Vec<(String, Result<(), String>)> {
    let of = |argument: &String| {
        if !files::is_folder(argument) {
            return vec![(argument.clone(), Ok(()))];
        }
        let found = documents::in_folder(argument).map(|all| {
            let all = all.into_iter().filter(|(_, kind)| *kind == DocumentKind::Scenarios);
            all.map(|(name, _)| (name, Ok(()))).collect::<Vec<_>>()
        });
        match found {
            Ok(found) if found.is_empty() => {
                let why = format!("{} has no file with `scenarios` at its root", shown(argument));
                vec![(argument.clone(), Err(why))]
            }
            Ok(found) => found,
            Err(why) => vec![(argument.clone(), Err(why))],
        }
    };
    arguments.iter().flat_map(of).collect()
}

/// Plays all scenarios of a file.
///
/// # Errors
/// A sentence, when it or the policy that it names cannot be read.
fn play_file(argument: &str) -> Result<FileResult, String> {
    let mut opened = documents::open(argument)?;
    let file = opened.name.to_owned();
    let mut played = FileResult { file, scenarios: Vec::new(), wrong: Vec::new(), drawn: Vec::new() };
    let scenarios = match Scenarios::load(opened.name, &mut |asked| opened.read(asked)) {
        Ok(scenarios) => scenarios,
        Err(refused) => {
            played.add(refused.findings.all(), &refused.sources);
            return Ok(played);
        }
    };
    let checked = documents::check(&scenarios.policy)?;
    let usable = checked.usable();
    let CheckedDocuments { policy, directory, sources, findings, in_consumers, .. } = checked;
    let Some(policy) = policy.filter(|_| usable) else {
        played.add(&findings, &sources);
        played.drawn.extend(in_consumers.iter().map(render::without_text));
        played.wrong.extend(in_consumers);
        return Ok(played);
    };
    let unknown = scenarios.check(&policy);
    if !unknown.is_empty() {
        played.add(unknown.all(), &scenarios.sources);
        return Ok(played);
    }
    let (policy, directory) = (Arc::new(policy), directory.map(Arc::new));
    for scenario in &scenarios.list {
        let reports = simulate(scenario, &policy, directory.as_ref()).map_err(|error| error.to_string())?;
        let (failures, drawn) = failure::failures(scenario, &reports, &scenarios.sources);
        played.scenarios.push(ScenarioResult { name: scenario.name.clone(), failures, drawn });
    }
    Ok(played)
}

impl FileResult {
    fn add(&mut self, findings: &[Diagnostic], sources: &Sources) {
        self.wrong.extend(findings.iter().map(|finding| Finding::of(finding, sources)));
        self.drawn.extend(findings.iter().map(|finding| render::draw(finding, sources)));
    }
}

fn count(all: &[FileResult]) -> (usize, usize) {
    let scenarios = || all.iter().flat_map(|played| &played.scenarios);
    let failed = scenarios().filter(|scenario| !scenario.failures.is_empty()).count();
    (scenarios().count().saturating_sub(failed), failed)
}

fn human(all: &[FileResult], quiet: bool, out: &mut dyn Write) -> io::Result<()> {
    for played in all {
        played.drawn.iter().try_for_each(|drawn| writeln!(out, "{drawn}\n"))?;
        for ScenarioResult { name, drawn, .. } in &played.scenarios {
            match drawn {
                None if quiet => {}
                None => writeln!(out, "{PASSED}passed{PASSED:#}  {}", printable(name))?,
                Some(drawn) => {
                    writeln!(out, "{FAILED}failed{FAILED:#}  {}\n{drawn}\n", printable(name))?;
                }
            }
        }
    }
    if all.is_empty() || quiet {
        return Ok(());
    }
    let (passed, failed) = count(all);
    let wrong = all.iter().filter(|played| !played.wrong.is_empty()).count();
    let wrong = if wrong > 0 { format!(", {} not run", counted(wrong, "file")) } else { String::new() };
    writeln!(out, "{} passed, {failed} failed{wrong}", counted(passed, "scenario"))
}

fn data(all: &[FileResult], unread: &[(String, String)]) -> Value {
    let findings = |list: &[Finding]| list.iter().map(formats::json::finding).collect::<Vec<_>>();
    let scenario = |file: &str, outcome: &ScenarioResult| {
        json!({
            "file": file,
            "name": outcome.name,
            "passed": outcome.failures.is_empty(),
            "failures": outcome.failures.iter().map(Failure::json).collect::<Value>(),
        })
    };
    let scenarios = all.iter().flat_map(|of| of.scenarios.iter().map(|outcome| scenario(&of.file, outcome)));
    let scenarios: Vec<_> = scenarios.collect();
    let wrong: Vec<_> = all.iter().flat_map(|played| findings(&played.wrong)).collect();
    let unread: Vec<_> = unread.iter().map(|(file, why)| json!({ "file": file, "why": why })).collect();
    let (passed, failed) = count(all);
    json!({ "passed": passed, "failed": failed, "scenarios": scenarios, "findings": wrong, "unread": unread })
}
