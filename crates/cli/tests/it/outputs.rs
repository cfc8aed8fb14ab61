//! What commands print for programs is what its schema says: no more, no less, and the committed schemas are those of the program.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tollgate_testing::snapshot;

use crate::support::{Folder, run};

/// Each schema of an output, and calls whose output it describes.
const CALLS: &[(&str, &[&[&str]])] = &[
    (
        "lint-output",
        &[
            &["lint", "tests/documents/good.yaml", "tests/documents/groups.yaml"],
            &["lint", "tests/documents/bad.yaml", "tests/documents/none.yaml"],
            &["lint", "tests/documents/worse-consumers.yaml", "tests/documents/suppressed.yaml"],
        ],
    ),
    (
        "explain-output",
        &[
            &["explain", "tests/documents/good.yaml", "POST /v1/reports/generate"],
            &["explain", "tests/documents/good.yaml", "GET /v1/reports/7"],
            &["explain", "tests/documents/good.yaml", "GET /v1/%zz"],
            &["explain", "tests/documents/good.yaml", "GET /v2"],
            &["explain", "tests/documents/shared.yaml", "GET /strict"],
            &["explain", "tests/documents/shared.yaml", "GET /by-reference"],
            &["explain", "tests/documents/never.yaml", "GET /"],
            &["explain", "tests/documents/bad.yaml", "GET /"],
        ],
    ),
    (
        "diff-output",
        &[
            &["diff", "tests/documents/good.yaml", "tests/documents/changed.yaml"],
            &["diff", "tests/documents/changed.yaml", "tests/documents/good.yaml"],
            &["diff", "tests/documents/gateway.yaml", "tests/documents/groups.yaml"],
            &["diff", "tests/documents/bad.yaml", "tests/documents/good.yaml"],
        ],
    ),
    (
        "test-output",
        &[
            &["test", "tests/documents/scenarios.yaml", "tests/documents/scenarios-bad.yaml"],
            &["test", "tests/documents/scenarios-broken.yaml", "tests/documents/none.yaml"],
        ],
    ),
    (
        "annotate-output",
        &[&["annotate", "tests/documents/plain.yaml"], &["annotate", "tests/documents/bad.yaml"]],
    ),
];

fn schema(which: &str) -> Value {
    serde_json::from_str(&run(&["schema", which]).out).expect("a schema is JSON")
}

#[test]
fn outputs_are_what_their_schemas_say() {
    for (which, calls) in CALLS {
        let schema = jsonschema::validator_for(&schema(which)).expect("a schema is right");
        for call in *calls {
            let args: Vec<_> = call.iter().copied().chain(["--format", "json"]).collect();
            let ran = run(&args);
            let output: Value =
                serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{args:?}: {why}\n{}", ran.err));
            let wrong: Vec<_> = schema
                .iter_errors(&output)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(wrong.is_empty(), "{args:?}\n{}", wrong.join("\n"));
        }
    }
}

/// A schema that allows anything would never be wrong.
#[test]
fn a_schema_refuses_what_is_not_printed() {
    for (which, calls) in CALLS {
        let schema = jsonschema::validator_for(&schema(which)).expect("a schema is right");
        let args: Vec<_> = calls[0].iter().copied().chain(["--format", "json"]).collect();
        let mut output: Value = serde_json::from_str(&run(&args).out).expect("it is JSON");
        assert!(schema.is_valid(&output));
        let fields: Vec<_> = output.as_object().expect("an object").keys().cloned().collect();
        for field in fields {
            let mut less = output.clone();
            less.as_object_mut().expect("an object").remove(&field);
            assert!(!schema.is_valid(&less), "{which} does not need `{field}`");
        }
        output["other"] = true.into();
        assert!(!schema.is_valid(&output), "{which} allows anything");
    }
}

#[test]
fn the_committed_schemas_are_those_of_the_program() {
    let folder = Folder::new("committed");
    let written = run(&["schema", "--write", &folder.path("all")]).out;
    assert!(written.lines().count() >= 9, "{written}");
    for name in written.lines() {
        let fresh = fs::read_to_string(folder.path(&format!("all/{name}"))).expect("it was written");
        let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(name);
        snapshot::check(&at, &fresh).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn the_settings_of_lint_are_what_their_schema_says() {
    let schema = jsonschema::validator_for(&schema("lint-config")).expect("a schema is right");
    let levels =
        serde_json::json!({ "strict": true, "severity": { "no-limit": "off", "no-owner": "error" } });
    assert!(schema.is_valid(&levels));
    for bad in
        [serde_json::json!({ "strikt": true }), serde_json::json!({ "severity": { "no-limit": "fatal" } })]
    {
        assert!(!schema.is_valid(&bad), "{bad}");
    }
}
