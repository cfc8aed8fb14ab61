//! `tollgate test`: scenarios that go as they say, and those that do not.

use crate::support::{Folder, check, run};

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

/// A step of a tier that nobody has, or that waits for a limit that is not there, would test nothing.
#[test]
fn names_that_the_policy_does_not_have_are_errors() {
    check("test-unknown-names", &["test", "tests/documents/scenarios-unknown.yaml"]);
    check("test-no-tiers", &["test", "tests/documents/scenarios-no-tiers.yaml"]);
}

#[test]
fn a_document_in_place_of_scenarios_is_told_as_one() {
    check("test-openapi", &["test", "tests/documents/good.yaml"]);
    check("test-policy", &["test", "tests/documents/gateway.yaml"]);
}

#[test]
fn reports_have_a_case_for_each_scenario_and_quiet_prints_what_failed() {
    let files = ["tests/documents/scenarios.yaml", "tests/documents/scenarios-bad.yaml"];
    check("test-junit", &["test", "--format", "junit", files[0], files[1], "tests/documents/none.yaml"]);
    let quiet = run(&["test", "--quiet", files[0], files[1]]);
    assert!(quiet.out.contains("failed  ") && !quiet.out.contains("passed"), "{}", quiet.out);
}

/// Of a folder only files of scenarios are taken.
#[test]
fn a_folder_is_every_file_of_scenarios_in_it() {
    let folder = Folder::new("test-folder");
    let policy = "tollgate: 1\nroutes:\n  - { path: /a, rate_limit: none }\n";
    folder.put("policy.yaml", policy.as_bytes());
    let scenario = |expect: &str| {
        format!(
            "policy: policy.yaml\nscenarios:\n  - {{ name: a, steps: [{{ request: GET /a, expect: {expect} }}] }}\n"
        )
    };
    folder.put("a.yaml", scenario("unlimited").as_bytes());
    folder.put("b.yaml", scenario("refused").as_bytes());
    let root = folder.path("");
    let ran = run(&["test", root.trim_end_matches('/')]);
    assert!(ran.out.ends_with("1 scenario passed, 1 failed\n"), "{}{}", ran.out, ran.err);
}
