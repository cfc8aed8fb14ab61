//! Counts top-level fields of GraphQL operations, including aliases. A request is JSON with a `query`, or a list of such objects.

mod document;
mod tokens;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The fields at the top of all operations of a request, or of all requests of a batch.
pub(super) fn count(body: &[u8]) -> Option<u64> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let count = reader.deserialize_any(Requests).ok()?;
    reader.end().ok()?;
    Some(count)
}

/// The fields at the top of all operations of a document.
pub(super) fn count_document(text: &str) -> Option<u64> {
    document::count(text)
}

/// One request, or a batch of them.
struct Requests;

impl<'de> Visitor<'de> for Requests {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a GraphQL request or a list of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut requests: A) -> Result<u64, A::Error> {
        let mut count: u64 = 0;
        while let Some(Request(fields)) = requests.next_element()? {
            count = count.saturating_add(fields);
        }
        Ok(count)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<u64, A::Error> {
        let mut fields = None;
        while let Some(Name(name)) = members.next_key()? {
            if name != "query" {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let Name(query) = members.next_value()?;
            // The upstream may read the other of two.
            if fields.is_some() {
                return Err(A::Error::duplicate_field("query"));
            }
            fields = Some(document::count(&query).ok_or_else(|| A::Error::custom("no GraphQL"))?);
        }
        fields.ok_or_else(|| A::Error::missing_field("query"))
    }
}

/// The fields of one request.
struct Request(u64);

impl<'de> Deserialize<'de> for Request {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Requests).map(Self)
    }
}

/// A text, copied only if it has escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        reader.deserialize_str(Text)
    }
}

#[test]
fn requests_and_batches_are_read() {
    let aliases: String = (0..3_000).map(|i| format!("a{i}: me {{ id }} ")).collect();
    let aliases = format!(r#"{{"query": "{{ {aliases} }}"}}"#);
    let batch = format!("[{}{}]", r#"{"query":"{a b}"},"#.repeat(99), r#"{"query":"mutation { c }"}"#);
    let table: &[(&str, Option<u64>)] = &[
        (r#"{"query": "{ a }"}"#, Some(1)),
        (r#"{"operationName": null, "variables": {"query": "{ x y z }"}, "query": "{ a b }"}"#, Some(2)),
        (r#"{"query": "{\n a\n\tb # c\n}"}"#, Some(2)),
        (r#"{"qu\u0065ry": "{ a b c }"}"#, Some(3)),
        (&aliases, Some(3_000)),
        (&batch, Some(199)),
        ("[]", Some(0)),
        (r#"{"query": "{ a }", "query": "{ a b }"}"#, None),
        (r#"{"query": null}"#, None),
        (r#"{"extensions": {"persistedQuery": {}}}"#, None),
        (r#"[{"query": "{ a }"}, 1]"#, None),
        (r#"[[{"query": "{ a }"}]]"#, None),
        (r#"{"query": "{ a }"} {"query": "{ a }"}"#, None),
        ("query { a }", None),
        ("", None),
    ];
    for (body, wanted) in table {
        let shown: String = body.chars().take(60).collect();
        assert_eq!(count(body.as_bytes()), *wanted, "{shown}");
    }
}
