//! `tollgate lint`: checks documents, and prints all findings at once.

mod coverage;
mod explain;
mod human;
mod inputs;
mod json;
mod owners;
mod report;
mod severity;

use std::io::{self, Write};

use crate::cli::{LintArgs, LintFormat};
use crate::{Exit, documents, files, formats};
use report::Report;
use severity::{Severities, SeverityChoice};

/// Checks the documents.
///
/// # Errors
/// When the output cannot be written.
pub fn run(args: &LintArgs, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    if let Some(code) = &args.explain {
        return explain::run(code, out, err);
    }
    if args.files.iter().filter(|file| *file == files::DASH).count() > 1 {
        writeln!(err, "tollgate: standard input can be read only once: name files for the others")?;
        return Ok(Exit::Usage);
    }
    let chosen = match Severities::chosen(args, err)? {
        SeverityChoice::These(chosen) => chosen,
        SeverityChoice::Wrong(exit) => return Ok(exit),
    };
    let mut report = Report::new(chosen);
    let mut exit = Exit::Fine;
    for (file, why) in check(&args.files, &mut report) {
        writeln!(err, "tollgate: {why}")?;
        report.unread.push((file, why));
        exit = Exit::Usage;
    }
    if report.fails() {
        exit = exit.max(Exit::Findings);
    }
    if args.quiet {
        report.keep_failing();
    }
    match args.format {
        LintFormat::Human => human::write(&report, args, out)?,
        LintFormat::Json => writeln!(out, "{:#}", json::report(&report))?,
        LintFormat::Sarif => {
            serde_json::to_writer_pretty(&mut *out, &formats::sarif::Log(&report.sarif()))?;
            writeln!(out)?;
        }
        LintFormat::Github => formats::github::write(report.findings(), &report.asides(), out)?,
        LintFormat::Junit => formats::junit::write(&report.suites(), out)?,
    }
    Ok(exit)
}

/// Checks the files and those in the folders, and returns those that could not be read, with a sentence for each.
fn check(arguments: &[String], report: &mut Report) -> Vec<(String, String)> {
    let mut unread = Vec::new();
    for argument in arguments {
        let inputs = match inputs::of(argument) {
            Ok(inputs) => inputs,
            Err(why) => {
                unread.push((argument.clone(), why));
                continue;
            }
        };
        for input in inputs {
            // In a folder, what belongs to a policy is checked as a part of it and not by itself.
            if input.is_found && report.has_read(&input.name) {
                continue;
            }
            match documents::check(&input.name) {
                Ok(checked) => report.add(checked),
                Err(why) => unread.push((input.name, why)),
            }
        }
    }
    unread
}
