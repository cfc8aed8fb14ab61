//! What real documents do: paths with queries, parameters of several segments, servers by variables, more than one credential.

use std::fs;
use std::path::Path;

use tollgate_policy::Policy;

use crate::support::{asked, openapi, policy};

const LIMIT: &str = "{ algorithm: gcra, capacity: 1, refill_rate: 1 }";

fn findings(policy: &Policy, code: &str) -> Vec<String> {
    let found = policy.findings().all().iter().filter(|finding| finding.code == code);
    found.map(|finding| finding.message.clone()).collect()
}

#[test]
fn paths_that_differ_behind_a_question_mark_are_one_route() {
    let policy = policy(&openapi(&format!(
        "
x-rate-limit: {LIMIT}
paths:
  '/#X-Amz-Target=A.List': {{ post: {{}} }}
  '/#X-Amz-Target=A.Drop': {{ post: {{}} }}
  '/jobs?op=LIST': {{ get: {{}} }}
  '/jobs/{{id}}#x': {{ get: {{}} }}
"
    )));
    assert_eq!(asked("POST /").operation(&policy), "POST /#X-Amz-Target=A.List");
    assert_eq!(asked("GET /jobs?op=other").operation(&policy), "GET /jobs?op=LIST");
    assert_eq!(asked("GET /jobs/7").operation(&policy), "GET /jobs/{id}#x");
    assert_eq!(findings(&policy, "shared-route").len(), 3);
    assert_eq!(policy.operations().len(), 4);
}

/// GitHub's document, with limits of its own where it has none.
#[test]
fn a_parameter_may_take_several_segments() {
    let policy = policy(&openapi(&format!(
        "
x-rate-limit: {LIMIT}
paths:
  /repos/{{repo}}/contents/{{path}}:
    parameters: [{{ $ref: '#/components/parameters/path' }}]
    get: {{}}
  /repos/{{repo}}/branches/{{branch}}:
    get: {{ parameters: [{{ name: branch, in: path, x-multi-segment: true }}] }}
  /repos/{{repo}}/branches/{{branch}}/protection:
    get: {{ parameters: [{{ name: branch, in: path, x-multi-segment: true }}], x-rate-limit: none }}
  /repos/{{repo}}/branches/{{branch}}/{{what}}:
    get: {{ parameters: [{{ name: branch, in: path, x-multi-segment: true }}] }}
  /repos/{{repo}}/compare/{{base}}...{{head}}:
    get: {{ parameters: [{{ name: base, in: path, allowReserved: true }}, {{ name: head, in: path, allowReserved: true }}] }}
  /repos/{{repo}}/tags/{{tag}}: {{ get: {{ parameters: [{{ name: tag, in: query, x-multi-segment: true }}] }} }}
  /files/{{path*}}: {{ get: {{}} }}
  /v1/{{name=shelves/*/books/**}}: {{ get: {{}} }}
  /v1/{{name=shelves/**}}:read: {{ post: {{}} }}
components:
  parameters:
    path: {{ name: path, in: path, x-multi-segment: true }}
"
    )));
    let table = [
        ("GET /repos/r/contents/a", "GET /repos/{repo}/contents/{path}"),
        ("GET /repos/r/contents/a/b/c.txt", "GET /repos/{repo}/contents/{path}"),
        ("GET /repos/r/branches/main", "GET /repos/{repo}/branches/{branch}"),
        ("GET /repos/r/branches/main/protection", "GET /repos/{repo}/branches/{branch}/protection"),
        ("GET /repos/r/branches/feature/x/protection", "GET /repos/{repo}/branches/{branch}/protection"),
        ("GET /repos/r/branches/feature/x/y", "GET /repos/{repo}/branches/{branch}/{what}"),
        ("GET /repos/r/compare/a...b", "GET /repos/{repo}/compare/{base}...{head}"),
        ("GET /repos/r/compare/a/b...c/d", "GET /repos/{repo}/compare/{base}...{head}"),
        ("GET /repos/r/tags/v1", "GET /repos/{repo}/tags/{tag}"),
        ("GET /repos/r/tags/v1/rc", "Unmatched { other_methods: false }"),
        ("GET /files/a/b", "GET /files/{path*}"),
        ("GET /v1/shelves/1/books/2/3", "GET /v1/{name=shelves/*/books/**}"),
        ("GET /v1/shelves/1/2", "Unmatched { other_methods: false }"),
        ("POST /v1/shelves/1/2/3:read", "POST /v1/{name=shelves/**}:read"),
        ("POST /v1/shelves/1:read", "POST /v1/{name=shelves/**}:read"),
        ("POST /v1/shelves/1/2:write", "Unmatched { other_methods: false }"),
        ("POST /files/a/b", "Unmatched { other_methods: true }"),
        // Another spelling of what has its own limits does not get round them.
        ("GET /repos/r/branches/a/PROTECTION/", "about GET /repos/{repo}/branches/{branch}/protection"),
    ];
    for (request, operation) in table {
        assert_eq!(asked(request).operation(&policy), operation, "{request}");
    }
    assert_eq!(asked("GET /repos/r/contents/a/b").lines(&policy).len(), 1);
    assert!(asked("GET /repos/r/branches/a/b/protection").lines(&policy).is_empty());
}

#[test]
fn variables_of_hosts_are_left_alone_and_those_of_paths_are_put_in() {
    let policy = policy(&openapi(
        "
servers:
  - { url: 'https://{account}.{region}.example.org/api', variables: { account: { default: '{account}' } } }
  - { url: 'https://{host}/v2', variables: { host: { default: api.example.org/base } } }
  - { url: 'https://api.example.org/{tenant}', variables: { tenant: { default: '{tenant}' } } }
  - { url: 'https://api.example.org/{base}/v4', variables: { base: { default: /four } } }
  - { url: v5 }
paths: { /a: { get: {} } }
",
    ));
    for path in ["/api/a", "/base/v2/a", "/anything/a", "/four/v4/a", "/v5/a"] {
        assert_eq!(asked(&format!("GET {path}")).operation(&policy), "GET /api/a", "{path}");
    }
    assert!(asked("GET /a").operation(&policy).starts_with("Unmatched"));
    assert_eq!(findings(&policy, "relative-server").len(), 1);
}

#[test]
fn a_proxy_in_front_takes_a_base_path_away() {
    let document = openapi(
        "
servers: [{ url: 'https://api.example.org/v1' }, { url: 'https://api.example.org/v1/eu' }, { url: /other }]
x-tollgate: { base_path: /v1/ }
paths: { /a: { get: {} } }
",
    );
    let policy = policy(&document);
    for (path, matched) in [("/a", true), ("/eu/a", true), ("/other/a", true), ("/v1/a", false)] {
        assert_eq!(asked(&format!("GET {path}")).operation(&policy) == "GET /a", matched, "{path}");
    }
}

#[test]
fn the_operations_of_openapi_3_2_are_read() {
    let document = openapi(&format!(
        "
x-rate-limit: {LIMIT}
paths: {{ /a: {{ query: {{}}, additionalOperations: {{ COPY: {{ x-rate-limit: none }}, LINK: {{}} }} }} }}
"
    ));
    let policy = policy(&document.replace("3.1.0", "3.2.0"));
    for (request, operation) in [
        ("QUERY /a", "QUERY /a"),
        ("COPY /a", "COPY /a"),
        ("LINK /a", "LINK /a"),
        ("MOVE /a", "Unmatched { other_methods: true }"),
    ] {
        assert_eq!(asked(request).operation(&policy), operation, "{request}");
    }
    assert_eq!(asked("QUERY /a").lines(&policy).len(), 1);
}

/// JSON allows DEL and C1 controls, and halves of pairs, in its strings.
#[test]
fn json_may_have_what_yaml_may_not() {
    let text = "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"T\u{7f}\u{80}\u{9f}\",\"version\":\"1\",\"x\":\"\\ud800\",\
        \"y\":\"\\udc00a\",\"z\":\"\\ud83d\\ude00\"},\t\"paths\":{\"/a\\u002fb\":{\"get\":{}},\"/c\\/d\":{\"get\":{}}}}\n";
    let policy = policy(text);
    assert_eq!(asked("GET /a/b").operation(&policy), "GET /a/b");
    assert_eq!(asked("GET /c/d").operation(&policy), "GET /c/d");
}

/// What is JSON but for a comma or a comment is read as YAML, or refused as such.
#[test]
fn what_is_nearly_json_is_read_as_yaml() {
    let nearly = "{openapi: 3.0.3, info: {title: T}, paths: {/a: {get: {},},},}";
    assert_eq!(asked("GET /a").operation(&policy(nearly)), "GET /a");
    for text in
        ["{\"openapi\": \"3.0.3\"", "{\"openapi\": \"3.0.3\"]", "{\"a\": 01x\u{1}}", "{\"a\": \"\\x\"}"]
    {
        assert!(Policy::parse("a.json", text).is_err(), "{text}");
    }
}

/// Every field of a document is the same whether it is read as JSON or as YAML.
#[test]
fn a_document_in_json_says_what_the_same_says_in_yaml() {
    let json = r##"{"openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "x-rate-limit": {"algorithm": "gcra",
        "capacity": 5, "refill_rate": 0.5, "name": "a b", "tier_overrides": {"x": {"capacity": 7}}},
        "paths": {"/a": {"get": {"tags": ["x"], "operationId": null, "x-rate-limit": [{"$ref": "#/x-rate-limit"}]}}}}"##;
    // A comment makes it YAML.
    let (json, yaml) = (policy(json), policy(&format!("{json} # YAML")));
    assert_eq!(format!("{:?}", json.limits()), format!("{:?}", yaml.limits()));
    assert_eq!(format!("{:?}", json.operations()), format!("{:?}", yaml.operations()));
}

#[test]
fn the_first_credential_that_is_declared_counts() {
    let text = openapi(&format!(
        "
components:
  securitySchemes:
    header: {{ type: apiKey, in: header, name: X-Key }}
    query: {{ type: apiKey, in: query, name: key }}
    token: {{ type: http, scheme: bearer }}
x-rate-limit: {LIMIT}
paths:
  /public: {{ get: {{ security: [] }} }}
  /either: {{ get: {{ security: [{{ token: [] }}, {{ header: [] }}] }} }}
  /both: {{ get: {{ security: [{{ header: [], query: [] }}, {{ token: [] }}] }} }}
"
    ));
    let policy = policy(&text);
    let key = |request: &str| asked(request).lines(&policy).join(";");
    let same = [
        ("GET /public?key=q X-Key: h", "GET /public X-Key: h"),
        ("GET /public?key=q Authorization: Bearer t", "GET /public?key=q"),
        ("GET /either X-Key: h | Authorization: Bearer t", "GET /either Authorization: Bearer t"),
        ("GET /both X-Key: h | Authorization: Bearer t", "GET /both Authorization: Bearer t"),
        ("GET /both?key=q X-Key: h | Authorization: Bearer t", "GET /both?key=q X-Key: h"),
    ];
    for (several, one) in same {
        assert_eq!(key(several), key(one), "{several}");
        assert!(key(several).contains("key"), "{several}: {}", key(several));
    }
    // The same credential twice is still refused.
    assert!(key("GET /public X-Key: a | X-Key: b").contains("more than once"));
}

#[test]
fn a_key_header_with_an_underscore_is_read_and_passed_on() {
    let scheme = "{ type: apiKey, in: header, name: api_key }";
    let text = openapi(&format!(
        "
components: {{ securitySchemes: {{ key: {scheme} }} }}
security: [{{ key: [] }}]
x-rate-limit: {LIMIT}
paths: {{ /a: {{ get: {{}} }} }}
"
    ));
    let policy = policy(&text);
    assert_eq!(findings(&policy, "kept-header").len(), 1);
    let passes = |name: &'static str| policy.header_filter().passes(&http::HeaderName::from_static(name));
    let table = [
        ("api_key", true),
        ("api-key", false),
        ("api.key", false),
        ("x_forwarded_for", false),
        ("accept", true),
    ];
    for (name, expected) in table {
        assert_eq!(passes(name), expected, "{name}");
    }
    let key = |request: &str| asked(request).lines(&policy).join(";");
    assert_ne!(key("GET /a api_key: a"), key("GET /a api_key: b"));
    assert_eq!(key("GET /a api-key: a"), key("GET /a"));
}

#[test]
fn a_semicolon_in_a_query_means_what_the_upstream_takes_it_for() {
    let of = |semicolons: &str| {
        policy(&format!(
            "tollgate: 1\nquery_semicolons: {semicolons}\nrate_limit: {{ algorithm: gcra, capacity: 1, refill_rate: 1, \
             consumer_key: ['query:k', ip] }}\nroutes: [{{ path: /a }}]\n"
        ))
    };
    let keys = |policy: &Policy| {
        ["/a?x=1;k=2", "/a?k=2"].map(|path| asked(&format!("GET {path}")).lines(policy).join(";"))
    };
    for (semicolons, same) in [("text", false), ("separator", true), ("dropped", false)] {
        let [split, whole] = keys(&of(semicolons));
        assert_eq!(split == whole, same, "{semicolons}");
    }
}

/// Hand-made documents, each with what a real one does: see `testdata/corpus/README.md`.
#[test]
fn every_document_of_the_selection_loads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/corpus");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".md") && !name.contains(".part."))
        .collect();
    names.sort();
    assert!(names.len() >= 24, "{} documents", names.len());
    for name in names {
        let mut read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
        let loaded = Policy::load(&name, &mut read);
        let is_wrong = name.starts_with("wrong-");
        match loaded {
            Ok(policy) => {
                assert!(!is_wrong, "{name} loads");
                assert!(!policy.operations().is_empty(), "{name}");
            }
            Err(refused) => assert!(is_wrong, "{name}: {refused}"),
        }
    }
}
