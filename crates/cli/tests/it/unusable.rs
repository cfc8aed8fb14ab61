//! Documents with errors, given to commands that need them without: programs find the errors where they look for data.

use serde_json::Value;
use tollgate_cli::Exit;

use crate::support::run;

const GOOD: &str = "tests/documents/good.yaml";
const BAD: &str = "tests/documents/bad.yaml";

#[test]
fn programs_get_the_errors_as_data_from_every_command() {
    let table: [&[&str]; 3] = [
        &["explain", BAD, "GET /users", "--format", "json"],
        &["diff", GOOD, BAD, "--format", "json"],
        &["annotate", BAD, "--format", "json"],
    ];
    // As many as `lint` finds.
    let linted: Value =
        serde_json::from_str(&run(&["lint", BAD, "--format", "json"]).out).expect("it is JSON");
    let count = linted["findings"].as_array().expect("a list").len();
    assert!(count >= 2);
    for args in table {
        let ran = run(args);
        assert_eq!(ran.exit, Exit::Findings, "{args:?}");
        let data: Value = serde_json::from_str(&ran.out).expect("it is JSON");
        let findings = data["findings"].as_array().expect("a list");
        assert_eq!(findings.len(), count, "{args:?}");
        assert!(
            findings.iter().all(|finding| finding["file"] == BAD && finding["line"].is_u64()),
            "{args:?}"
        );
        assert!(!ran.err.contains("error["), "{args:?}: what is data is not drawn: {}", ran.err);
    }
}

#[test]
fn errors_of_consumers_are_among_them() {
    let consumers = "tests/documents/bad-consumers.yaml";
    let ran = run(&["explain", "--format", "json", consumers, "GET /"]);
    let data: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    let mut codes = data["findings"].as_array().expect("a list").iter().map(|finding| &finding["code"]);
    assert_eq!((ran.exit, codes.next_back()), (Exit::Findings, Some(&Value::from("consumers"))));
}

#[test]
fn a_document_that_cannot_be_annotated_is_told_as_data() {
    let ran = run(&["annotate", "--format", "json", "tests/documents/gateway.yaml"]);
    let data: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!((ran.exit, data["findings"].as_array().map(Vec::len)), (Exit::Findings, Some(1)));
}

#[test]
fn a_file_of_scenarios_that_cannot_be_read_is_in_the_data() {
    let ran = run(&["test", "--format", "json", "none.yaml"]);
    let data: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!((ran.exit, &data["unread"][0]["file"]), (Exit::Usage, &Value::from("none.yaml")));
}

#[test]
fn of_many_errors_the_first_are_drawn_and_the_others_counted() {
    let folder = crate::support::Folder::new("many-errors");
    let limits: String =
        (0..80).map(|at| format!("  - {{ path: /r{at}, rate_limit: {{ algorithm: gcr }} }}\n")).collect();
    let file = folder.put("many.yaml", format!("tollgate: 1\nroutes:\n{limits}").as_bytes());
    let ran = run(&["explain", &file, "GET /"]);
    assert_eq!(ran.err.matches("error[unknown-value]").count(), 50);
    assert!(
        ran.err.contains("30 more are not shown; `tollgate lint --all` draws all of them"),
        "{}",
        ran.err
    );
}
