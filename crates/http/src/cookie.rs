//! Finds one named cookie of a request.

use http::HeaderMap;
use http::header::COOKIE;

use crate::found::{Found, trimmed};

/// Maximum bytes of cookies to search; more are [`Found::Malformed`], so that nothing is hidden beyond
/// the end.
pub const COOKIES_MAX: usize = 16_384;

/// Finds a cookie by name, in all `Cookie` headers (HTTP/2 sends one for each).
///
/// Pairs are separated by `;`, and blanks around names and values are ignored. Names are case-sensitive. A value
/// may be in quotes, which are not part of it. An open quote in any cookie is [`Found::Malformed`]:
/// some servers continue behind the `;` and see other cookies.
///
/// ```
/// use http::{HeaderMap, HeaderValue, header::COOKIE};
/// use tollgate_http::{cookie, found::Found};
/// let mut headers = HeaderMap::new();
/// headers.insert(COOKIE, HeaderValue::from_static("theme=dark; session=\"abc\""));
/// assert_eq!(cookie::find(&headers, "session"), Found::One(b"abc"));
/// ```
pub fn find<'a>(headers: &'a HeaderMap, name: &str) -> Found<'a> {
    let mut found = None;
    let mut left = COOKIES_MAX;
    for line in headers.get_all(COOKIE) {
        let line = line.as_bytes();
        match left.checked_sub(line.len()) {
            Some(rest) => left = rest,
            None => return Found::Malformed,
        }
        for pair in line.split(|byte| *byte == b';') {
            let equals = pair.iter().position(|byte| *byte == b'=');
            let (key, value) = match equals.and_then(|place| pair.split_at_checked(place)) {
                Some((key, [_, value @ ..])) => (trimmed(key), trimmed(value)),
                // Some servers take a cookie without `=` for one without a value.
                _ => (trimmed(pair), [].as_slice()),
            };
            let Some(value) = unquoted(value) else {
                return Found::Malformed;
            };
            if key != name.as_bytes() || key.is_empty() {
                continue;
            }
            if found.replace(value).is_some() {
                return Found::Repeated;
            }
        }
    }
    found.map_or(Found::Missing, Found::value)
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

    fn look(lines: &[&str], check: impl FnOnce(Found<'_>)) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(COOKIE, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        check(find(&headers, "id"));
    }

    #[test]
    fn one_cookie_is_found_on_any_line() {
        let table: &[(&[&str], Found<'_>)] = &[
            (&[], Found::Missing),
            (&[""], Found::Missing),
            (&["a=1; ID=2; xid=3; idx=4; b=id"], Found::Missing),
            (&["id=v"], Found::One(b"v")),
            (&["a=1;id=v;b=2"], Found::One(b"v")),
            (&["a=1; \tid = v ; b=2"], Found::One(b"v")),
            (&["a=1", "b=2; id=v"], Found::One(b"v")),
            (&["id=v=w"], Found::One(b"v=w")),
            (&["id=\"v\""], Found::One(b"v")),
            (&["id={\"a\":1}"], Found::One(b"{\"a\":1}")),
            (&["id=%41"], Found::One(b"%41")),
            (&["id"], Found::Empty),
            (&["id="], Found::Empty),
            (&["id=\"\""], Found::Empty),
            (&["id=a; id=a"], Found::Repeated),
            (&["id=a", "id=b"], Found::Repeated),
            (&["id; id=b"], Found::Repeated),
            (&["id=\"v"], Found::Malformed),
            (&["id=\""], Found::Malformed),
            (&["id=\"a\\\"b\""], Found::Malformed),
            (&["a=\"x; id=v; b=y\""], Found::Malformed),
        ];
        for (lines, expected) in table {
            look(lines, |found| assert_eq!(found, *expected, "{lines:?}"));
        }
    }

    #[test]
    fn no_cookie_is_without_a_name() {
        let headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("=a; ; b=1;"))]);
        assert_eq!(find(&headers, ""), Found::Missing);
        assert_eq!(find(&headers, "a"), Found::Missing);
    }

    #[test]
    fn nothing_hides_behind_the_most_cookies() {
        let filling = "x".repeat(COOKIES_MAX - 5);
        look(&["id=v;", &filling], |found| assert_eq!(found, Found::One(b"v")));
        look(&["id=v;;", &filling], |found| assert_eq!(found, Found::Malformed));
    }
}
