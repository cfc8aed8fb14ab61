//! `tollgate doctor`: examines the store of `serve`, and prints findings with remedies.

use std::ffi::OsString;
use std::io::{self, Write};

use annotate_snippets::renderer::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::cli::{DoctorArgs, Format, ServeArgs};
use crate::doctor::{ExaminedStore, Finding, Grade, examine};
use crate::finding::{counted, printable};
use crate::serve::store::parts;
use crate::settings::{self, SettingProblem};
use crate::{Exit, files};

/// Width of the longest grade, plus two spaces.
const INDENT: usize = 11;

/// Examines the store.
///
/// # Errors
/// If the output cannot be written.
pub fn run(
    args: &DoctorArgs,
    environment: &[(OsString, OsString)],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    let flags = ServeArgs { store: args.store.clone(), config: args.config.clone(), ..ServeArgs::default() };
    let at = match settings::store(&flags, environment, &mut |name| files::read_if_there(name)) {
        Ok(at) => at,
        Err(unusable) => {
            unusable.problems.iter().try_for_each(|problem| problem.tell(&unusable.sources, err))?;
            let in_files =
                unusable.problems.iter().all(|problem| matches!(problem, SettingProblem::InFile(_)));
            return Ok(if in_files { Exit::Findings } else { Exit::Usage });
        }
    };
    let examined = parts(&at).and_then(|parts| {
        let (address, settings, naming) = parts.ok_or(
            "no store is configured: use --store, TOLLGATE_STORE_URL, or `store: { url: … }` under `serve`",
        )?;
        examine(&ExaminedStore { address, settings, naming, has_secret: at.secret.is_some() })
    });
    match examined {
        Ok(findings) => {
            match args.format {
                Format::Human => human(&findings, out)?,
                Format::Json => writeln!(out, "{:#}", data(&findings))?,
            }
            Ok(exit(&findings, args.strict))
        }
        Err(why) => {
            writeln!(err, "tollgate: {why}")?;
            Ok(Exit::Usage)
        }
    }
}

fn exit(findings: &[Finding], strict: bool) -> Exit {
    let fails = |finding: &Finding| match finding.grade {
        Grade::Fault => true,
        Grade::Warning => strict,
        Grade::Good | Grade::Note | Grade::Unknown => false,
    };
    if findings.iter().any(fails) { Exit::Findings } else { Exit::Fine }
}

const fn style(grade: Grade) -> Style {
    match grade {
        Grade::Good => AnsiColor::Green.on_default(),
        Grade::Note => AnsiColor::Cyan.on_default(),
        Grade::Warning => AnsiColor::Yellow.on_default().bold(),
        Grade::Fault => AnsiColor::Red.on_default().bold(),
        Grade::Unknown => AnsiColor::Magenta.on_default(),
    }
}

/// Prints a line per check, with the remedy below it, and a summary.
fn human(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    for Finding { check, grade, found, cure } in findings {
        let (style, name) = (style(*grade), grade.name());
        let blank = " ".repeat(INDENT.saturating_sub(name.len()));
        writeln!(out, "{style}{name}{style:#}{blank}{check}: {}", printable(found))?;
        if let Some(cure) = cure {
            writeln!(out, "{}what to do: {}", " ".repeat(INDENT), printable(cure))?;
        }
    }
    let counts: Vec<_> = counts(findings).map(told).collect();
    writeln!(out, "{}", counts.join(", "))
}

/// `no faults`, `1 warning`, `2 not known`.
fn told((grade, count): (Grade, usize)) -> String {
    let name = grade.name();
    match (grade, count) {
        (Grade::Good | Grade::Unknown, count) => format!("{count} {name}"),
        (Grade::Fault | Grade::Warning | Grade::Note, 0) => format!("no {name}s"),
        (Grade::Fault | Grade::Warning | Grade::Note, count) => counted(count, name),
    }
}

/// The number of findings by grade, worst first; faults and warnings are counted even if there are none.
fn counts(findings: &[Finding]) -> impl Iterator<Item = (Grade, usize)> {
    let count = |grade| findings.iter().filter(|finding| finding.grade == grade).count();
    let all = Grade::ALL.map(|grade| (grade, count(grade))).into_iter();
    all.filter(|(grade, count)| *count > 0 || matches!(grade, Grade::Fault | Grade::Warning))
}

fn data(findings: &[Finding]) -> Value {
    let counts: serde_json::Map<_, _> =
        counts(findings).map(|(grade, count)| (grade.name().replace(' ', "_"), json!(count))).collect();
    let each = findings.iter().map(|finding| {
        json!({
            "check": finding.check,
            "grade": finding.grade.name().replace(' ', "_"),
            "found": finding.found,
            "cure": finding.cure,
        })
    });
    json!({ "findings": each.collect::<Value>(), "counts": counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_fails_and_a_warning_only_where_that_is_asked_for() {
        let finding = |grade| Finding { check: "x", grade, found: "y".into(), cure: None };
        let table = [
            (Grade::Good, false, false),
            (Grade::Note, false, false),
            (Grade::Unknown, false, false),
            (Grade::Warning, false, true),
            (Grade::Fault, true, true),
        ];
        for (grade, plain, strict) in table {
            let findings = [finding(Grade::Good), finding(grade)];
            assert_eq!(exit(&findings, false) == Exit::Findings, plain, "{grade:?}");
            assert_eq!(exit(&findings, true) == Exit::Findings, strict, "{grade:?}");
        }
    }

    #[test]
    fn what_a_server_says_moves_no_cursor_and_counts_begin_with_the_worst() {
        let findings = [
            Finding::good("version", "Redis 7\u{1b}[2J"),
            Finding::unknown("memory", "needs `INFO`", "`ACL SETUSER x +info`"),
        ];
        let mut out = Vec::new();
        human(&findings, &mut out).expect("memory takes all");
        let text = anstream::adapter::strip_str(str::from_utf8(&out).expect("UTF-8")).to_string();
        let expected = "good       version: Redis 7\\u{1b}[2J\n\
                        not known  memory: needs `INFO`\n\
                        \u{20}          what to do: `ACL SETUSER x +info`\n\
                        no faults, no warnings, 1 not known, 1 good\n";
        assert_eq!(text, expected);
        let data = data(&findings);
        assert_eq!(data["findings"][1]["grade"], "not_known");
        assert_eq!(data["counts"]["fault"], 0);
        let schema = include_str!("../../schemas/doctor-output.schema.json");
        let schema = serde_json::from_str(schema).expect("a schema is JSON");
        let schema = jsonschema::validator_for(&schema).expect("a schema is right");
        assert!(schema.is_valid(&data), "{data:#}");
    }
}
