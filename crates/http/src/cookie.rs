//! Finds one named cookie of a request.

use http::HeaderMap;
use http::header::COOKIE;

use crate::found::{Lookup, trimmed};

/// Maximum bytes of cookies to search; more are [`Lookup::Malformed`], so that nothing is hidden beyond
/// the end.
pub const COOKIES_MAX: usize = 16_384;

/// Finds a cookie by name, in all `Cookie` headers (HTTP/2 sends one for each).
///
/// Pairs are separated by `;`, and blanks around names and values are ignored. Names are case-sensitive. A value
/// may be in quotes, which are not part of it. An open quote in any cookie is [`Lookup::Malformed`]:
/// some servers continue behind the `;` and see other cookies.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::COOKIE};
/// use tollgate_http::{cookie, found::Lookup};
/// let mut headers = HeaderMap::new();
/// headers.insert(COOKIE, HeaderValue::from_static("theme=dark; session=\"abc\""));
/// assert_eq!(cookie::find(&headers, "session"), Lookup::One(b"abc"));
/// ```
pub fn find<'a>(headers: &'a HeaderMap, name: &str) -> Lookup<'a> {
    let mut found = None;
    let mut left = COOKIES_MAX;
    for line in headers.get_all(COOKIE) {
        let line = line.as_bytes();
        match left.checked_sub(line.len()) {
            Some(rest) => left = rest,
            None => return Lookup::Malformed,
        }
        for pair in line.split(|byte| *byte == b';') {
            let equals = pair.iter().position(|byte| *byte == b'=');
            let (key, value) = match equals.and_then(|place| pair.split_at_checked(place)) {
                Some((key, [_, value @ ..])) => (trimmed(key), trimmed(value)),
                // Some servers take a cookie without `=` for one without a value.
                _ => (trimmed(pair), [].as_slice()),
            };
            let Some(value) = unquoted(value) else {
                return Lookup::Malformed;
            };
            if key != name.as_bytes() || key.is_empty() {
                continue;
            }
            if found.replace(value).is_some() {
                return Lookup::Repeated;
            }
        }
    }
    found.map_or(Lookup::Missing, Lookup::value)
}

/// Removes the quotes around a value. `None` if one is open, or there are more inside.
fn unquoted(value: &[u8]) -> Option<&[u8]> {
    match value {
        [b'"', inner @ .., b'"'] => {
            Some(inner).filter(|inner| !inner.iter().any(|byte| b"\"\\".contains(byte)))
        }
        [b'"', ..] => None,
        _ => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn look(lines: &[&str], check: impl FnOnce(Lookup<'_>)) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        check(find(&headers, "id"));
    }

    #[test]
    fn one_cookie_is_found_on_any_line() {
        let table: &[(&[&str], Lookup<'_>)] = &[
            (&[], Lookup::Missing),
            (&[""], Lookup::Missing),
            (&["a=1; ID=2; xid=3; idx=4; b=id"], Lookup::Missing),
            (&["id=v"], Lookup::One(b"v")),
            (&["a=1;id=v;b=2"], Lookup::One(b"v")),
            (&["a=1; \tid = v ; b=2"], Lookup::One(b"v")),
            (&["a=1", "b=2; id=v"], Lookup::One(b"v")),
            (&["id=v=w"], Lookup::One(b"v=w")),
            (&["id=\"v\""], Lookup::One(b"v")),
            (&["id={\"a\":1}"], Lookup::One(b"{\"a\":1}")),
            (&["id=%41"], Lookup::One(b"%41")),
            (&["id"], Lookup::Empty),
            (&["id="], Lookup::Empty),
            (&["id=\"\""], Lookup::Empty),
            (&["id=a; id=a"], Lookup::Repeated),
            (&["id=a", "id=b"], Lookup::Repeated),
            (&["id; id=b"], Lookup::Repeated),
            (&["id=\"v"], Lookup::Malformed),
            (&["id=\""], Lookup::Malformed),
            (&["id=\"a\\\"b\""], Lookup::Malformed),
            (&["a=\"x; id=v; b=y\""], Lookup::Malformed),
        ];
        for (lines, expected) in table {
            look(lines, |found| assert_eq!(found, *expected, "{lines:?}"));
        }
    }

    #[test]
    fn no_cookie_is_without_a_name() {
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("=a; ; b=1;"))]);
        assert_eq!(find(&headers, ""), Lookup::Missing);
        assert_eq!(find(&headers, "a"), Lookup::Missing);
    }

    #[test]
    fn nothing_hides_behind_the_most_cookies() {
        let filling = "x".repeat(COOKIES_MAX - 5);
        look(&["id=v;", &filling], |found| assert_eq!(found, Lookup::One(b"v")));
        look(&["id=v;;", &filling], |found| assert_eq!(found, Lookup::Malformed));
    }
}
