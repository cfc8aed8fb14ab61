//! The settings of `tollgate serve` in JSON Schema. Which settings there are is said in `fields`.

use serde_json::{Value, json};

use super::{patterns, types};
use crate::serve::{FILE_CHARS_MAX, Kind, TOKEN_CHARS_MAX};

/// The schema of a kind.
pub(super) fn of(kind: Kind) -> Value {
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
        Kind::Address => types::pattern(patterns::ADDRESS),
        Kind::Origin => types::pattern(patterns::ORIGIN),
        Kind::Store => json!({ "type": "string", "pattern": patterns::STORE, "maxLength": FILE_CHARS_MAX }),
        Kind::Or(word, kind) => json!({ "anyOf": [{ "const": word }, of(*kind)] }),
        Kind::List(item, most) => {
            let item = of(*item);
            let list = json!({ "type": "array", "items": item, "minItems": 1, "maxItems": most, "uniqueItems": true });
            json!({ "anyOf": [item, list] })
        }
    }
}
