//! `tollgate lint`: what is said of documents, in every format.

use crate::support::{Folder, check, run};
use tollgate_cli::Exit;
use tollgate_testing::patience::within;

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
    check("lint-unreadable-json", &["lint", "--format", "json", "tests/documents/none.yaml"]);
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

fn many_mistakes(count: usize) -> String {
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: a, version: '1' }\npaths:\n");
    for number in 0..count {
        text.push_str(&format!("  /p{number}:\n    get:\n      x-rate-limit: {{ algorithm: gcr }}\n"));
    }
    text
}

/// Everything is counted, programs get all of it, and people as much as they can read, or all if they ask.
#[test]
fn people_see_fifty_of_a_code_and_programs_see_all() {
    let folder = Folder::new("many");
    let file = folder.put("many.yaml", many_mistakes(1_500).as_bytes());
    let ran = run(&["lint", &file]);
    assert_eq!(ran.exit, Exit::Findings);
    assert_eq!(ran.out.matches("error[unknown-value]").count(), 50);
    let end = "1450 more of `unknown-value` are not shown
--all shows them here, --format json lists them for programs

1500 errors
";
    assert!(ran.out.ends_with(end), "{}", &ran.out[ran.out.len() - 300..]);
    assert_eq!(run(&["lint", "--all", &file]).out.matches("error[unknown-value]").count(), 1_500);
    let json: serde_json::Value =
        serde_json::from_str(&run(&["lint", "--format", "json", &file]).out).expect("it is JSON");
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(1_500));
    assert_eq!((&json["errors"], &json["more"]), (&1_500.into(), &0.into()));
    let sarif: serde_json::Value =
        serde_json::from_str(&run(&["lint", "--format", "sarif", &file]).out).expect("it is JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(1_500));
    assert_eq!(run(&["lint", "--format", "github", &file]).out.lines().count(), 1_500);
    let junit = run(&["lint", "--format", "junit", &file]).out;
    assert_eq!(junit.matches("<failure ").count(), 1_500);
}

/// The same of advice, and of one finding about many limits: people see ten of them.
#[test]
fn advice_is_complete_too() {
    let folder = Folder::new("much-advice");
    let mut text = String::from("openapi: 3.1.0\ninfo: { title: a, version: '1' }\npaths:\n");
    for number in 0..100 {
        text.push_str(&format!("  /p{number}: {{ get: {{}} }}\n"));
    }
    for number in 0..30 {
        let limit = "{ algorithm: gcra, capacity: 5, refill_rate: 1 }";
        text.push_str(&format!("  /q{number}: {{ get: {{ x-rate-limit: {limit} }} }}\n"));
    }
    let file = folder.put("much.yaml", text.as_bytes());
    let ran = run(&["lint", &file]);
    assert_eq!(ran.exit, Exit::Fine);
    assert!(ran.out.contains("and 19 more, which `--format json` lists"), "{}", ran.out);
    assert!(ran.out.contains("50 more of `no-limit` are not shown\n"), "{}", ran.out);
    assert!(ran.out.contains("no errors, 101 warnings; 30 of 130 operations"), "{}", ran.out);
    let github = run(&["lint", "--format", "github", &file]).out;
    assert_eq!(github.matches("title=no-limit").count(), 100);
    let json: serde_json::Value =
        serde_json::from_str(&run(&["lint", "--format", "json", &file]).out).expect("it is JSON");
    let grouped = json["findings"].as_array().expect("a list").iter().find(|of| of["code"] == "claimed-key");
    assert_eq!(grouped.expect("a finding")["also"].as_array().map(Vec::len), Some(29));
}

/// Looking for the line of each finding from the beginning would take minutes.
#[test]
fn one_line_with_thousands_of_mistakes_is_drawn_at_once() {
    let paths: Vec<_> = (0..20_000)
        .map(|number| {
            format!("\"/p{number}\":{{\"get\":{{\"summary\":\"{}\",\"x-rate-limit\":5}}}}", "x".repeat(300))
        })
        .collect();
    let info = "\"info\":{\"title\":\"t\",\"version\":\"1\"}";
    let text = format!("{{\"openapi\":\"3.1.0\",{info},\"paths\":{{{}}}}}", paths.join(","));
    let folder = Folder::new("one-line");
    let file = folder.put("one.json", text.as_bytes());
    let ran = within("a document on one line is drawn", move || run(&["lint", "--all", &file]));
    assert_eq!(ran.out.matches("error[type]").count(), 20_000);
    assert!(ran.out.ends_with("20000 errors\n"));
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

#[test]
fn comments_accept_advice_with_a_reason() {
    let document = "tests/documents/suppressed.yaml";
    check("lint-suppressed", &["lint", document]);
    check("lint-suppressed-json", &["lint", "--format", "json", document]);
    let sarif: serde_json::Value =
        serde_json::from_str(&run(&["lint", "--format", "sarif", document]).out).expect("it is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    let accepted: Vec<_> =
        results.iter().filter_map(|result| result["suppressions"][0].as_object()).collect();
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0]["justification"], "the load balancer asks every second");
}

#[test]
fn advice_has_the_severity_that_is_asked_for() {
    let document = "tests/documents/groups.yaml";
    let raised = run(&["lint", "--severity", "no-limit=error", document]);
    assert_eq!(raised.exit, Exit::Findings);
    assert!(raised.out.contains("error[no-limit]"), "{}", raised.out);
    let lowered =
        run(&["lint", "--strict", "--severity", "no-limit=note", "--severity", "limits-off=off", document]);
    assert_eq!(lowered.exit, Exit::Fine, "{}", lowered.out);
    assert!(lowered.out.contains("note[no-limit]") && !lowered.out.contains("limits-off"), "{}", lowered.out);
    check("lint-severity-wrong", &["lint", "--severity", "no-limit=fatal", document]);
    check("lint-severity-unknown", &["lint", "--severity", "no-limits=note", document]);
    check("lint-severity-error", &["lint", "--severity", "same-name=note", document]);
}

#[test]
fn a_file_of_settings_is_read_and_flags_go_before_it() {
    let document = "tests/documents/groups.yaml";
    let folder = Folder::new("lint-config");
    let config = folder.put("lint.yaml", b"strict: true\nseverity: { no-limit: error, limits-off: off }\n");
    let ran = run(&["lint", "--config", &config, document]);
    assert!(ran.exit == Exit::Findings && ran.out.contains("error[no-limit]"), "{}", ran.out);
    assert!(!ran.out.contains("limits-off"), "{}", ran.out);
    let flag = run(&["lint", "--config", &config, "--severity", "no-limit=note", document]);
    assert_eq!(flag.exit, Exit::Fine, "{}", flag.out);
    let wrong = folder.put("wrong.yaml", b"strikt: true\nseverity: { no-limits: off, no-owner: fatal }\n");
    let ran = run(&["lint", "--config", &wrong, document]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
    for said in
        ["did you mean `strict`?", "did you mean `no-limit`?", "`fatal` is not a known value of `no-owner`"]
    {
        assert!(ran.err.contains(said), "{said}: {}", ran.err);
    }
    let none = run(&["lint", "--config", "none.yaml", document]);
    assert_eq!(
        (none.exit, none.err.as_str()),
        (Exit::Usage, "tollgate: none.yaml cannot be read: there is no such file\n")
    );
}

#[test]
fn quiet_prints_only_what_fails() {
    let quiet =
        |args: &[&str]| run(&["lint", "--quiet"].into_iter().chain(args.iter().copied()).collect::<Vec<_>>());
    let document = "tests/documents/groups.yaml";
    assert_eq!((quiet(&[document]).out.as_str(), quiet(&[document]).exit), ("", Exit::Fine));
    let strict = quiet(&["--strict", document]);
    assert_eq!(strict.exit, Exit::Findings);
    assert!(strict.out.contains("warning[no-limit]") && !strict.out.contains("note["), "{}", strict.out);
    assert!(!strict.out.contains("METHOD") && !strict.out.contains("no errors"), "{}", strict.out);
    assert!(quiet(&[BAD]).out.contains("error["));
}

#[test]
fn junit_has_a_suite_for_each_file_and_a_failure_for_what_fails() {
    let args = ["lint", "--format", "junit", GOOD, BAD, "tests/documents/none.yaml"];
    check("lint-junit", &args);
}

#[test]
fn a_folder_is_every_document_in_it() {
    let folder = Folder::new("lint-folder");
    let root = folder.path("api");
    for name in ["", "/below", "/.hidden"] {
        std::fs::create_dir(format!("{root}{name}")).expect("a folder can be made");
    }
    let limit = "{ algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ip }";
    let document = |path: &str| {
        format!(
            "openapi: 3.1.0\ninfo: {{ title: {path}, version: '1' }}\npaths: {{ /{path}: {{ get: {{}} }} }}\n"
        )
    };
    // Its default limits the document, which has none by itself.
    folder.put(
        "api/tollgate.yaml",
        format!("tollgate: 1\nopenapi: below/a.yaml\nrate_limit: {limit}\n").as_bytes(),
    );
    folder.put("api/below/a.yaml", document("a").as_bytes());
    folder.put(
        "api/below/b.json",
        br#"{"openapi":"3.1.0","info":{"title":"b","version":"1"},"paths":{"/b":{"get":{}}}}"#,
    );
    folder.put("api/below/values.yaml", b"replicas: 3\n");
    folder.put("api/.hidden/c.yaml", document("c").as_bytes());
    let ran = run(&["lint", &root]);
    assert_eq!(ran.exit, Exit::Fine, "{}", ran.err);
    assert_eq!(ran.out.matches("has no limit").count(), 1, "{}", ran.out);
    assert!(
        ran.out.contains("below/b.json:1:") && ran.out.contains("1 of 2 operations are limited"),
        "{}",
        ran.out
    );
    let empty = folder.path("empty");
    std::fs::create_dir(&empty).expect("a folder can be made");
    let ran = run(&["lint", &empty]);
    assert_eq!(ran.exit, Exit::Usage);
    assert!(ran.err.contains("has no OpenAPI document and no Tollgate file"), "{}", ran.err);
}

/// Each is underlined at the field that is wrong, and none hides the others.
#[test]
fn all_files_that_are_wrong_are_told_at_once() {
    let folder = Folder::new("all-at-once");
    let text = "tollgate: 1
consumers: none.csv
jwt: { jwks: keys.json }
colour: red
routes:
  - { path: /a, rate_limit: { algorithm: gcr } }
";
    folder.put("keys.json", b"{}");
    let ran = run(&["lint", "--format", "github", &folder.put("all.yaml", text.as_bytes())]);
    for place in [
        "line=2,col=12,title=unreadable",
        "line=3,col=14,title=jwks",
        "line=4,col=1,title=unknown-field",
        "line=6,col=42,title=unknown-value",
    ] {
        assert!(ran.out.contains(place), "{place}: {}", ran.out);
    }
    // A consumers file that is there is read, though the policy is wrong.
    folder.put("none.csv", b"key_sha256,consumer\nshort,ada\n");
    let ran = run(&["lint", "--format", "github", &folder.path("all.yaml")]);
    assert!(ran.out.contains("none.csv,line=2"), "{}", ran.out);
}

#[test]
fn a_file_that_is_no_text_is_told_by_what_it_is() {
    let folder = Folder::new("binary");
    let ran = run(&["lint", &folder.put("openapi.yaml.gz", b"\x1f\x8b\x08\0\0\0\0\0")]);
    assert_eq!(ran.exit, Exit::Usage);
    assert!(
        ran.err.contains("openapi.yaml.gz cannot be read: it is compressed with gzip: decompress it first"),
        "{}",
        ran.err
    );
    folder.put("consumers.csv", b"\x1f\x8b\x08\0\0\0\0\0");
    let ran = run(&["lint", &folder.put("t.yaml", b"tollgate: 1\nconsumers: consumers.csv\n")]);
    assert!(ran.out.contains("it is compressed with gzip"), "{}", ran.out);
}
