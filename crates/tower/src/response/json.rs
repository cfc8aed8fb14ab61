//! A minimal JSON writer for problem bodies. It can read back a string that it wrote.

use crate::response::structured_fields::digits;

/// Writes a string without quotes. Escapes everything that could end a string, a line or a script.
pub(crate) fn escaped(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text;
    while let Some(at) = rest.find(is_escaped) {
        let (plain, from) = rest.split_at(at);
        out.extend_from_slice(plain.as_bytes());
        let mut chars = from.chars();
        let code = chars.next().map_or(0, u32::from);
        rest = chars.as_str();
        out.extend_from_slice(b"\\u");
        for shift in [12, 8, 4, 0] {
            let digit = usize::try_from(code >> shift & 0xf).unwrap_or(0);
            out.extend(HEX.get(digit));
        }
    }
    out.extend_from_slice(rest.as_bytes());
}

/// Control characters, JSON and HTML delimiters, and Unicode line breaks.
const fn is_escaped(char: char) -> bool {
    matches!(char, '\0'..='\u{1f}' | '\u{7f}' | '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Writes `"name":`, after a comma if a member precedes it.
#[inline(always)]
pub(crate) fn member(out: &mut Vec<u8>, name: &str) {
    if !matches!(out.last(), None | Some(b'{' | b'[')) {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Writes a string member.
pub(crate) fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    member(out, name);
    out.push(b'"');
    escaped(out, value);
    out.push(b'"');
}

/// Writes a string member whose value needs no escaping or is escaped already.
#[inline]
pub(crate) fn plain(out: &mut Vec<u8>, name: &str, value: &str) {
    member(out, name);
    out.push(b'"');
    out.extend_from_slice(value.as_bytes());
    out.push(b'"');
}

/// Writes a number member.
#[inline]
pub(crate) fn number(out: &mut Vec<u8>, name: &str, value: u64) {
    member(out, name);
    digits(out, value);
}

/// The value of a member that [`text`] or [`plain`] wrote. `None` if it is absent or other code wrote the body.
pub(crate) fn find_text(body: &[u8], name: &str) -> Option<String> {
    let body = std::str::from_utf8(body).ok()?;
    let (_, value) = body.split_once(&format!("\"{name}\":\""))?;
    // Quotes inside the value are escaped as \u0022.
    let (value, _) = value.split_once('"')?;
    let mut pieces = value.split("\\u");
    let mut text = pieces.next()?.to_owned();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(4)?;
        text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        text.push_str(rest);
    }
    Some(text)
}

#[test]
fn another_parser_reads_back_what_was_written() {
    let hard = "a\"b\\c\r\n\t\u{0}\u{1f}\u{7f}</script>\u{2028}\u{2029}é漢😀";
    let mut out = b"{".to_vec();
    text(&mut out, "text", hard);
    number(&mut out, "number", u64::MAX);
    out.push(b'}');
    let value: serde_json::Value = serde_json::from_slice(&out).expect("it is JSON");
    assert_eq!((value["text"].as_str(), value["number"].as_u64()), (Some(hard), Some(u64::MAX)));
    assert_eq!(find_text(&out, "text").as_deref(), Some(hard));
    assert_eq!(find_text(&out, "other"), None);
    assert!(!out.iter().any(|byte| b"<>&\r\n".contains(byte)));
}
