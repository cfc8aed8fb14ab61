//! Whether the schemas are fresh, right by their dialect, and say what the reader says. Readers are tested where they are.

mod agree;
mod native;
mod random;

use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;
use tollgate_testing::snapshot;

use super::limit_schema;
use crate::document::diagnostic::Findings;
use crate::document::read;
use crate::document::sources::{Source, Sources};
use crate::document::tree;

/// The schema of a Tollgate file whose section `serve` may be any map.
fn native_schema() -> String {
    super::native_schema(&Value::Null)
}

fn validator(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// A document as a validator sees it: what YAML 1.2 makes of its scalars.
fn seen(text: &str) -> Value {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("a.yaml", text));
    let mut findings = Findings::default();
    let tree = read::read(id, sources.shared(id).unwrap(), &mut findings);
    assert!(!findings.has_errors(), "{:?}", findings.lines(&sources));
    value(tree.unwrap().value())
}

fn value(node: tree::Value<'_>) -> Value {
    if node.is_map() {
        return node.entries().map(|entry| (entry.key.to_owned(), value(entry.value))).collect();
    }
    if node.is_list() {
        return node.items().map(value).collect();
    }
    let text = node.text().unwrap();
    if node.is_null() {
        return Value::Null;
    }
    let scalar = serde_json::from_str::<Value>(text).ok().filter(|_| node.is_plain());
    scalar.unwrap_or_else(|| text.into())
}

#[test]
fn the_committed_schema_of_limits_is_fresh() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/x-rate-limit.schema.json");
    snapshot::check(&schema, &limit_schema()).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn the_schemas_are_right_by_their_dialect() {
    for schema in [limit_schema(), native_schema()] {
        let schema: Value = serde_json::from_str(&schema).unwrap();
        jsonschema::meta::validate(&schema).unwrap();
    }
}

#[test]
fn every_field_is_described() {
    fn check(value: &Value, at: &str) {
        let Value::Object(map) = value else { return };
        // The properties of conditions repeat fields that are described elsewhere.
        if map.get("additionalProperties") == Some(&Value::Bool(false)) {
            for (name, field) in map.get("properties").and_then(Value::as_object).unwrap() {
                assert!(field.get("description").is_some_and(Value::is_string), "{at}/{name}");
            }
        }
        map.iter().for_each(|(key, value)| check(value, &format!("{at}/{key}")));
    }
    for schema in [limit_schema(), native_schema()] {
        check(&serde_json::from_str(&schema).unwrap(), "");
    }
}
