//! JSON Schemas of what documents may say, made of the tables that the reader uses. What only arithmetic can tell, they let
//! pass.

mod limit;
pub mod patterns;
mod print;
#[cfg(test)]
mod tests;
pub mod types;

use serde_json::{Map, Value, json};

use crate::parse::schema_fields::{NATIVE, SETTINGS};

/// The dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema of `x-rate-limit` (JSON Schema 2020-12): a limit, a list of limits, `none`, or a `$ref` to a limit.
///
/// What it refuses, [`Policy::parse`](crate::Policy::parse) refuses too. The reader refuses some more: sums that cannot be
/// kept exactly, names of things that are not there, and spellings of numbers that JSON does not tell apart.
///
/// ```
/// let schema = tollgate_policy::limit_schema();
/// assert!(schema.contains(r#""title": "x-rate-limit""#));
/// ```
#[must_use]
pub fn limit_schema() -> String {
    print::pretty(&json!({
        "$schema": DIALECT,
        "title": "x-rate-limit",
        "description": "The limits of a document, a tag, a path or an operation.",
        "$ref": "#/$defs/limits",
        "$defs": limit::definitions(),
    }))
}

/// The schema of the native file, `tollgate.yaml` (JSON Schema 2020-12).
///
/// What it refuses, [`Policy::load`](crate::Policy::load) refuses too, as with [`limit_schema`].
/// The schema of the section `serve` comes from the command that reads it.
///
/// ```
/// let schema = tollgate_policy::native_schema(&serde_json::json!({ "type": "object" }));
/// assert!(schema.contains(r#""title": "tollgate.yaml""#));
/// ```
#[must_use]
pub fn native_schema(serve: &Value) -> String {
    let about = [
        ("$schema", json!(DIALECT)),
        ("title", json!("tollgate.yaml")),
        ("description", json!("Limits, routes and settings of a gateway.")),
        ("$defs", Value::Object(limit::definitions())),
    ];
    let mut whole: Map<String, Value> = about.into_iter().map(|(key, value)| (key.into(), value)).collect();
    whole.extend(types::object(&[NATIVE, SETTINGS]));
    let section = whole.get_mut("properties").and_then(|fields| fields.get_mut("serve"));
    if let (Some(Value::Object(section)), Some(serve)) = (section, serve.as_object()) {
        section.extend(serve.clone());
    }
    print::pretty(&Value::Object(whole))
}
