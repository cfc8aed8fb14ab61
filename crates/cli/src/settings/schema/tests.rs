//! Whether the schema of settings is fresh, right by its dialect, and says what the reader says.

use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use tollgate_policy::section::{Document, Node};
use tollgate_policy::{Findings, Sources};
use tollgate_testing::snapshot;

use super::native_schema;
use crate::settings::config_file::ConfigFile;

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&native_schema()).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// A document as a validator sees it: what YAML 1.2 makes of its scalars.
fn seen(node: Node<'_>) -> Value {
    if node.is_map() {
        return node.entries().map(|entry| (entry.key.to_owned(), seen(entry.value))).collect();
    }
    if node.is_list() {
        return node.items().map(seen).collect();
    }
    if node.is_null() {
        return Value::Null;
    }
    let text = node.text().unwrap();
    let scalar = serde_json::from_str::<Value>(text).ok().filter(|_| node.is_plain());
    scalar.unwrap_or_else(|| text.into())
}

/// What the schema and the reader say of a section `serve`.
fn verdicts(section: &str) -> (bool, bool) {
    let text = format!("tollgate: 1\nserve: {section}\n");
    let document = Document::read(&text).unwrap();
    let (mut sources, mut findings) = (Sources::default(), Findings::default());
    ConfigFile::read("tollgate.yaml", &text, &mut sources, &mut findings);
    (validator().is_valid(&seen(document.root())), !findings.has_errors())
}

fn judged(section: &str, good: bool) {
    assert_eq!(verdicts(section), (good, good), "{section}");
}

#[test]
fn the_committed_schema_is_fresh() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/tollgate.schema.json");
    snapshot::check(&schema, &native_schema()).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn the_schema_is_right_by_its_dialect_and_describes_every_setting() {
    let schema: Value = serde_json::from_str(&native_schema()).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    let paths = crate::settings::Setting::all().into_iter().map(|setting| setting.path);
    for path in paths {
        let pointer =
            format!("/properties/serve/properties/{}/description", path.replace('.', "/properties/"));
        assert!(schema.pointer(&pointer).is_some_and(Value::is_string), "{path}");
    }
}

#[test]
fn the_settings_of_serve() {
    let good = [
        "{}",
        "{ policy: a/openapi.yaml, listen: '127.0.0.1:80', workers: auto, memory: 64 MiB }",
        "{ listen: [localhost:8080, '[::1]:0'], workers: 4, memory: 2 GiB }",
        "{ memory: 4194304, upstream: { url: 'http://127.0.0.1:9000', ca: system, idle_max: 0 } }",
        "{ upstream: { url: 'https://api.example.org/', protocol: http1, ca: ca.pem } }",
        "{ upstream: { url: 'h2c://[2001:db8::1]:50051' }, operations: { listen: none } }",
        "{ tls: { certificate: a.pem, key: none }, operations: { listen: '127.0.0.1:9180' } }",
        "{ answers: { fields: none, reset: delta, retry_jitter: 5s, partition_key: true } }",
        "{ answers: { fields: [draft, triple], retry_jitter: none, partition_key: 'false', degraded: true } }",
        "{ answers: { fields: draft }, timeouts: { header: 500ms, total: none, drain: 1 min } }",
        "{ bounds: { connections: 1, connections_per_address: none, head_bytes: 16 KiB, body_bytes: 0, body_rate: 1 KiB } }",
        "{ forwarding: { keep_host: false, via: gateway-1 }, log: { format: text, requests: true } }",
        "{ forwarding: { via: 5 }, reload: { poll: none } }",
        "{ store: { url: 'valkey://host:6379/2' } }",
        "{ store: { url: 'valkeys://host' } }",
    ];
    good.iter().for_each(|section| judged(section, true));
    let bad = [
        "~",
        "[]",
        "{ colour: red }",
        "{ policy: ~ }",
        "{ listen: [] }",
        "{ listen: 8080 }",
        "{ listen: ':8080' }",
        "{ listen: ['127.0.0.1:80', '127.0.0.1:80'] }",
        "{ listen: 'example.org:80' }",
        "{ workers: 0 }",
        "{ workers: none }",
        "{ memory: 64 MB }",
        "{ memory: 1 }",
        "{ memory: 4194303 }",
        "{ memory: '4194304' }",
        "{ store: { url: 'keydb://host' } }",
        "{ upstream: 'http://127.0.0.1:9000' }",
        "{ upstream: { url: '127.0.0.1:9000' } }",
        "{ upstream: { url: 'http://127.0.0.1:9000/v1' } }",
        "{ upstream: { url: 'http://me@127.0.0.1:9000' } }",
        "{ upstream: { url: 'ftp://127.0.0.1' } }",
        "{ upstream: { protocol: http2 } }",
        "{ answers: { fields: [] } }",
        "{ answers: { fields: [drafts] } }",
        "{ answers: { fields: [draft, none] } }",
        "{ answers: { reset: ~ } }",
        "{ answers: { partition_key: yes } }",
        "{ answers: { degraded: always } }",
        "{ timeouts: { header: 0s } }",
        "{ timeouts: { header: 10 } }",
        "{ timeouts: { header: none } }",
        "{ timeouts: { heaader: 1s } }",
        "{ bounds: { connections: '5' } }",
        "{ forwarding: { via: a b } }",
        "{ log: { format: xml } }",
    ];
    bad.iter().for_each(|section| judged(section, false));
}

/// What the schema lets pass and the reader refuses.
#[test]
fn what_only_the_reader_can_judge() {
    let only = [
        ("too long", "{ timeouts: { header: 8 days } }"),
        ("too small", "{ memory: 1 KiB }"),
        ("one address", "{ listen: [localhost:80, '127.0.0.1:80'] }"),
        ("no port", "{ upstream: { url: 'http://a:99999' } }"),
    ];
    for (why, section) in only {
        assert_eq!(verdicts(section), (true, false), "{why}: {section}");
    }
}
