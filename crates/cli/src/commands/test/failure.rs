//! Draws a failed scenario: its steps in place, and every difference in a table.

use serde_json::{Value, json};
use tollgate_engine::{Difference, StepReport};
use tollgate_http::text::shown;
use tollgate_policy::quantity::spoken;
use tollgate_policy::scenario::{Scenario, Step};
use tollgate_policy::{Diagnostic, Severity, Sources};

use crate::finding::{Finding, counted, printable};
use crate::{formats, render, table};

/// Maximum number of steps drawn. Further ones are only in the table.
const STEPS_DRAWN_MAX: usize = 5;
/// Maximum number of differences in the table. Further ones are counted; programs get all.
const ROWS_MAX: usize = 50;

/// One step that was answered otherwise than it expects.
#[derive(Debug)]
pub(super) struct Failure {
    finding: Finding,
    /// From the beginning of the scenario.
    at: String,
    request: String,
    differences: Vec<Difference>,
    /// What is wrong with the request, if something is.
    wrong: Option<String>,
    /// Which limit refused the last request of the step, if one did.
    by: Option<String>,
}

impl Failure {
    /// In one line: where, when, what was sent, and what came otherwise.
    pub(super) fn line(&self) -> String {
        let place = self.finding.place();
        format!("{place}: at {}, {}: {}", self.at, self.request, self.finding.message)
    }

    /// With its place and its differences, for programs.
    pub(super) fn json(&self) -> Value {
        let differences = self.differences.iter();
        let differences = differences
            .map(|one| json!({ "field": one.what, "expected": one.expected, "got": one.got }))
            .collect::<Value>();
        let mut object = formats::json::finding(&self.finding);
        object["at"] = json!(self.at);
        object["request"] = json!(self.request);
        object["by"] = json!(self.by);
        object["differences"] = differences;
        object
    }
}

/// The steps of a scenario that failed, and all of them drawn. Nothing is drawn if none did.
pub(super) fn failures(
    scenario: &Scenario,
    reports: &[StepReport],
    sources: &Sources,
) -> (Vec<Failure>, Option<String>) {
    let steps = || scenario.steps.iter().zip(reports).filter(|(_, report)| !report.differences.is_empty());
    let failures: Vec<_> = steps().map(|(step, report)| failure(step, report, sources)).collect();
    let mut drawn = None;
    for (step, _) in steps().take(STEPS_DRAWN_MAX) {
        let label = format!("at {}", spoken(step.at));
        match &mut drawn {
            None => {
                let message =
                    format!("{} of {} did not match", failures.len(), counted(scenario.steps.len(), "step"));
                drawn = Some(diagnostic(step, message, label));
            }
            Some(Diagnostic { also, .. }) => also.push((step.place, label)),
        }
    }
    let drawn = drawn.map(|drawn| format!("{}\n\n{}", render::draw(&drawn, sources), rows(&failures)));
    (failures, drawn)
}

fn diagnostic(step: &Step, message: String, label: String) -> Diagnostic {
    Diagnostic { label, ..Diagnostic::new(Severity::Error, "scenario", step.place, message) }
}

fn failure(step: &Step, report: &StepReport, sources: &Sources) -> Failure {
    let differences: Vec<_> = report.differences.iter().map(|difference| difference.to_string()).collect();
    let wrong = report.last.wrong.clone();
    let by = report.last.by.clone();
    let because = match (&wrong, &by) {
        (Some(why), _) => format!("; the request is wrong: {why}"),
        (None, Some(limit)) => format!("; the last one was refused by `{limit}`"),
        (None, None) => String::new(),
    };
    let (at, message) = (spoken(step.at), printable(&format!("{}{because}", differences.join("; "))));
    Failure {
        finding: Finding::of(&diagnostic(step, message, format!("at {at}")), sources),
        at,
        request: format!("{} {}", step.method, step.target),
        differences: report.differences.clone(),
        wrong,
        by,
    }
}

/// The differences, a line each, and after them why requests are wrong.
fn rows(failures: &[Failure]) -> String {
    let mut rows = vec![["AT", "REQUEST", "FIELD", "EXPECTED", "GOT"].map(str::to_owned).to_vec()];
    for failure in failures {
        for (number, difference) in failure.differences.iter().enumerate() {
            // The same step is named once.
            let of_step = |text: &str| if number == 0 { shown(text) } else { String::new() };
            let (expected, got) = (shown(&difference.expected), shown(&difference.got));
            let (at, request) = (of_step(&failure.at), of_step(&failure.request));
            rows.push(vec![at, request, difference.what.to_owned(), expected, got]);
        }
    }
    let more = rows.len().saturating_sub(ROWS_MAX.saturating_add(1));
    rows.truncate(ROWS_MAX.saturating_add(1));
    let mut lines = table::lines(&rows);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    let wrong = failures.iter().filter_map(|failure| Some((failure, failure.wrong.as_ref()?)));
    lines.extend(wrong.take(ROWS_MAX).map(|(failure, why)| {
        format!("at {}, {} is wrong: {}", failure.at, shown(&failure.request), printable(why))
    }));
    let refused = failures.iter().filter_map(|failure| Some((failure, failure.by.as_ref()?)));
    lines.extend(refused.take(ROWS_MAX).map(|(failure, limit)| {
        format!("at {}, {} was refused by `{}`", failure.at, shown(&failure.request), printable(limit))
    }));
    lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[test]
fn more_differences_than_fit_a_table_are_counted() {
    let span = crate::finding::Span { file: "a.yaml".into(), line: 1, column: None, end: None };
    let failure = |_| Failure {
        finding: Finding {
            severity: Severity::Error,
            code: "scenario",
            message: String::new(),
            span: span.clone(),
            label: String::new(),
            also: Vec::new(),
            help: None,
        },
        at: "0 s".into(),
        request: "GET /".into(),
        differences: vec![Difference { what: "by", expected: "a".into(), got: "b".into() }],
        wrong: None,
        by: None,
    };
    let text = rows(&(0..ROWS_MAX + 1).map(failure).collect::<Vec<_>>());
    assert_eq!(text.lines().count(), ROWS_MAX + 2);
    assert!(text.ends_with("  and 1 more"), "{text}");
}
