//! Writes and checks the subset of structured fields (RFC 9651) that rate-limit headers use.

use crate::response::decimal::in_digits;

/// The largest Integer of RFC 9651; larger numbers are clamped to it.
pub(crate) const INTEGER_MAX: u64 = 999_999_999_999_999;

/// Writes a String. Characters that are not printable ASCII become `?`; this is only a safety net, because names are validated on
/// input.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b' '..=b'~' => out.push(byte),
            _ => out.push(b'?'),
        }
    }
    out.push(b'"');
}

/// Writes an Integer.
pub(crate) fn integer(out: &mut Vec<u8>, number: u64) {
    digits(out, number.min(INTEGER_MAX));
}

/// Writes a number as decimal digits.
pub(crate) fn digits(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(in_digits(number, &mut [b'0'; 20]));
}

/// Writes eight bytes as a Byte Sequence.
pub(crate) fn bytes(out: &mut Vec<u8>, number: u64) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push(b':');
    // Ten digits of six bits, one of the remaining four bits, and padding: 8 bytes are 12 base64 characters.
    for place in 0..11_u32 {
        let bits = if place < 10 { number >> (58 - 6 * place) } else { number << 2 };
        let digit = usize::try_from(bits & 0x3f).unwrap_or(0);
        out.extend(ALPHABET.get(digit));
    }
    out.extend_from_slice(b"=:");
}

/// Returns true if a header line is a List of Strings with parameters, the format of the draft headers. Any other line would make
/// parsers ignore the whole header, including our lines.
pub(crate) fn is_list_of_strings(line: &[u8]) -> bool {
    let mut rest = trimmed_start(line);
    loop {
        let Some(after) = after_string(rest).and_then(after_parameters) else { return false };
        rest = trimmed_start(after);
        match rest {
            [] => return true,
            [b',', more @ ..] => rest = trimmed_start(more),
            _ => return false,
        }
    }
}

fn trimmed_start(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

/// Skips a String.
fn after_string(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"\"")?;
    loop {
        match rest {
            [b'"', after @ ..] | [b'\\', b'"' | b'\\', after @ ..] => {
                if rest.first() == Some(&b'"') {
                    return Some(after);
                }
                rest = after;
            }
            [b'\\', ..] => return None,
            [b' '..=b'~', after @ ..] => rest = after,
            _ => return None,
        }
    }
}

/// Skips any number of parameters.
fn after_parameters(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    while let [b';', after @ ..] = rest {
        let key = trimmed_start(after);
        key.first().filter(|first| first.is_ascii_lowercase() || **first == b'*')?;
        let is_key = |byte: &u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'.' | b'*')
        };
        rest = after_all(key, is_key);
        if let [b'=', value @ ..] = rest {
            rest = after_bare_item(value)?;
        }
    }
    Some(rest)
}

/// Skips a parameter's value, without counting digits: a stricter parser ignores the header.
fn after_bare_item(text: &[u8]) -> Option<&[u8]> {
    match text {
        [b'"', ..] => after_string(text),
        [b':', rest @ ..] => {
            let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
            after_all(rest, is_base64).strip_prefix(b":")
        }
        [b'?', b'0' | b'1', rest @ ..] => Some(rest),
        [b'-', digits @ ..] => number(digits),
        [b'0'..=b'9', ..] => number(text),
        [first, ..] if first.is_ascii_alphabetic() || *first == b'*' => {
            let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(byte);
            Some(after_all(text, is_token))
        }
        _ => None,
    }
}

fn number(text: &[u8]) -> Option<&[u8]> {
    text.first().filter(|first| first.is_ascii_digit())?;
    Some(after_all(text, |byte| byte.is_ascii_digit() || *byte == b'.'))
}

fn after_all(text: &[u8], is_in: impl Fn(&u8) -> bool) -> &[u8] {
    let end = text.iter().position(|byte| !is_in(byte)).unwrap_or(text.len());
    text.get(end..).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("it is ASCII")
    }

    #[test]
    fn numbers_are_written_in_digits_and_cut_where_the_format_ends() {
        for (number, text) in [(0, "0"), (7, "7"), (1_000, "1000"), (u64::MAX, "18446744073709551615")] {
            assert_eq!(written(|out| digits(out, number)), text);
        }
        assert_eq!(written(|out| integer(out, INTEGER_MAX)), "999999999999999");
        assert_eq!(written(|out| integer(out, INTEGER_MAX + 1)), "999999999999999");
    }

    #[test]
    fn a_string_escapes_what_would_end_it_and_lets_nothing_else_through() {
        assert_eq!(written(|out| string(out, r#"a "b" \"#)), r#""a \"b\" \\""#);
        assert_eq!(written(|out| string(out, "a\r\nx: y\u{e9}")), "\"a??x: y??\"");
    }

    #[test]
    fn eight_bytes_are_twelve_characters_of_base64() {
        assert_eq!(written(|out| bytes(out, u64::from_be_bytes(*b"tollgate"))), ":dG9sbGdhdGU=:");
        assert_eq!(written(|out| bytes(out, 0)), ":AAAAAAAAAAA=:");
        assert_eq!(written(|out| bytes(out, u64::MAX)), ":////////".to_owned() + "//8=:");
    }

    /// The independent parser and this scanner agree on what may stand beside our own members.
    #[test]
    fn a_list_of_strings_is_told_from_what_would_spoil_ours() {
        let table: &[(&str, bool)] = &[
            (r#""a";r=1"#, true),
            (r#""a";r=1;t=2, "b";q=3;pk=:AAA=:"#, true),
            (r#""a"; x; y="z\"" ,  "b""#, true),
            (r#""a" ; x"#, false),
            (r#""a\\";qu="content-bytes";w=1.5;b=?1;t=-3;u=tok/en"#, true),
            ("limit=100, remaining=50, reset=5", false),
            ("100;w=60", false),
            ("", false),
            (r#""a",, "b""#, false),
            (r#""a","#, false),
            (r#""a"#, false),
            (r#""a\x""#, false),
            (r#""a";R=1"#, false),
            (r#""a";r="#, false),
            (r#""a" "b""#, false),
        ];
        for (line, good) in table {
            assert_eq!(is_list_of_strings(line.as_bytes()), *good, "{line}");
            let parsed = sfv::Parser::new(line).parse::<sfv::List>();
            let strings = parsed.is_ok_and(|list| {
                let is_string = |member: &sfv::ListEntry| match member {
                    sfv::ListEntry::Item(item) => matches!(item.bare_item, sfv::BareItem::String(_)),
                    sfv::ListEntry::InnerList(_) => false,
                };
                !list.is_empty() && list.iter().all(is_string)
            });
            assert_eq!(strings, *good, "{line}, as another parser has it");
        }
    }
}
