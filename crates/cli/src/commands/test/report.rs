//! Converts results to a JUnit report: a suite per file, a case per scenario.

use super::{FileResult, ScenarioResult};
use crate::formats::junit::{Case, Fault, Suite};

/// The suites of all files, and one for each that could not be read.
pub(super) fn suites(all: &[FileResult], unread: &[(String, String)]) -> Vec<Suite> {
    let played = all.iter().map(|played| {
        let scenarios = played.scenarios.iter().map(case);
        let wrong = played.wrong.iter().map(|finding| {
            let message = format!("{}: {}", finding.place(), finding.sentence());
            Case { name: finding.code.into(), fault: Fault::Error { message } }
        });
        Suite { name: played.file.clone(), cases: wrong.chain(scenarios).collect() }
    });
    let unread = unread.iter().map(|(file, why)| {
        let fault = Fault::Error { message: why.clone() };
        Suite { name: file.clone(), cases: vec![Case { name: "readable".into(), fault }] }
    });
    played.chain(unread).collect()
}

fn case(outcome: &ScenarioResult) -> Case {
    let name = outcome.name.clone();
    let Some(first) = outcome.failures.first() else {
        return Case { name, fault: Fault::None { output: String::new() } };
    };
    let lines: Vec<_> = outcome.failures.iter().map(|failure| failure.line()).collect();
    let (message, text) = (first.line(), lines.join("\n"));
    Case { name, fault: Fault::Failure { message, kind: "scenario".into(), text } }
}
