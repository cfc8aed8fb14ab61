//! Overlays: what they change, in which documents, and what is said of those that change nothing.

use tollgate_policy::Policy;

use crate::support::{asked, files, openapi};

const DOCUMENT: &str = "
tags: [{ name: a }]
paths:
  /a: { get: { tags: [a], x-rate-limit: { algorithm: gcra, capacity: 9, refill_rate: 1 } }, put: { deprecated: true } }
  '/b/{id}': { get: { operationId: getB }, x-internal: true }
  /debug: { get: {} }
";
const LIMIT: &str = "{ algorithm: gcra, capacity: 5, refill_rate: 1 }";

fn overlay(actions: &str) -> String {
    format!("overlay: 1.0.0\ninfo: {{ title: O, version: '1' }}\nextends: a.yaml\nactions:\n{actions}")
}

fn load(actions: &str) -> Policy {
    let loaded = files(&[("o.yaml", &overlay(actions)), ("a.yaml", &openapi(DOCUMENT))]);
    loaded.unwrap_or_else(|refused| panic!("{actions}: {refused}"))
}

/// What each operation of the document may do at once; `-` if it is not limited.
fn numbers(policy: &Policy) -> String {
    let of = |operation: &tollgate_policy::Operation| {
        let limits = operation.limits.iter().map(|id| policy.limits()[id.index()].numbers.to_string());
        let limits: Vec<_> = limits.map(|text| text.split(' ').next().unwrap_or("").to_owned()).collect();
        let limits = if limits.is_empty() { "-".to_owned() } else { limits.join("+") };
        format!("{} {limits}", operation.name())
    };
    policy.operations().iter().map(of).collect::<Vec<_>>().join(", ")
}

#[test]
fn actions_change_the_document_before_it_is_read() {
    let update = |target: &str| format!("  - target: {target}\n    update: {{ x-rate-limit: {LIMIT} }}\n");
    let table = [
        (update("$"), "GET /a 9, PUT /a 5, GET /b/{id} 5, GET /debug 5"),
        (update("$.paths['/a'].get"), "GET /a 5, PUT /a -, GET /b/{id} -, GET /debug -"),
        (update("$.paths['/a','/b/{id}']"), "GET /a 9, PUT /a 5, GET /b/{id} 5, GET /debug -"),
        (update("$.paths.*"), "GET /a 9, PUT /a 5, GET /b/{id} 5, GET /debug 5"),
        (update("$.tags[0]"), "GET /a 9, PUT /a -, GET /b/{id} -, GET /debug -"),
        (update("'$.paths.*[?@.deprecated == true]'"), "GET /a 9, PUT /a 5, GET /b/{id} -, GET /debug -"),
        (update("\"$..[?@.operationId == 'getB']\""), "GET /a 9, PUT /a -, GET /b/{id} 5, GET /debug -"),
        (update("'$.paths[?!@.x-internal && @.get]'"), "GET /a 9, PUT /a 5, GET /b/{id} -, GET /debug 5"),
        (
            update("$.paths[\"/debug\"]") + "  - { target: \"$.paths['/debug']\", remove: true }\n",
            "GET /a 9, PUT /a -, GET /b/{id} -",
        ),
        (
            "  - { target: \"$.paths['/a'].get['x-rate-limit']\", remove: true }\n".into(),
            "GET /a -, PUT /a -, GET /b/{id} -, GET /debug -",
        ),
        (
            "  - { target: $.paths, update: { /new: { post: { x-rate-limit: none } } } }\n".into(),
            "GET /a 9, PUT /a -, GET /b/{id} -, GET /debug -, POST /new -",
        ),
        (
            format!(
                "  - {{ target: $.tags, update: {{ name: more, x-rate-limit: {LIMIT} }} }}\n  - {{ target: \"$.paths['/debug'].get\", update: {{ tags: [more] }} }}\n"
            ),
            "GET /a 9, PUT /a -, GET /b/{id} -, GET /debug 5",
        ),
    ];
    for (actions, expected) in table {
        assert_eq!(numbers(&load(&actions)), expected, "{actions}");
    }
}

/// A second target that changes a copy of what the first action wrote must not change the first one's.
#[test]
fn what_an_action_writes_in_two_places_is_two_things() {
    let policy = load(&format!(
        "  - {{ target: $.paths.*.get, update: {{ x-rate-limit: {LIMIT} }} }}\n  - {{ target: \"$.paths['/debug'].get\", update: {{ x-rate-limit: {{ capacity: 7 }} }} }}\n"
    ));
    assert_eq!(numbers(&policy), "GET /a 5, PUT /a -, GET /b/{id} 5, GET /debug 7");
}

#[test]
fn a_native_file_names_documents_and_their_overlays() {
    let overlay = |target: &str| {
        format!(
            "overlay: 1.0.0\nactions: [{{ target: \"{target}\", update: {{ x-rate-limit: {LIMIT} }} }}]\n"
        )
    };
    let other = openapi("paths: { /c: { get: {} } }").replace("Test", "Other");
    let native = "tollgate: 1\nopenapi: [a.yaml, o.yaml, c.yaml, p.yaml]\n";
    let all = [
        ("n.yaml", native),
        ("a.yaml", &openapi(DOCUMENT)),
        ("o.yaml", &overlay("$.paths['/debug']")),
        ("c.yaml", &other),
        ("p.yaml", &overlay("$.paths['/c'].get")),
    ];
    let policy = files(&all).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(numbers(&policy), "GET /a 9, PUT /a -, GET /b/{id} -, GET /debug 5, GET /c 5");
    assert_eq!(asked("GET /c").operation(&policy), "GET /c");
    // A limit stands where it is written.
    let place = policy.limits().iter().find(|limit| limit.name.contains("/c")).map(|limit| limit.place);
    assert!(policy.sources().locate(place.expect("a limit")).starts_with("p.yaml:2:"));
}

#[test]
fn an_overlay_that_is_wrong_is_told_so_in_its_own_lines() {
    let table = [
        (
            "  - { target: \"$.paths['/none']\", update: { x-rate-limit: none } }\n",
            "o.yaml:5:15: error: no document has this target",
        ),
        (
            "  - { target: \"$.paths['/a'].get.tags\", update: { x-rate-limit: none } }\n",
            "error: `x-rate-limit` has no effect here",
        ),
        (
            "  - { target: $.info.title, update: { a: b } }\n",
            "o.yaml:5:15: error: a map cannot be merged into",
        ),
        ("  - { target: $, remove: true }\n", "o.yaml:5:15: error: the whole document cannot be removed"),
        (
            "  - { target: '$.paths[0:2]', update: {} }\n",
            "o.yaml:5:15: error: `$.paths[0:2]` is no JSONPath that is read",
        ),
        ("  - { target: $, updates: {} }\n", "o.yaml:5:18: error: an action has no field `updates`"),
        ("  - { target: $ }\n", "o.yaml:5:5: error: this action changes nothing"),
        (
            "  - { target: \"$.paths['/a'].get\", update: { x-rate-limit: { algorithm: gcr } } }\n",
            "is not a known value of `algorithm`",
        ),
    ];
    for (actions, expected) in table {
        let loaded = files(&[("o.yaml", &overlay(actions)), ("a.yaml", &openapi(DOCUMENT))]);
        let said = loaded.map_or_else(|refused| refused.to_string(), |policy| numbers(&policy));
        assert!(said.contains(expected), "{actions}{said}");
    }
    let alone = files(&[("o.yaml", "overlay: 1.0.0\nactions: []\n")]).unwrap_err().to_string();
    assert!(alone.contains("does not say which document it changes"), "{alone}");
    let aliased = openapi("paths: { /a: &a { get: {} }, /b: *a }");
    let actions = format!("  - {{ target: \"$.paths['/b'].get\", update: {{ x-rate-limit: {LIMIT} }} }}\n");
    let said = files(&[("o.yaml", &overlay(&actions)), ("a.yaml", &aliased)]).unwrap_err().to_string();
    assert!(said.contains("an alias refers to this target"), "{said}");
}
