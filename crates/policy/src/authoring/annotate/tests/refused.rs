//! What is not annotated: operations that stand elsewhere, and documents that cannot be added to. Each says why.

use super::laws;
use crate::{FileId, Policy, annotate, annotate_file};

const HEAD: &str = "openapi: 3.1.0\nx-rate-limit: { algorithm: gcra, capacity: 5, refill_rate: 1 }\n";

fn skipped(text: &str) -> Vec<(String, String)> {
    let done = laws(&format!("{HEAD}{text}"), text);
    done.skipped.into_iter().map(|one| (one.operation, one.why)).collect()
}

#[test]
fn an_operation_that_is_reached_through_an_alias_is_skipped_with_a_sentence() {
    let table = [
        (
            "x-a: &a { summary: x }\npaths:\n  /a:\n    get: *a\n",
            "it is a YAML alias: write the operation out",
        ),
        ("x-a: &a\n  get: {}\npaths:\n  /a: *a\n", "it is a YAML alias: write the operation out"),
        (
            "x-a: &a\n  '200': { description: ok }\npaths:\n  /a:\n    get:\n      responses: *a\n",
            "its `responses` is a YAML alias, shared with other entries: write it out",
        ),
        (
            "paths:\n  /a:\n    get:\n      responses: { $ref: '#/x' }\nx: {}\n",
            "its `responses` is a $ref: add the response to its target",
        ),
        ("paths:\n  /a:\n    get:\n      responses: ~\n", "its `responses` is not a map"),
        ("paths:\n  /a:\n    get:\n      responses: []\n", "its `responses` is not a map"),
        ("paths: { /a: { get: { responses: } } }\n", "its `responses` is empty: write `{}`"),
        (
            "paths:\n  /a:\n    get:\n      ? responses\n      : '200': { description: ok }\n",
            "its `responses` ends with a key that does not start its line",
        ),
    ];
    for (text, why) in table {
        assert_eq!(skipped(text), [("GET /a".to_owned(), why.to_owned())], "{text}");
    }
}

#[test]
fn what_an_alias_leads_to_is_written_once() {
    let both =
        "paths:\n  /a:\n    get: &get\n      responses:\n        '200': { description: ok }\n    put: *get\n";
    assert_eq!(skipped(both), []);
    let one = format!("{both}    x-rate-limit: none\n  /b:\n    get: *get\n").replace("    put: *get\n", "");
    let why = "it is a YAML alias: write the operation out";
    assert_eq!(skipped(&one), [("GET /b".to_owned(), why.to_owned())]);
    let other =
        "paths:\n  /a:\n    get: &get\n      summary: x\n  /b:\n    x-rate-limit: none\n    get: *get\n";
    let why = "a YAML anchor shares it with an operation that has no limit: write its `responses` out";
    assert_eq!(skipped(other), [("GET /a".to_owned(), why.to_owned())]);
}

#[test]
fn a_path_that_is_written_below_components_is_annotated_there() {
    let text = format!(
        "{HEAD}paths:\n  /a: {{ $ref: '#/components/pathItems/A' }}\ncomponents:\n  pathItems:\n    A:\n      get:\n        summary: x\n"
    );
    let done = annotate("openapi.yaml", &text).unwrap();
    assert_eq!((done.operations.as_slice(), done.skipped.len()), (&["GET /a".to_owned()][..], 0));
    assert!(
        done.text.contains("        summary: x\n        responses:\n          '429':\n"),
        "{}",
        done.text
    );
    assert_eq!(annotate("openapi.yaml", &done.text).unwrap().text, done.text);
}

#[test]
fn an_operation_in_another_file_is_skipped_and_its_file_is_named() {
    let text = format!("{HEAD}paths:\n  /a: {{ $ref: 'a.yaml' }}\n  /b: {{ get: {{}} }}\n");
    let policy = Policy::load("openapi.yaml", &mut |name| match name {
        "openapi.yaml" => Ok(text.clone()),
        "a.yaml" => Ok("get:\n  summary: x\n".into()),
        _ => Err("there is no such file".into()),
    })
    .unwrap();
    let done = annotate_file(&policy, FileId(0)).unwrap();
    assert_eq!(done.operations, ["GET /b"]);
    let skipped: Vec<_> = done.skipped.iter().map(|one| (one.operation.as_str(), one.why.as_str())).collect();
    assert_eq!(skipped, [("GET /a", "it is defined in a.yaml: add the response there")]);
    let refused = annotate_file(&policy, FileId(1)).unwrap_err().to_string();
    assert!(refused.contains("a.yaml:1:1: error: this is not an OpenAPI document"), "{refused}");
    assert!(annotate_file(&policy, FileId(7)).is_err());
}

#[test]
fn a_document_that_cannot_be_added_to_is_refused() {
    let get = "paths: { /a: { get: {} } }\n";
    let table = [
        ("x: &x { schemas: {} }\ncomponents: *x\n", "`components` is a YAML alias"),
        ("components: []\n", "`components` is not a map"),
        ("components: { schemas: [] }\n", "`components/schemas` is not a map"),
        ("components: ~\n", "`components` is not a map"),
    ];
    for (components, why) in table {
        let refused = annotate("openapi.yaml", &format!("{HEAD}{get}{components}")).unwrap_err().to_string();
        assert!(refused.contains(why), "{components}: {refused}");
        // Nothing is to be added, so nothing is wrong.
        let fine = format!("openapi: 3.1.0\n{get}{components}");
        assert_eq!(annotate("openapi.yaml", &fine).unwrap().text, fine);
    }
    let native = annotate("tollgate.yaml", "tollgate: 1\n").unwrap_err().to_string();
    assert!(native.contains("not an OpenAPI document"), "{native}");
    assert!(annotate("openapi.yaml", "openapi: 3.1.0\nx-rate-limit: 5\n").is_err());
}
