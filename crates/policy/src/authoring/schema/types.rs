//! What each type of field is in JSON Schema. Which fields there are is said in `fields`; limits are in `limit`.

use serde_json::{Map, Value, json};

use super::{limit, patterns};
use crate::parse::cost::COST_BODY_MAX;
use crate::parse::openapi::OPERATIONS_MAX;
use crate::parse::schema_fields::{Field, FieldType, NAME_CHARS_MAX, PATH_CHARS_MAX, WHEN};

/// The longest text that the strict grammars look at.
const PARSED_CHARS_MAX: usize = 200;

/// A map with these fields and no others: their names, schemas and descriptions.
pub fn map_of(fields: impl Iterator<Item = (&'static str, Value, &'static str)>) -> Map<String, Value> {
    let described = |(name, mut schema, about): (&str, Value, &str)| {
        if let Value::Object(map) = &mut schema {
            map.insert("description".into(), json!(about));
        }
        (name.to_owned(), schema)
    };
    let mut map = Map::new();
    map.insert("type".into(), json!("object"));
    map.insert("properties".into(), Value::Object(fields.map(described).collect()));
    map.insert("additionalProperties".into(), json!(false));
    map
}

/// A map with the fields of these tables and no others.
pub(super) fn object(tables: &[&[Field]]) -> Map<String, Value> {
    let fields = || tables.iter().copied().flatten();
    let needed: Vec<_> = fields().filter(|field| field.needed).map(|field| field.name).collect();
    let mut map = map_of(fields().map(|field| (field.name, of(field.kind), field.about)));
    if !needed.is_empty() {
        map.insert("required".into(), json!(needed));
    }
    if fields().any(|field| field.name == "hops") {
        map.insert("oneOf".into(), json!([{ "required": ["networks"] }, { "required": ["hops"] }]));
    }
    map
}

/// A scalar that is read as a text, also where YAML sees a number in it.
#[must_use]
pub fn text(chars_max: usize) -> Value {
    json!({ "type": ["string", "number", "boolean"], "maxLength": chars_max })
}

/// A text by one of the strict grammars.
#[must_use]
pub fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern, "maxLength": PARSED_CHARS_MAX })
}

/// A whole number within these bounds.
#[must_use]
pub fn whole(least: u64, most: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "maximum": most })
}

/// One, or a list.
pub(super) fn one_or_more(item: &Value, least: usize) -> Value {
    let mut list = json!({ "type": "array", "items": item });
    if let (Value::Object(list), true) = (&mut list, least > 0) {
        list.insert("minItems".into(), json!(least));
    }
    json!({ "anyOf": [item, list] })
}

/// The words; one that YAML reads as a number may also be one.
#[must_use]
pub fn words(words: &[&str]) -> Value {
    let number = |word: &&str| word.parse::<u64>().ok().map(Value::from);
    let all: Vec<_> = words.iter().filter_map(number).chain(words.iter().map(|word| json!(word))).collect();
    json!({ "enum": all })
}

/// The schema of a type.
pub(super) fn of(kind: FieldType) -> Value {
    match kind {
        FieldType::Whole(least) => whole(least, u64::MAX),
        FieldType::Between(least, most) => whole(least, most),
        FieldType::Rate => json!({ "anyOf": [
            { "type": "number", "exclusiveMinimum": 0 },
            pattern(&patterns::rate()),
        ] }),
        FieldType::Duration => pattern(&patterns::duration()),
        FieldType::Window => pattern(&patterns::window()),
        FieldType::Offset => pattern(patterns::OFFSET),
        FieldType::TimeZone => pattern(patterns::TIME_ZONE),
        FieldType::Word(list) => words(list),
        FieldType::StoreFails => pattern(patterns::STORE_FAILS),
        FieldType::Text(chars_max) => text(chars_max),
        FieldType::Ascii(chars_max) => {
            json!({ "type": ["string", "number", "boolean"], "pattern": patterns::ASCII, "maxLength": chars_max })
        }
        FieldType::Texts(item) => one_or_more(
            &of(*item),
            usize::from(matches!(
                item,
                FieldType::Network
                    | FieldType::BrowserOrigin
                    | FieldType::TierSource
                    | FieldType::OrganisationSource
            )),
        ),
        FieldType::Header => pattern(&patterns::header()),
        FieldType::Method => pattern(patterns::METHOD),
        FieldType::Template => json!({ "type": "string", "pattern": "^/", "maxLength": PATH_CHARS_MAX }),
        FieldType::KeyPlace => pattern(&patterns::key_place()),
        FieldType::BrowserOrigin => pattern(patterns::BROWSER_ORIGIN),
        FieldType::Network => pattern(patterns::NETWORK),
        FieldType::TierSource => pattern(&patterns::tier_source()),
        FieldType::OrganisationSource => pattern(patterns::ORGANISATION_SOURCE),
        FieldType::Size => json!({ "anyOf": [whole(0, COST_BODY_MAX), pattern(patterns::SIZE)] }),
        FieldType::Headers => json!({
            "type": "object",
            "propertyNames": { "pattern": patterns::header() },
            "additionalProperties": { "anyOf": [{ "type": "null" }, text(PATH_CHARS_MAX)] },
        }),
        FieldType::Key => limit::key(),
        FieldType::Cost => limit::cost(),
        FieldType::Tiers => limit::tiers(),
        FieldType::Map(fields) => Value::Object(object(&[fields])),
        FieldType::MapOf(fields) => json!({ "type": "object", "additionalProperties": object(&[fields]) }),
        FieldType::ListOf(fields) => {
            json!({ "type": "array", "items": object(&[fields]), "maxItems": OPERATIONS_MAX })
        }
        FieldType::Limits => json!({ "$ref": "#/$defs/limits" }),
        FieldType::When => {
            let mut when = object(&[WHEN]);
            when.insert("minProperties".into(), json!(1));
            Value::Object(when)
        }
        FieldType::Parameters => json!({
            "type": "object",
            "propertyNames": { "minLength": 1, "maxLength": NAME_CHARS_MAX },
            "additionalProperties": { "anyOf": [{ "type": "null" }, text(PATH_CHARS_MAX)] },
        }),
        FieldType::NamedLimits => limit::named(),
        FieldType::Flag => json!({ "enum": [true, false, "true", "false"] }),
        FieldType::Or(word, kind) => json!({ "anyOf": [{ "const": word }, of(*kind)] }),
        FieldType::Section => json!({ "type": "object" }),
        // Nothing is known of it here, so nothing is refused.
        FieldType::Other(_) => json!({}),
    }
}
