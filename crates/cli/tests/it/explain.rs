//! `tollgate explain`: what is said of requests.

use crate::support::{check, run};
use tollgate_cli::Exit;

const API: &str = "tests/documents/good.yaml";
const GATEWAY: &str = "tests/documents/gateway.yaml";

#[test]
fn a_limit_of_the_operation_is_explained_with_the_numbers_of_the_tier() {
    let request = "POST /v1/reports/generate";
    check("explain-operation", &["explain", API, request, "-H", "X-API-Key: abc"]);
    check("explain-tier", &["explain", API, request, "-H", "X-API-Key: abc", "--tier", "gold"]);
    check("explain-unlimited-tier", &["explain", API, request, "--tier", "internal"]);
}

#[test]
fn limits_of_a_path_of_a_tag_and_of_the_root_say_why_they_are_nearest() {
    check("explain-path", &["explain", API, "GET /v1/search?q=x"]);
    check("explain-tag", &["explain", API, "GET /v1/suggest", "--from", "2001:db8::1"]);
    check("explain-root", &["explain", API, "GET /v1/reports/7", "--host", "API.example.org:443"]);
    check("explain-off", &["explain", API, "DELETE /v1/reports/7"]);
}

#[test]
fn a_request_that_meets_nothing_is_told_what_is_near() {
    check("explain-404", &["explain", API, "GET /v1/serach"]);
    check("explain-405", &["explain", API, "PUT /v1/reports/7"]);
    check("explain-forwarded", &["explain", GATEWAY, "GET /files/x"]);
}

#[test]
fn a_path_without_its_base_or_in_another_case_is_told_as_that() {
    check("explain-no-base", &["explain", API, "GET /search"]);
    check("explain-other-case", &["explain", API, "GET /v1/Reports/7"]);
    check("explain-no-base-other-method", &["explain", API, "PUT /Reports/7"]);
}

#[test]
fn where_the_key_was_looked_for_is_told() {
    let keys = "tests/documents/keys.yaml";
    check("explain-keys-none", &["explain", keys, "GET /all"]);
    check("explain-keys-query", &["explain", keys, "GET /all?key=a"]);
    check("explain-keys-joined", &["explain", keys, "GET /all", "-H", "X-User: u", "-H", "Cookie: s=1"]);
    // Two that are asked for at once.
    check("explain-keys-half", &["explain", keys, "POST /all?key=a"]);
    check("explain-keys-both", &["explain", keys, "POST /all?key=a", "-H", "X-Key: b"]);
    // A key that is nobody's is no key where consumers are known.
    check("explain-keys-unknown", &["explain", GATEWAY, "POST /reports", "-H", "X-API-Key: nobody"]);
}

#[test]
fn a_consumer_is_known_by_its_key() {
    check("explain-consumer", &["explain", GATEWAY, "POST /reports", "-H", "X-API-Key: key"]);
    check(
        "explain-override",
        &["explain", GATEWAY, "POST /reports", "-H", "X-API-Key: bob", "-H", "X-Cost: 9"],
    );
}

#[test]
fn a_hidden_limit_is_not_told_to_clients() {
    check("explain-hidden", &["explain", GATEWAY, "GET /files/x/y", "--host", "a.example.org"]);
}

#[test]
fn what_can_never_fit_and_what_is_in_progress_are_told_as_that() {
    let never = "tests/documents/never.yaml";
    check("explain-never", &["explain", never, "GET /reports", "-H", "X-Cost: 6"]);
    check("explain-not-yet", &["explain", never, "GET /queue"]);
    let ran = run(&["explain", never, "GET /queue", "--format", "json"]);
    assert!(ran.out.contains(r#""limited_in_flight": true"#), "{}", ran.out);
}

#[test]
fn a_wrong_request_is_told_what_is_wrong() {
    check("explain-400-path", &["explain", API, "GET /v1/%zz"]);
    check("explain-400-cost", &["explain", GATEWAY, "POST /reports", "-H", "X-Cost: 90"]);
}

#[test]
fn programs_get_the_same_as_data() {
    let request = "POST /v1/reports/generate";
    check("explain-json", &["explain", API, request, "-H", "X-API-Key: abc", "--format", "json"]);
    check("explain-404-json", &["explain", API, "GET /v1/serach", "--format", "json"]);
    check("explain-400-json", &["explain", API, "GET /v1/%zz", "--format", "json"]);
}

#[test]
fn a_document_with_errors_explains_nothing() {
    let ran = run(&["explain", "tests/documents/bad.yaml", "GET /users"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Findings, ""));
    assert!(ran.err.contains("error[same-name]"), "{}", ran.err);
    check("explain-bad-consumers", &["explain", "tests/documents/bad-consumers.yaml", "GET /"]);
}

#[test]
fn errors_of_usage_are_sentences() {
    check("explain-no-request", &["explain", API, "/v1/search"]);
    check("explain-no-tier", &["explain", GATEWAY, "GET /", "--tier", "platinum"]);
    check("explain-mistyped-tier", &["explain", API, "GET /v1/search", "--tier", "gould"]);
    check("explain-no-tiers", &["explain", "tests/documents/plain.yaml", "GET /", "--tier", "gold"]);
    check("explain-no-file", &["explain", "none.yaml", "GET /"]);
    check("explain-no-address", &["explain", API, "GET /", "--from", "localhost"]);
}

/// Two operations may share one limit, by its name or by a `$ref`: it is written at one of them only.
#[test]
fn a_limit_by_reference_is_told_with_both_of_its_places() {
    check("explain-by-reference", &["explain", "tests/documents/shared.yaml", "GET /by-reference"]);
    check("explain-by-name", &["explain", "tests/documents/shared.yaml", "GET /by-name"]);
    let own = run(&["explain", "tests/documents/shared.yaml", "GET /written"]).out;
    assert!(own.contains("nearest    it stands on the operation itself\n") && !own.contains("$ref"), "{own}");
}

#[test]
fn a_request_without_a_key_is_told_where_it_was_looked_for() {
    check("explain-400-no-key", &["explain", "tests/documents/shared.yaml", "GET /strict"]);
    let twice = ["explain", "tests/documents/shared.yaml", "GET /strict?key=a&key=b"];
    check("explain-400-twice", &twice);
}
