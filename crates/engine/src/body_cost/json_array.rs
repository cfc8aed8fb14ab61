//! Counts the items of a JSON array, without storing them.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The items of an array; 1 for an object; `None` for anything else, and for what is no JSON.
pub(super) fn count(body: &[u8]) -> Option<u64> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let count = reader.deserialize_any(Items).ok()?;
    // What follows the value could be another one, for a lenient reader.
    reader.end().ok()?;
    Some(count)
}

struct Items;

impl<'de> Visitor<'de> for Items {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        let mut count: u64 = 0;
        while items.next_element::<IgnoredAny>()?.is_some() {
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<u64, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(1)
    }
}

#[test]
fn items_are_counted_and_what_is_no_array_or_object_is_not() {
    let deep = format!("[{}{}, 2]", "[".repeat(100_000), "]".repeat(100_000));
    let many = format!("[{}0]", "0,".repeat(2_999));
    let table: &[(&str, Option<u64>)] = &[
        ("[]", Some(0)),
        ("[1]", Some(1)),
        (r#" [ {"a": [1, 2, 3]}, "x,y", [4, 5] ] "#, Some(3)),
        (r#"["],[", "\"],"]"#, Some(2)),
        ("{}", Some(1)),
        (r#"{"a": [1, 2]}"#, Some(1)),
        (&many, Some(3_000)),
        (&deep, Some(2)),
        ("", None),
        ("7", None),
        ("[1,]", None),
        ("[1", None),
        ("[1] [2]", None),
        ("[1], [2]", None),
        ("[nan]", None),
        ("\u{feff}[1]", None),
    ];
    for (body, wanted) in table {
        let shown: String = body.chars().take(40).collect();
        assert_eq!(count(body.as_bytes()), *wanted, "{shown}");
    }
    assert_eq!(count(b"[\"\xff\"]"), Some(1), "what is not looked at may be wrong");
}
