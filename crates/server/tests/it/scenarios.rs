//! `tollgate test`: scenarios that go as they say, and those that do not.

use crate::support::check;

#[test]
fn scenarios_that_go_as_they_say_pass() {
    check("test-passed", &["test", "tests/documents/scenarios.yaml"]);
}

#[test]
fn what_is_answered_otherwise_is_drawn_where_it_is_expected() {
    let files = ["tests/documents/scenarios.yaml", "tests/documents/scenarios-bad.yaml"];
    check("test-failed", &["test", files[0], files[1]]);
    check("test-failed-json", &["test", "--format", "json", files[1]]);
}

#[test]
fn files_with_errors_are_told_and_nothing_is_run() {
    check("test-broken", &["test", "tests/documents/scenarios-broken.yaml"]);
    check("test-of-bad", &["test", "tests/documents/scenarios-of-bad.yaml"]);
    check("test-of-none", &["test", "tests/documents/scenarios-of-none.yaml"]);
    check("test-none", &["test", "tests/documents/none.yaml"]);
}
