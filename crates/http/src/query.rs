//! Finds one named parameter of a query string, decoded like a form.

use crate::found::Lookup;

/// Maximum length of a query to search; a longer one is [`Lookup::Malformed`], so that nothing is hidden beyond
/// the end.
pub const QUERY_MAX: usize = 8_192;

/// What a `;` in a query string means. Servers differ.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Semicolons {
    /// An ordinary character, as for browsers, Node, Java, .NET, PHP, and newer versions of Python and Rack.
    #[default]
    Text,
    /// It separates parameters like `&`: Perl's CGI, Python before 3.10, Rack before 3.
    Separator,
    /// The parameter that contains it is dropped: Go.
    Dropped,
}

/// Finds a parameter by name, where a `;` is [text](Semicolons::Text).
///
/// Parameters are separated by `&`. In names and values, `%xx` is a byte and `+` a space. Names are compared after
/// decoding, so that `k%65y` is `key`. A broken escape in any name, or in the requested value, is
/// [`Lookup::Malformed`]; in other values it is ignored. A value with escapes is decoded
/// into the buffer, which is overwritten; one without is borrowed from the query.
///
/// ```
/// use tollgate_http::{found::Lookup, query};
/// let mut buffer = Vec::new();
/// assert_eq!(query::find("page=2&api%5Fkey=a%2Bb", "api_key", &mut buffer), Lookup::One(b"a+b"));
/// assert_eq!(query::find("key=a&k%65y=b", "key", &mut buffer), Lookup::Repeated);
/// ```
pub fn find<'a>(query: &'a str, name: &str, buffer: &'a mut Vec<u8>) -> Lookup<'a> {
    find_as(Semicolons::Text, query, name, buffer)
}

/// As [`find`], where a `;` means what the upstream takes it for.
///
/// ```
/// use tollgate_http::{found::Lookup, query::{find_as, Semicolons}};
/// let found = |semicolons| match find_as(semicolons, "a=1;key=2&b=3", "key", &mut Vec::new()) {
///     Lookup::One(value) => Some(value == b"2"),
///     _ => None,
/// };
/// assert_eq!(found(Semicolons::Text), None);
/// assert_eq!(found(Semicolons::Separator), Some(true));
/// assert_eq!(found(Semicolons::Dropped), None);
/// ```
pub fn find_as<'a>(
    semicolons: Semicolons,
    query: &'a str,
    name: &str,
    buffer: &'a mut Vec<u8>,
) -> Lookup<'a> {
    if query.len() > QUERY_MAX {
        return Lookup::Malformed;
    }
    let mut found = None;
    let separates = |byte: &u8| *byte == b'&' || (*byte == b';' && semicolons == Semicolons::Separator);
    for pair in query.as_bytes().split(separates).filter(|pair| !pair.is_empty()) {
        if semicolons == Semicolons::Dropped && pair.contains(&b';') {
            continue;
        }
        let equals = pair.iter().position(|byte| *byte == b'=');
        let (raw_name, value) = match equals.and_then(|place| pair.split_at_checked(place)) {
            Some((raw_name, [_, value @ ..])) => (raw_name, value),
            _ => (pair, [].as_slice()),
        };
        match is_named(raw_name, name.as_bytes()) {
            None => return Lookup::Malformed,
            Some(false) => {}
            Some(true) if found.is_some() => return Lookup::Repeated,
            Some(true) => found = Some(value),
        }
    }
    match found {
        None => Lookup::Missing,
        Some(value) if !value.iter().any(|byte| matches!(byte, b'%' | b'+')) => Lookup::value(value),
        Some(value) => decode(value, buffer),
    }
}

/// Returns true if the decoded name is equal. `None` if it has a broken escape anywhere.
fn is_named(mut raw: &[u8], name: &[u8]) -> Option<bool> {
    let mut wanted = name.iter();
    let mut same = true;
    while !raw.is_empty() {
        let (byte, rest) = first(raw)?;
        same &= wanted.next() == Some(&byte);
        raw = rest;
    }
    Some(same && wanted.next().is_none())
}

fn decode<'a>(mut raw: &[u8], buffer: &'a mut Vec<u8>) -> Lookup<'a> {
    buffer.clear();
    while !raw.is_empty() {
        let Some((byte, rest)) = first(raw) else {
            return Lookup::Malformed;
        };
        buffer.push(byte);
        raw = rest;
    }
    Lookup::value(buffer)
}

/// The first decoded byte, and the rest. `None` at a broken escape and at the end.
fn first(raw: &[u8]) -> Option<(u8, &[u8])> {
    match raw {
        [b'%', high, low, rest @ ..] => Some((digit(*high)? << 4 | digit(*low)?, rest)),
        [b'%', ..] | [] => None,
        [b'+', rest @ ..] => Some((b' ', rest)),
        [byte, rest @ ..] => Some((*byte, rest)),
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_testing::dice::Dice;

    #[test]
    fn a_semicolon_means_what_the_upstream_takes_it_for() {
        let all = [Semicolons::Text, Semicolons::Separator, Semicolons::Dropped];
        let table: [(&str, [Lookup<'_>; 3]); 5] = [
            ("a=1;key=2", [Lookup::Missing, Lookup::One(b"2"), Lookup::Missing]),
            ("key=1;a=2", [Lookup::One(b"1;a=2"), Lookup::One(b"1"), Lookup::Missing]),
            ("key=1;key=2", [Lookup::One(b"1;key=2"), Lookup::Repeated, Lookup::Missing]),
            ("a;b&key=1", [Lookup::One(b"1"); 3]),
            ("key=1%3Ba", [Lookup::One(b"1;a"); 3]),
        ];
        for (query, expected) in table {
            for (semicolons, expected) in all.into_iter().zip(expected) {
                let mut buffer = Vec::new();
                let found = find_as(semicolons, query, "key", &mut buffer);
                assert_eq!(found, expected, "{query} {semicolons:?}");
            }
        }
    }

    #[test]
    fn one_parameter_is_found_however_it_is_written() {
        let table: &[(&str, Lookup<'_>)] = &[
            ("", Lookup::Missing),
            ("keys=1&ke=2&Key=3&xkey=4", Lookup::Missing),
            ("a=key", Lookup::Missing),
            ("a=1;key=2", Lookup::Missing),
            ("key", Lookup::Empty),
            ("key=", Lookup::Empty),
            ("a&key&b", Lookup::Empty),
            ("key=v", Lookup::One(b"v")),
            ("&&key=v&", Lookup::One(b"v")),
            ("a=1&key=v=w&b=2", Lookup::One(b"v=w")),
            ("%6b%65%79=v", Lookup::One(b"v")),
            ("%6B%65%79=v", Lookup::One(b"v")),
            ("key=a%2Bb+c%20d%26", Lookup::One(b"a+b c d&")),
            ("key=%00%ff", Lookup::One(b"\0\xff")),
            ("key=+", Lookup::One(b" ")),
            ("key=a&key=a", Lookup::Repeated),
            ("key=a&k%65y=b", Lookup::Repeated),
            ("key&key", Lookup::Repeated),
            ("key=%", Lookup::Malformed),
            ("key=%4", Lookup::Malformed),
            ("key=%zz", Lookup::Malformed),
            ("key=%u0041", Lookup::Malformed),
            ("key=%+1", Lookup::Malformed),
            ("key=a&x%zz=b", Lookup::Malformed),
            ("key=a&off=100%", Lookup::One(b"a")),
        ];
        for (query, expected) in table {
            assert_eq!(find(query, "key", &mut Vec::new()), *expected, "{query}");
        }
        assert_eq!(find("a+b=1", "a b", &mut Vec::new()), Lookup::One(b"1"));
        assert_eq!(find("=1", "", &mut Vec::new()), Lookup::One(b"1"));
        assert_eq!(find("a=1&", "", &mut Vec::new()), Lookup::Missing);
    }

    #[test]
    fn nothing_hides_behind_the_longest_query() {
        let query = format!("key=a&{}", "x".repeat(QUERY_MAX - 6));
        assert_eq!(find(&query, "key", &mut Vec::new()), Lookup::One(b"a"));
        assert_eq!(find(&(query + "x"), "key", &mut Vec::new()), Lookup::Malformed);
    }

    #[test]
    fn a_warm_buffer_does_not_grow_and_a_plain_value_does_not_need_it() {
        let mut buffer = Vec::new();
        assert_eq!(find("key=plain", "key", &mut buffer), Lookup::One(b"plain"));
        assert_eq!(buffer.capacity(), 0);
        buffer.reserve(64);
        let capacity = buffer.capacity();
        for _ in 0..3 {
            assert_eq!(find("k%65y=%61bc", "key", &mut buffer), Lookup::One(b"abc"));
            assert_eq!(buffer.capacity(), capacity);
        }
    }

    #[test]
    fn any_value_is_found_as_it_was_before_it_was_encoded() {
        for seed in 1..=20_000 {
            let mut dice = Dice::new(seed);
            let value = dice.soup(b"ab%&=+ ;\0\xff/", 12);
            let mut encode = |bytes: &[u8]| -> String {
                let one = |byte: &u8| match (byte, dice.below(2)) {
                    (b' ', 0) => "+".into(),
                    (b'a'..=b'z', 0) => char::from(*byte).to_string(),
                    (_, 0) => format!("%{byte:02x}"),
                    _ => format!("%{byte:02X}"),
                };
                bytes.iter().map(one).collect()
            };
            let query = format!("a=1&{}={}&b=2", encode(b"ke y"), encode(&value));
            let expected = if value.is_empty() { Lookup::Empty } else { Lookup::One(&value) };
            assert_eq!(find(&query, "ke y", &mut Vec::new()), expected, "seed {seed}: {query}");
        }
    }
}
