//! Default names for limits without a `name`: derived from the place, in printable ASCII.

/// A text as printable ASCII without quotes: everything else is written as `%XX`, as in a URL.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[test]
fn names_are_printable_ascii() {
    assert_eq!(ascii("GET /größe \"x\""), "GET /gr%C3%B6%C3%9Fe %22x%22");
}
