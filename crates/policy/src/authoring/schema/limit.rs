//! Limits in JSON Schema: which numbers an algorithm needs, what a cost is, who can be asked for. Other fields are in `types`.

use serde_json::{Map, Value, json};

use super::{patterns, types};
use crate::numbers::Algorithm;
use crate::parse::identity::{CHAIN_CHARS_MAX, CHAIN_MAX};
use crate::parse::limit::{LIMITS_MAX, TIERS_MAX};
use crate::parse::limit_use::INHERITED;
use crate::parse::schema_fields::{COST, LIMIT, NAME_CHARS_MAX, NUMBERS, USE};

/// What both schemas are made of.
pub(super) fn definitions() -> Map<String, Value> {
    let limits = json!({ "oneOf": [
        { "const": "none", "description": "Switched off, on purpose." },
        { "type": "array", "items": { "$ref": "#/$defs/one" }, "minItems": 1, "maxItems": LIMITS_MAX,
          "description": "All of them or none." },
        { "$ref": "#/$defs/one" },
    ] });
    let one = json!({
        "type": "object",
        "if": { "required": ["$ref"] },
        "then": {
            "description": "A limit that is written elsewhere.",
            "properties": { "$ref": { "type": "string", "maxLength": 2_000 } },
        },
        "else": { "if": { "required": ["use"] }, "then": { "$ref": "#/$defs/use" }, "else": { "$ref": "#/$defs/limit" } },
    });
    let mut named = types::object(&[USE]);
    named.insert("description".into(), json!("A limit that is written under `limits`."));
    named.insert("if".into(), json!({ "properties": { "use": { "const": INHERITED } } }));
    named.insert("then".into(), json!({ "properties": { "cost": false, "when": false } }));
    let mut limit = types::object(&[LIMIT, NUMBERS]);
    limit.insert("description".into(), json!("How much, for whom, at what cost."));
    limit.insert("not".into(), written_twice());
    limit.insert("allOf".into(), Algorithm::ALL.into_iter().filter_map(numbers_of).collect());
    let mut numbers = types::object(&[NUMBERS]);
    numbers.insert("description".into(), json!("The numbers that are not those of the limit."));
    numbers.insert("not".into(), written_twice());
    let all = [
        ("limits", limits),
        ("one", one),
        ("use", named.into()),
        ("limit", limit.into()),
        ("numbers", numbers.into()),
    ];
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn written_twice() -> Value {
    json!({ "anyOf": [
        { "required": ["window", "window_seconds"] },
        { "required": ["utc_offset", "time_zone"] },
    ] })
}

/// What holds for the numbers of an algorithm and of those like it; nothing if that has been said with an earlier one.
fn numbers_of(algorithm: Algorithm) -> Option<Value> {
    let like =
        |other: &Algorithm| other.needs() == algorithm.needs() && other.may_have() == algorithm.may_have();
    let alike: Vec<_> = Algorithm::ALL.into_iter().filter(like).map(Algorithm::name).collect();
    if alike.first() != Some(&algorithm.name()) {
        return None;
    }
    // The window has two spellings.
    let number = |name: &str| if name == "window_seconds" { "window".to_owned() } else { name.to_owned() };
    let known = |name: &str| algorithm.needs().contains(&name) || algorithm.may_have().contains(&name);
    let foreign = NUMBERS.iter().map(|field| field.name).filter(|name| !known(&number(name)));
    let mut properties: Map<String, Value> = foreign.map(|name| (name.to_owned(), json!(false))).collect();
    let calendar = algorithm == Algorithm::FixedWindow;
    if known("window") && !calendar {
        properties.insert("window".into(), json!({ "pattern": patterns::length() }));
    }
    let adaptive = algorithm == Algorithm::Adaptive;
    // A service has no tiers.
    let of_tiers = if adaptive { all_foreign() } else { properties.clone() };
    let overrides = json!({ "additionalProperties": { "properties": of_tiers } });
    if adaptive {
        properties.insert("address_ceiling".into(), json!(false));
    }
    properties.insert("tier_overrides".into(), overrides);
    let needs = algorithm.needs().iter().filter(|name| **name != "window");
    let mut then = json!({ "required": needs.collect::<Vec<_>>(), "properties": properties });
    if let Value::Object(then) = &mut then {
        if known("window") {
            then.insert(
                "anyOf".into(),
                json!([{ "required": ["window"] }, { "required": ["window_seconds"] }]),
            );
        }
        if adaptive {
            then.insert(
                "if".into(),
                json!({ "required": ["method"], "properties": { "method": { "const": "aimd" } } }),
            );
            then.insert("then".into(), json!({ "required": ["target"] }));
            then.insert("else".into(), json!({ "properties": { "target": false } }));
        }
        if calendar {
            let window = json!({ "required": ["window"], "properties": { "window": { "pattern": patterns::CALENDAR } } });
            then.insert("dependentSchemas".into(), json!({ "utc_offset": window, "time_zone": window }));
        }
    }
    let named = json!({ "required": ["algorithm"], "properties": { "algorithm": { "enum": alike } } });
    Some(json!({ "if": named, "then": then }))
}

/// No number at all.
fn all_foreign() -> Map<String, Value> {
    NUMBERS.iter().map(|field| (field.name.to_owned(), json!(false))).collect()
}

/// Limits by name.
pub(super) fn named() -> Value {
    let one = json!({
        "if": { "required": ["$ref"] },
        "then": { "properties": { "$ref": { "type": "string", "maxLength": 2_000 } } },
        "else": { "$ref": "#/$defs/limit", "properties": { "name": false, "when": false } },
    });
    json!({ "type": "object", "propertyNames": { "pattern": patterns::ASCII, "maxLength": NAME_CHARS_MAX },
        "additionalProperties": one })
}

/// A consumer key: one link, or a chain.
pub(super) fn key() -> Value {
    let link = json!({ "type": "string", "pattern": patterns::link(), "maxLength": CHAIN_CHARS_MAX });
    let chain = json!({ "type": "array", "items": link, "minItems": 1, "maxItems": CHAIN_MAX });
    json!({ "anyOf": [link, chain] })
}

/// Numbers by tier.
pub(super) fn tiers() -> Value {
    let numbers = json!({ "anyOf": [{ "const": "none" }, { "$ref": "#/$defs/numbers" }] });
    json!({ "type": "object", "additionalProperties": numbers, "maxProperties": TIERS_MAX })
}

/// A cost: a number, or from where it is known.
pub(super) fn cost() -> Value {
    let kinds: [(&str, &[&str]); 4] = [
        ("header", &["default", "max"]),
        ("query", &["default", "max"]),
        ("reported", &["estimate", "max"]),
        ("operations", &["max", "max_body"]),
    ];
    let one_kind = |(kind, beside): (&str, &[&str])| {
        let names =
            COST.iter().map(|field| field.name).filter(|name| *name != kind && !beside.contains(name));
        let foreign: Map<String, Value> = names.map(|name| (name.to_owned(), json!(false))).collect();
        json!({ "required": [kind, "max"], "properties": foreign })
    };
    let mut map = types::object(&[COST]);
    map.insert("oneOf".into(), kinds.into_iter().map(one_kind).collect());
    json!({ "anyOf": [{ "type": "integer", "minimum": 1, "maximum": u64::MAX }, map] })
}
