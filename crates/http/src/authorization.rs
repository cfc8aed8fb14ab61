//! The credential in the `Authorization` header as a key, in canonical form.

use std::ops::Range;

use http::header::{AUTHORIZATION, HeaderMap};

use crate::found::{Lookup, trimmed};
use crate::header;

/// The schemes to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// `Bearer` alone.
    Bearer,
    /// `Basic` alone.
    Basic,
    /// Any credential, even without a scheme.
    Any,
}

/// Bytes of the request, or of the buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Text<'a> {
    /// Unchanged, as sent.
    Sent(&'a [u8]),
    /// At this range of the buffer.
    Written(Range<usize>),
}

impl<'a> Text<'a> {
    /// The bytes. The buffer must be the one that was written to.
    #[must_use]
    pub fn bytes(&self, buffer: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Sent(bytes) => bytes,
            Self::Written(range) => buffer.get(range.clone()).unwrap_or(&[]),
        }
    }
}

/// Credentials in canonical form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Credentials<'a> {
    /// The token of `Bearer TOKEN`.
    Bearer(Text<'a>),
    /// `Basic …`: the ranges of the user name and of `user:password` in the buffer.
    Basic {
        /// The user name, which is the key: a new password does not change the client.
        user: Range<usize>,
        /// The user name and the password, which are secret.
        all: Range<usize>,
    },
    /// Another scheme, in lower case, a space and its credentials; or one word without a scheme, as it was sent.
    Other(Text<'a>),
}

/// Finds the credentials of a scheme. Scheme names are case-insensitive, and spaces and tabs are collapsed, so that one
/// credential is one key, however a client spells it. Decoded bytes are appended to the buffer.
///
/// # Errors
/// Why there are no such credentials. A different scheme is [`Lookup::Missing`]; a scheme alone or an empty user name is
/// [`Lookup::Empty`]; `Basic` that is not base64 of text with a colon, and a `Bearer` token with a blank,
/// are [`Lookup::Malformed`].
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
/// use tollgate_http::authorization::{Credentials, Scheme, Text, find};
/// let (mut headers, mut buffer) = (HeaderMap::new(), Vec::new());
/// headers.insert(AUTHORIZATION, HeaderValue::from_static("bearer  abc"));
/// assert_eq!(find(&headers, Scheme::Any, &mut buffer), Ok(Credentials::Bearer(Text::Sent(b"abc"))));
/// headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic YWRhOnNlY3JldA=="));
/// let Ok(Credentials::Basic { user, .. }) = find(&headers, Scheme::Basic, &mut buffer) else { panic!("it is Basic") };
/// assert_eq!(&buffer[user], b"ada");
/// ```
pub fn find<'a>(
    headers: &'a HeaderMap,
    scheme: Scheme,
    buffer: &mut Vec<u8>,
) -> Result<Credentials<'a>, Lookup<'a>> {
    let value = match header::find(headers, &AUTHORIZATION) {
        Lookup::One(value) => value,
        other @ (Lookup::Missing | Lookup::Empty | Lookup::Repeated | Lookup::Malformed) => {
            return Err(other);
        }
    };
    let end = value.iter().position(is_blank).unwrap_or(value.len());
    let (name, rest) = value.split_at_checked(end).unwrap_or((value, &[]));
    let rest = trimmed(rest);
    let is_bearer = name.eq_ignore_ascii_case(b"bearer");
    let is_basic = name.eq_ignore_ascii_case(b"basic");
    match scheme {
        Scheme::Bearer if !is_bearer => Err(Lookup::Missing),
        Scheme::Basic if !is_basic => Err(Lookup::Missing),
        Scheme::Bearer | Scheme::Basic | Scheme::Any if is_bearer || is_basic => match rest {
            [] => Err(Lookup::Empty),
            // No token has a blank in it (RFC 6750). A server that reads only the first word would take each of these for the
            // same token, and here each would be a key of its own.
            rest if is_bearer && rest.iter().any(is_blank) => Err(Lookup::Malformed),
            rest if is_bearer => Ok(Credentials::Bearer(Text::Sent(rest))),
            rest => basic(rest, buffer),
        },
        Scheme::Bearer | Scheme::Basic | Scheme::Any => {
            let one = rest.is_empty();
            Ok(Credentials::Other(if one { Text::Sent(name) } else { collapsed(name, rest, buffer) }))
        }
    }
}

const fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Splits a scheme from the rest, collapsing blanks to one space.
fn collapsed<'a>(scheme: &[u8], rest: &[u8], buffer: &mut Vec<u8>) -> Text<'a> {
    let start = buffer.len();
    buffer.extend(scheme.iter().map(u8::to_ascii_lowercase));
    for word in rest.split(is_blank).filter(|word| !word.is_empty()) {
        if buffer.len() > start {
            buffer.push(b' ');
        }
        buffer.extend_from_slice(word);
    }
    Text::Written(start..buffer.len())
}

fn basic<'a>(encoded: &[u8], buffer: &mut Vec<u8>) -> Result<Credentials<'a>, Lookup<'a>> {
    let start = buffer.len();
    let colon = decode(encoded, buffer)
        .and_then(|()| buffer.get(start..)?.iter().position(|byte| *byte == b':'))
        .map(|colon| start.saturating_add(colon));
    match colon {
        Some(colon) if colon > start => {
            Ok(Credentials::Basic { user: start..colon, all: start..buffer.len() })
        }
        Some(_) => {
            buffer.truncate(start);
            Err(Lookup::Empty)
        }
        None => {
            buffer.truncate(start);
            Err(Lookup::Malformed)
        }
    }
}

/// Decodes base64 in either alphabet, with or without padding: servers accept all of these, and all are the same
/// client. `None` if it is not base64.
fn decode(encoded: &[u8], buffer: &mut Vec<u8>) -> Option<()> {
    let end = encoded.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last.saturating_add(1));
    let (digits, padding) = encoded.split_at_checked(end)?;
    if padding.len() > 2 {
        return None;
    }
    for four in digits.chunks(4) {
        let mut bits = 0_u32;
        for place in 0..4 {
            let digit = four.get(place).map_or(Some(0), |byte| six_bits(*byte))?;
            bits = bits << 6 | u32::from(digit);
        }
        // Four digits are three bytes, three are two, and two are one.
        let bytes = four.len().checked_sub(1).filter(|bytes| *bytes > 0)?;
        buffer.extend(bits.to_be_bytes().iter().skip(1).take(bytes));
    }
    Some(())
}

const fn six_bits(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// What is found, as text: the kind and the key, or why there is none.
    fn found(lines: &[&str], scheme: Scheme) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(AUTHORIZATION, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        // What stands in the buffer already stays there.
        let mut buffer = b"before".to_vec();
        let found = find(&headers, scheme, &mut buffer);
        assert!(buffer.starts_with(b"before"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match found {
            Ok(Credentials::Bearer(token)) => format!("bearer {}", text(token.bytes(&buffer))),
            Ok(Credentials::Other(other)) => format!("other {}", text(other.bytes(&buffer))),
            Ok(Credentials::Basic { user, all }) => {
                format!("basic {} of {}", text(&buffer[user]), text(&buffer[all]))
            }
            Err(why) => format!("{why:?}"),
        }
    }

    #[test]
    fn one_credential_is_one_key_however_it_is_spelt() {
        let table: &[(&str, [&str; 3])] = &[
            // Looked for: bearer, basic, any.
            ("Bearer x", ["bearer x", "Missing", "bearer x"]),
            ("bearer  x", ["bearer x", "Missing", "bearer x"]),
            ("BEARER \t x \t", ["bearer x", "Missing", "bearer x"]),
            ("Bearer\tx", ["bearer x", "Missing", "bearer x"]),
            ("Bearer a\t  b", ["Malformed", "Missing", "Malformed"]),
            ("Bearer 1|abc", ["bearer 1|abc", "Missing", "bearer 1|abc"]),
            ("Bearer", ["Empty", "Missing", "Empty"]),
            ("Bearers x", ["Missing", "Missing", "other bearers x"]),
            ("x", ["Missing", "Missing", "other x"]),
            ("X", ["Missing", "Missing", "other X"]),
            ("Token   X \t y", ["Missing", "Missing", "other token X y"]),
            ("TOKEN X y", ["Missing", "Missing", "other token X y"]),
            ("", ["Empty", "Empty", "Empty"]),
            // `ada:secret`, `ada:other`, `ada:`, without padding, with other bits behind the end, and in the other alphabet.
            ("Basic YWRhOnNlY3JldA==", ["Missing", "basic ada of ada:secret", "basic ada of ada:secret"]),
            ("basic  YWRhOnNlY3JldA", ["Missing", "basic ada of ada:secret", "basic ada of ada:secret"]),
            ("Basic YWRhOnNlY3JldB==", ["Missing", "basic ada of ada:secret", "basic ada of ada:secret"]),
            ("Basic YWRhOm90aGVy", ["Missing", "basic ada of ada:other", "basic ada of ada:other"]),
            ("Basic YWRhOg==", ["Missing", "basic ada of ada:", "basic ada of ada:"]),
            ("Basic YTo/Pz8/", ["Missing", "basic a of a:????", "basic a of a:????"]),
            ("Basic YTo_Pz8_", ["Missing", "basic a of a:????", "basic a of a:????"]),
            // No name, no colon, and no base64.
            ("Basic OnNlY3JldA==", ["Missing", "Empty", "Empty"]),
            ("Basic YWRh", ["Missing", "Malformed", "Malformed"]),
            ("Basic a", ["Missing", "Malformed", "Malformed"]),
            ("Basic YWRhOg===", ["Missing", "Malformed", "Malformed"]),
            ("Basic YW RhOg==", ["Missing", "Malformed", "Malformed"]),
            ("Basic", ["Missing", "Empty", "Empty"]),
        ];
        for (line, expected) in table {
            let all = [Scheme::Bearer, Scheme::Basic, Scheme::Any].map(|scheme| found(&[line], scheme));
            assert_eq!(all, *expected, "{line}");
        }
        assert_eq!(found(&[], Scheme::Any), "Missing");
        assert_eq!(found(&["Bearer x", "Bearer x"], Scheme::Bearer), "Repeated");
    }
}
