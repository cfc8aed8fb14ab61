//! JSON in which no object has a name twice. It reads any JSON otherwise, as deep as `serde_json` goes.
//!
//! Of two claims with one name, this reader would take the last and another the first: one token, two bearers. RFC 7519
//! (4) lets a reader refuse such a token.

use std::fmt::{self, Formatter};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A value of JSON whose objects have each name once.
pub(super) struct Strict(pub(super) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("JSON in which no object has a name twice")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = map.next_entry::<String, Strict>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("an object has the same name twice"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_refused_at_any_depth_and_all_else_is_read() {
        let good = r#"{"a": [null, true, -1, 18446744073709551615, 1.5, "é\n", {"a": {"b": {}}}], "b": ""}"#;
        let plain: Value = serde_json::from_str(good).expect("it is JSON");
        assert_eq!(serde_json::from_str::<Strict>(good).expect("it is JSON").0, plain);
        let bad = [
            r#"{"a": 1, "a": 1}"#,
            r#"{"a": 1, "\u0061": 2}"#,
            r#"[[{"x": {"a": 1, "b": 2, "a": 3}}]]"#,
            "{",
        ];
        for text in bad {
            assert!(serde_json::from_str::<Strict>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(serde_json::from_str::<Strict>(&deep(100)).is_ok());
        assert!(serde_json::from_str::<Strict>(&deep(10_000)).is_err());
    }
}
