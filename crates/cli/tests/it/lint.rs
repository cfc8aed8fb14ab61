//! `tollgate lint`: what is said of documents, in every format.

use crate::support::{Folder, check, run};
use tollgate_cli::Exit;

const GOOD: &str = "tests/documents/clean.yaml";
const BAD: &str = "tests/documents/bad.yaml";

#[test]
fn what_is_fine_is_told_in_one_line() {
    check("lint-good", &["lint", GOOD]);
}

#[test]
fn every_error_is_drawn_at_once() {
    check("lint-bad", &["lint", BAD]);
}

#[test]
fn several_files_are_summed_up_in_one_line() {
    check("lint-several", &["lint", GOOD, "tests/documents/warning.yaml"]);
}

#[test]
fn advice_is_no_failure_unless_it_is_asked_to_be() {
    check("lint-advice", &["lint", "tests/documents/good.yaml"]);
    check("lint-warning", &["lint", "tests/documents/warning.yaml"]);
    check("lint-warning-strict", &["lint", "--strict", "tests/documents/warning.yaml"]);
}

#[test]
fn every_format_says_the_same() {
    for format in ["json", "sarif", "github"] {
        check(&format!("lint-bad-{format}"), &["lint", "--format", format, BAD]);
        check(&format!("lint-good-{format}"), &["lint", "--format", format, GOOD]);
    }
}

#[test]
fn a_consumers_file_is_checked_line_by_line() {
    check("lint-consumers-unknown", &["lint", "tests/documents/bad-consumers.yaml"]);
    check("lint-consumers-wrong", &["lint", "tests/documents/worse-consumers.yaml"]);
    check(
        "lint-consumers-wrong-github",
        &["lint", "--format", "github", "tests/documents/worse-consumers.yaml"],
    );
    check("lint-consumers-missing", &["lint", "tests/documents/no-consumers.yaml"]);
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_of_usage_and_the_others_are_checked() {
    check("lint-unreadable", &["lint", "tests/documents/none.yaml"]);
    check("lint-unreadable-json", &["lint", "--format", "json", "tests/documents"]);
    check("lint-one-unreadable", &["lint", "tests/documents/none.yaml", GOOD]);
    check("lint-unreadable-github", &["lint", "--format", "github", "tests/documents/none.yaml", GOOD]);
    check("lint-unreadable-sarif", &["lint", "--format", "sarif", "tests/documents/none.yaml", GOOD]);
}

#[test]
fn errors_in_a_file_that_a_document_leads_to_are_drawn_there() {
    check("lint-reference", &["lint", "tests/documents/reference.yaml"]);
}

#[test]
fn an_error_in_a_file_that_two_documents_lead_to_is_told_once() {
    let once = run(&["lint", "tests/documents/reference.yaml"]);
    let twice = run(&["lint", "tests/documents/reference.yaml", "tests/documents/reference-again.yaml"]);
    assert_eq!(once.out, twice.out);
}

/// A generated document may stand on one line. What is around the place is drawn, with the column of the whole line.
#[test]
fn of_a_line_too_long_to_be_shown_what_is_around_the_place_is_drawn() {
    check("lint-minified", &["lint", "tests/documents/minified.json"]);
    let folder = Folder::new("long-line");
    let filler = "x".repeat(100_000);
    let text = format!(
        r#"{{"openapi":"3.1.0","info":{{"title":"{filler}"}},"x-rate-limit":{{"algorithm":"gcr"}}}}"#
    );
    let ran = run(&["lint", &folder.put("long.json", text.as_bytes())]);
    assert_eq!(ran.exit, Exit::Findings);
    assert!(ran.out.len() < 2_000, "{} bytes", ran.out.len());
    assert!(ran.out.contains("long.json:1:100068"), "{}", ran.out);
    assert!(ran.out.contains(r#"…rate-limit":{"algorithm":"gcr"}}"#), "{}", ran.out);
}

#[test]
fn lines_that_end_as_on_windows_are_drawn_as_others_are() {
    let folder = Folder::new("line-ends");
    let text = std::fs::read_to_string(BAD).expect("it is there");
    let file = folder.put("bad.yaml", text.as_bytes());
    let unix = run(&["lint", &file]).out;
    folder.put("bad.yaml", text.replace('\n', "\r\n").as_bytes());
    assert_eq!(run(&["lint", &file]).out, unix);
    // Also where the place is the end of a line.
    let ran =
        run(&["lint", &folder.put("empty.yaml", b"openapi: 3.1.0\r\nx-rate-limit:\r\n  algorithm:\r\n")]);
    assert!(ran.exit == Exit::Findings && !ran.out.contains(['\r', '␍']), "{}", ran.out);
}

/// Five thousand mistakes: a thousand are listed, the rest is counted.
#[test]
fn more_findings_than_are_listed_are_counted() {
    let folder = Folder::new("many");
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: a, version: '1' }\npaths:\n");
    for number in 0..5_000 {
        text.push_str(&format!("  /p{number}:\n    get:\n      x-rate-limit: {{ algorithm: gcr }}\n"));
    }
    let ran = run(&["lint", &folder.put("many.yaml", text.as_bytes())]);
    assert_eq!(ran.exit, Exit::Findings);
    let last = ran.out.lines().last().expect("a summary");
    assert_eq!(last, "1000 errors, and 4000 more that are not listed");
}

/// A hundred operations without a limit are one piece of advice, given fifty times and then counted.
#[test]
fn more_advice_of_a_kind_than_is_listed_is_counted() {
    let folder = Folder::new("much-advice");
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: a, version: '1' }\npaths:\n");
    for number in 0..100 {
        text.push_str(&format!("  /p{number}: {{ get: {{}} }}\n"));
    }
    let file = folder.put("much.yaml", text.as_bytes());
    let ran = run(&["lint", &file]);
    assert_eq!(ran.exit, Exit::Fine);
    let last: Vec<_> = ran.out.lines().rev().take(2).collect();
    assert_eq!(last[0], "no errors, 50 of 100 warnings shown; 0 of 100 operations are limited (0 %)");
    assert_eq!(last[1], "50 more of the kind `no-limit` are not listed");
    let github = run(&["lint", "--format", "github", &file]);
    assert_eq!(github.out.lines().last(), Some("::notice::50 more of the kind `no-limit` are not listed"));
    let sarif = run(&["lint", "--format", "sarif", &file]);
    let log: serde_json::Value = serde_json::from_str(&sarif.out).expect("it is JSON");
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], true);
    let notification = &invocation["toolExecutionNotifications"][0];
    assert_eq!(notification["message"]["text"], "50 more of the kind `no-limit` are not listed");
}

#[test]
fn text_that_would_move_the_cursor_is_not_printed() {
    let folder = Folder::new("cursor");
    let text = "openapi: 3.1.0\nx-rate-limit: { algorithm: \"a\x1b[2Jb\" }\r\n# \u{202e}\n";
    let ran = run(&["lint", &folder.put("cursor.yaml", text.as_bytes())]);
    assert_eq!(ran.exit, Exit::Findings);
    assert!(!ran.out.contains(['\x1b', '\u{202e}']), "{:?}", ran.out);
}

#[test]
fn what_is_not_limited_is_told_by_method_and_by_tag() {
    let groups = "tests/documents/groups.yaml";
    check("lint-groups", &["lint", groups]);
    let ran = run(&["lint", "--format", "json", groups, "tests/documents/good.yaml"]);
    let all: serde_json::Value = serde_json::from_str(&ran.out).expect("it is JSON");
    let get = serde_json::json!({ "method": "GET", "operations": 5, "limited": 4, "switched_off": 0 });
    assert_eq!(all["by_method"][1], get, "{}", all["by_method"]);
    let tags = all["by_tag"].as_array().expect("a list");
    let names: Vec<_> = tags.iter().map(|group| group["tag"].as_str()).collect();
    assert_eq!(names, [None, Some("admin"), Some("search")]);
    // All of it limited: nothing to draw.
    assert!(!run(&["lint", GOOD]).out.contains("METHOD"));
}

#[test]
fn advice_that_is_allowed_is_neither_shown_nor_counted() {
    let document = "tests/documents/groups.yaml";
    assert_eq!(run(&["lint", "--strict", document]).exit, Exit::Findings);
    check("lint-allow", &["lint", "--strict", "--allow", "no-limit", "--allow", "limits-off", document]);
    // An error is no advice.
    check("lint-allow-unknown", &["lint", "--allow", "same-name", BAD]);
    // What is allowed is not counted among what is left out.
    let folder = Folder::new("allowed");
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: a, version: '1' }\npaths:\n");
    (0..100).for_each(|number| text.push_str(&format!("  /p{number}: {{ get: {{}} }}\n")));
    let ran = run(&["lint", "--allow", "no-limit", &folder.put("much.yaml", text.as_bytes())]);
    assert_eq!(ran.out, "no errors; 0 of 100 operations are limited (0 %)\n");
}

#[test]
fn standard_input_is_read_once() {
    check("lint-twice-standard-input", &["lint", "-", "-"]);
    check("test-twice-standard-input", &["test", "-", "-"]);
}
