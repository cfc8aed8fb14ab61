//! JSON in lines, in one order, whatever order a map of `serde_json` has in this build. It knows nothing of schemas but
//! which keys people read first.

use serde_json::Value;

/// These go first, in this order; all others follow by name.
const FIRST: &[&str] =
    &["$schema", "title", "description", "$ref", "type", "const", "enum", "pattern", "if", "then", "else"];
/// This goes last.
const LAST: &str = "$defs";

/// The text, with a line break at its end.
pub(super) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out.push('\n');
    out
}

fn write(value: &Value, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    let inner = depth.saturating_add(1);
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| (rank(key), key.as_str()));
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                line(inner, out);
                out.push_str(&format!("{}: ", Value::from(key.as_str())));
                write(value, inner, out);
            }
            line(depth, out);
            out.push('}');
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                line(inner, out);
                write(item, inner, out);
            }
            line(depth, out);
            out.push(']');
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(ToString::to_string).collect();
            out.push_str(&format!("[{}]", items.join(", ")));
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

fn rank(key: &str) -> usize {
    let first = FIRST.iter().position(|first| *first == key);
    first.unwrap_or(if key == LAST { usize::MAX } else { FIRST.len() })
}

#[test]
fn keys_have_one_order_and_the_text_means_the_same() {
    let value =
        serde_json::json!({ "b": [1, "\"\\\n"], "$defs": {}, "a": [{ "x": null }, []], "title": "t" });
    let text = pretty(&value);
    let expected = "{\n  \"title\": \"t\",\n  \"a\": [\n    {\n      \"x\": null\n    },\n    []\n  ],\n  \"b\": [1, \"\\\"\\\\\\n\"],\n  \"$defs\": {}\n}\n";
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
}
