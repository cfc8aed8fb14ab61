//! The settings of `tollgate serve` as JSON Schema, generated from `definitions`.

use serde_json::{Value, json};
use tollgate_policy::section::TOKEN_CHARS_MAX;
use tollgate_policy::{schema_patterns as patterns, schema_types as types};

use super::definitions::{Field, FieldType, SERVE};
use super::kind::{FILE_CHARS_MAX, Kind};

/// `127.0.0.1:8080`.
const ADDRESS: &str = r"^(localhost|[0-9.]+|\[[0-9A-Fa-f:.]+\]):(0|[1-9][0-9]{0,4})$";

/// `https://host:port`.
const ORIGIN: &str = r"^(https?|h2c)://([0-9A-Za-z._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?/?$";

/// `redis://host:port`.
const STORE: &str = r"^((rediss?|valkeys?)(\+sentinel|\+cluster)?|unix)://[^\x00-\x1f\x7f]*$";

/// The schema of a Tollgate file, with the section `serve`.
#[must_use]
pub fn native_schema() -> String {
    tollgate_policy::native_schema(&map(SERVE))
}

/// The schema of a map of settings.
fn map(fields: &'static [Field]) -> Value {
    Value::Object(types::map_of(fields.iter().map(|field| {
        let schema = match field.kind {
            FieldType::Setting(kind) => of(kind),
            FieldType::Map(fields) => map(fields),
        };
        (field.name, schema, field.about)
    })))
}

/// The schema of a kind.
fn of(kind: Kind) -> Value {
    match kind {
        Kind::Flag => json!({ "enum": [true, false, "true", "false"] }),
        Kind::Whole(least, most) => types::whole(least, most),
        Kind::Bytes(least, most) => {
            json!({ "anyOf": [types::whole(least, most), types::pattern(patterns::BYTES)] })
        }
        Kind::Time => types::pattern(&patterns::length()),
        Kind::Word(words) => types::words(words),
        Kind::Token => json!({
            "type": ["string", "number", "boolean"], "pattern": patterns::header(), "maxLength": TOKEN_CHARS_MAX,
        }),
        Kind::File | Kind::Secret => types::text(FILE_CHARS_MAX),
        Kind::Address => types::pattern(ADDRESS),
        Kind::Origin => types::pattern(ORIGIN),
        Kind::Store => json!({ "type": "string", "pattern": STORE, "maxLength": FILE_CHARS_MAX }),
        Kind::Or(word, kind) => json!({ "anyOf": [{ "const": word }, of(*kind)] }),
        Kind::List(item, most) => {
            let item = of(*item);
            let list = json!({ "type": "array", "items": item, "minItems": 1, "maxItems": most, "uniqueItems": true });
            json!({ "anyOf": [item, list] })
        }
    }
}

#[cfg(test)]
mod tests;
