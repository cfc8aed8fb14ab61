//! Finds a key in a request's body: a value of a JSON document, or a form field. It keeps nothing else of the body.

use std::fmt;

use http::{HeaderMap, header};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tollgate_http::found::Lookup;
use tollgate_http::query;

/// Maximum size of a body in which a key is looked for. In a larger one it cannot be found.
pub const KEY_BODY_MAX: u64 = 64 << 10;

/// What is known of a request's body.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RequestBody<'a> {
    /// Whoever asks cannot read it, as in a layer in front of a service.
    #[default]
    Unread,
    /// It was read, and is larger than [`KEY_BODY_MAX`].
    TooLarge,
    /// All of it.
    Whole(&'a [u8]),
}

/// What stands in a body where a key is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BodyValue {
    /// Nothing, or an empty text.
    Missing,
    /// This, as text.
    One(String),
    /// It is there twice, is no text or number, or the body cannot be read.
    Unclear,
}

/// Looks for the value that a JSON pointer points at, or, in a form, for the field that it names.
pub(crate) fn find(pointer: &str, body: RequestBody<'_>, headers: &HeaderMap) -> BodyValue {
    let body = match body {
        RequestBody::Unread => return BodyValue::Missing,
        RequestBody::TooLarge => return BodyValue::Unclear,
        RequestBody::Whole(body) => body,
    };
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_none() {
        return BodyValue::Missing;
    }
    let steps: Vec<String> =
        pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    let is_form = is_form(headers);
    match first {
        // Many servers read JSON whatever the type says, and a form does not begin like this.
        Some(b'{' | b'[') if is_form => BodyValue::Unclear,
        _ if is_form => in_form(&steps, body),
        _ => in_json(&steps, body),
    }
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = kind.split(';').next().unwrap_or("").trim();
    kind.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

fn in_form(steps: &[String], body: &[u8]) -> BodyValue {
    let ([name], Ok(text)) = (steps, std::str::from_utf8(body)) else { return BodyValue::Unclear };
    match query::find(text, name, &mut Vec::new()) {
        Lookup::Missing | Lookup::Empty => BodyValue::Missing,
        Lookup::Repeated | Lookup::Malformed => BodyValue::Unclear,
        Lookup::One(value) => {
            std::str::from_utf8(value).map_or(BodyValue::Unclear, |value| BodyValue::One(value.to_owned()))
        }
    }
}

fn in_json(steps: &[String], body: &[u8]) -> BodyValue {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let found = ValueBelow(steps).deserialize(&mut reader);
    match (found, reader.end()) {
        (Ok(found), Ok(())) => found,
        _ => BodyValue::Unclear,
    }
}

/// The value at these steps below the one that is read.
#[derive(Clone, Copy)]
struct ValueBelow<'a>(&'a [String]);

impl ValueBelow<'_> {
    /// A scalar is what was looked for, or has nothing below it.
    fn scalar(self, text: String) -> BodyValue {
        match self.0 {
            [] if !text.is_empty() => BodyValue::One(text),
            _ => BodyValue::Missing,
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueBelow<'_> {
    type Value = BodyValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<BodyValue, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueBelow<'_> {
    type Value = BodyValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<BodyValue, E> {
        Ok(BodyValue::Missing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<BodyValue, E> {
        Ok(self.scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<BodyValue, E> {
        Ok(self.scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<BodyValue, E> {
        Ok(self.scalar(value.to_string()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<BodyValue, E> {
        // Readers write one such number in several ways.
        Ok(if self.0.is_empty() { BodyValue::Unclear } else { BodyValue::Missing })
    }

    fn visit_str<E>(self, value: &str) -> Result<BodyValue, E> {
        Ok(self.scalar(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<BodyValue, A::Error> {
        let [step, rest @ ..] = self.0 else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(BodyValue::Unclear);
        };
        let wanted = step.parse::<usize>().ok();
        let (mut found, mut at) = (BodyValue::Missing, 0_usize);
        loop {
            let more = if wanted == Some(at) {
                let item = items.next_element_seed(ValueBelow(rest))?;
                item.map(|item| found = item).is_some()
            } else {
                items.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                return Ok(found);
            }
            at = at.saturating_add(1);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<BodyValue, A::Error> {
        let [step, rest @ ..] = self.0 else {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(BodyValue::Unclear);
        };
        let mut found: Option<BodyValue> = None;
        while let Some(name) = members.next_key::<String>()? {
            // Some readers take names in any case, and of two alike the first or the last.
            if !name.eq_ignore_ascii_case(step) {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = members.next_value_seed(ValueBelow(rest))?;
            found = Some(if found.is_some() { BodyValue::Unclear } else { value });
        }
        Ok(found.unwrap_or(BodyValue::Missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "application/json";
    const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

    fn at(pointer: &str, kind: &str, body: &str) -> BodyValue {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, kind.parse().expect("a header's value"));
        find(pointer, RequestBody::Whole(body.as_bytes()), &headers)
    }

    #[test]
    fn values_are_found_where_a_pointer_or_a_field_says() {
        let one = |text: &str| BodyValue::One(text.into());
        let deep = format!("{{\"user\": {}1{}, \"name\": \"ada\"}}", "[".repeat(5_000), "]".repeat(5_000));
        let table = [
            ("/username", JSON, r#"{"username": "ada"}"#, one("ada")),
            ("/username", JSON, r#"{"user\u006eame": "\u0061da"}"#, one("ada")),
            ("/username", "text/plain", r#" {"username": "ada"} "#, one("ada")),
            ("/user/0/name", JSON, r#"{"user": [{"name": "ada"}, {"name": "bob"}]}"#, one("ada")),
            ("/a~1b/c~0d", JSON, r#"{"a/b": {"c~d": 7}}"#, one("7")),
            ("/name", JSON, &deep, one("ada")),
            ("/id", JSON, r#"{"id": -3}"#, one("-3")),
            ("/flag", JSON, r#"{"flag": true}"#, one("true")),
            ("/username", FORM, "username=ada&password=x", one("ada")),
            ("/user name", FORM, "user+name=a%64a", one("ada")),
            ("/username", JSON, r#"{"password": "x"}"#, BodyValue::Missing),
            ("/username", JSON, r#"{"username": null}"#, BodyValue::Missing),
            ("/username", JSON, r#"{"username": ""}"#, BodyValue::Missing),
            ("/username/x", JSON, r#"{"username": "ada"}"#, BodyValue::Missing),
            ("/username", JSON, "", BodyValue::Missing),
            ("/username", JSON, "7", BodyValue::Missing),
            ("/username", FORM, "password=x", BodyValue::Missing),
        ];
        for (pointer, kind, body, wanted) in table {
            assert_eq!(at(pointer, kind, body), wanted, "{pointer} in {body}");
        }
    }

    /// What two readers would read differently is no key: a client could send one name here and another to the upstream.
    #[test]
    fn what_can_be_read_in_two_ways_is_unclear() {
        let table = [
            (JSON, r#"{"username": "ada", "username": "bob"}"#),
            (JSON, r#"{"username": "ada", "Username": "bob"}"#),
            (JSON, r#"{"username": ["ada"]}"#),
            (JSON, r#"{"username": {"a": 1}}"#),
            (JSON, r#"{"username": 1.5}"#),
            (JSON, r#"{"username": "ada"} {}"#),
            (JSON, r#"{"username": "ada""#),
            (JSON, "username=ada"),
            ("multipart/form-data; boundary=x", "--x\r\n"),
            (FORM, "username=ada&username=bob"),
            (FORM, "username=%zz"),
            (FORM, r#"{"username": "ada"}"#),
        ];
        for (kind, body) in table {
            assert_eq!(at("/username", kind, body), BodyValue::Unclear, "{body}");
        }
        let none = HeaderMap::new();
        assert_eq!(find("/a", RequestBody::TooLarge, &none), BodyValue::Unclear);
        assert_eq!(find("/a", RequestBody::Unread, &none), BodyValue::Missing);
        assert_eq!(at("/Username", JSON, r#"{"username": "ada"}"#), BodyValue::One("ada".into()));
    }
}
