//! Finds one named header of a request, or the bearer token in it. The caller handles repeated headers.

use http::header::{AUTHORIZATION, FORWARDED, HeaderMap, HeaderName};

use crate::found::{Lookup, trimmed};

/// Finds a header by name. Blanks around the value are ignored; two lines are [`Lookup::Repeated`].
///
/// A comma is part of the value: a key with a comma and two joined lines cannot be distinguished.
///
/// ```
/// use http::{HeaderMap, HeaderName, HeaderValue};
/// use tollgate_http::{found::Lookup, header};
/// let name = HeaderName::from_static("x-api-key");
/// let mut headers = HeaderMap::new();
/// headers.append(&name, HeaderValue::from_static(" abc "));
/// assert_eq!(header::find(&headers, &name), Lookup::One(b"abc"));
/// headers.append(&name, HeaderValue::from_static("abc"));
/// assert_eq!(header::find(&headers, &name), Lookup::Repeated);
/// ```
pub fn find<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Lookup<'a> {
    let mut lines = headers.get_all(name).iter();
    match (lines.next(), lines.next()) {
        (None, _) => Lookup::Missing,
        (Some(line), None) => Lookup::value(trimmed(line.as_bytes())),
        (Some(_), Some(_)) => Lookup::Repeated,
    }
}

/// Returns true if a header's name consists of letters, digits and hyphens.
///
/// CGI, WSGI, Rack and PHP turn names into variables: `X-Api-Key` and `X_Api_Key` both become
/// `HTTP_X_API_KEY`, and PHP folds `.` as well. With such an upstream, a header with another character in its name could
/// replace one that a limit read or that the gateway removed.
///
/// ```
/// use http::HeaderName;
/// use tollgate_http::header::is_plain;
/// assert!(is_plain(&HeaderName::from_static("x-api-key")));
/// assert!(!is_plain(&HeaderName::from_static("x_api_key")));
/// assert!(!is_plain(&HeaderName::from_static("x.api.key")));
/// ```
#[must_use]
pub fn is_plain(name: &HeaderName) -> bool {
    name.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns true if a header states the origin of a request: the client's address, the scheme or the host. Proxies, CDNs and
/// load balancers set such headers, and frameworks believe them whoever sends them, so a gateway accepts them from trusted proxies
/// only.
///
/// ```
/// use http::HeaderName;
/// use tollgate_http::header::is_origin;
/// assert!(is_origin(&HeaderName::from_static("x-real-ip")));
/// assert!(!is_origin(&HeaderName::from_static("x-api-key")));
/// ```
#[must_use]
pub fn is_origin(name: &HeaderName) -> bool {
    *name == FORWARDED
        || name.as_str().starts_with("x-forwarded-")
        || matches!(
            name.as_str(),
            "x-real-ip"
                | "x-client-ip"
                | "client-ip"
                | "true-client-ip"
                | "x-cluster-client-ip"
                | "x-originating-ip"
                | "x-remote-ip"
                | "x-remote-addr"
                | "x-forwarded"
                | "forwarded-for"
                | "x-original-forwarded-for"
                | "cf-connecting-ip"
                | "cf-connecting-ipv6"
                | "fastly-client-ip"
                | "x-envoy-external-address"
                | "x-azure-clientip"
                | "x-azure-socketip"
                | "x-scheme"
                | "front-end-https"
                | "x-host"
                | "x-original-host"
        )
}

/// Finds the token of `Authorization: Bearer …` (RFC 6750). The scheme is case-insensitive.
///
/// A different scheme is [`Lookup::Missing`], the scheme alone [`Lookup::Empty`], and a token with characters other than letters,
/// digits, `-._~+/` and trailing `=` [`Lookup::Malformed`].
pub fn bearer(headers: &HeaderMap) -> Lookup<'_> {
    let value = match find(headers, &AUTHORIZATION) {
        Lookup::One(value) => value,
        other @ (Lookup::Missing | Lookup::Empty | Lookup::Repeated | Lookup::Malformed) => return other,
    };
    let length = value.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(value.len());
    let Some((scheme, rest)) = value.split_at_checked(length) else {
        return Lookup::Malformed;
    };
    match rest {
        _ if !scheme.eq_ignore_ascii_case(b"bearer") => Lookup::Missing,
        [] => Lookup::Empty,
        [b' ', token @ ..] => {
            let token = trimmed(token);
            if is_token(token) { Lookup::value(token) } else { Lookup::Malformed }
        }
        _ => Lookup::Malformed,
    }
}

fn is_token(token: &[u8]) -> bool {
    let end = token.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte);
    end > 0 && token.iter().take(end).all(is_fine)
}

/// Parses a whole number: digits only, without leading zeros, up to 64 bits. `None` for anything else.
///
/// ```
/// use tollgate_http::header::whole_number;
/// assert_eq!([&b"0"[..], b"42", b"042", b"-1", b""].map(whole_number), [Some(0), Some(42), None, None, None]);
/// ```
#[must_use]
pub fn whole_number(text: &[u8]) -> Option<u64> {
    let is_plain = text == b"0" || !text.starts_with(b"0");
    let is_digits = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_plain && is_digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::VALUE_MAX;
    use http::HeaderValue;

    fn headers(name: &HeaderName, lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(name, HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        headers
    }

    #[test]
    fn one_header_is_found_and_two_are_never_chosen_from() {
        let name = HeaderName::from_static("x-api-key");
        let (longest, longer) = ("k".repeat(VALUE_MAX), "k".repeat(VALUE_MAX + 1));
        let table: &[(&[&str], Lookup<'_>)] = &[
            (&[], Lookup::Missing),
            (&[""], Lookup::Empty),
            (&[" \t "], Lookup::Empty),
            (&["k"], Lookup::One(b"k")),
            (&["\t k l "], Lookup::One(b"k l")),
            (&["k, l"], Lookup::One(b"k, l")),
            (&["\u{e9}"], Lookup::One("\u{e9}".as_bytes())),
            (&["k", "k"], Lookup::Repeated),
            (&["k", ""], Lookup::Repeated),
            (&["", ""], Lookup::Repeated),
            (&[&longest], Lookup::One(longest.as_bytes())),
            (&[&longer], Lookup::Malformed),
        ];
        for (lines, expected) in table {
            assert_eq!(find(&headers(&name, lines), &name), *expected, "{lines:?}");
        }
        let other = headers(&HeaderName::from_static("x-api-key2"), &["k"]);
        assert_eq!(find(&other, &name), Lookup::Missing);
    }

    #[test]
    fn a_bearer_token_is_found_whatever_the_case_of_its_scheme() {
        let table: &[(&[&str], Lookup<'_>)] = &[
            (&[], Lookup::Missing),
            (&["Basic YTpi"], Lookup::Missing),
            (&["Bearertoken"], Lookup::Missing),
            (&["Bearers token"], Lookup::Missing),
            (&["token"], Lookup::Missing),
            (&[""], Lookup::Empty),
            (&["Bearer"], Lookup::Empty),
            (&["bearer "], Lookup::Empty),
            (&["Bearer abc"], Lookup::One(b"abc")),
            (&["bEARER   a.b-c_~+/d=="], Lookup::One(b"a.b-c_~+/d==")),
            (&["Bearer a b"], Lookup::Malformed),
            (&["Bearer a,b"], Lookup::Malformed),
            (&["Bearer \"a\""], Lookup::Malformed),
            (&["Bearer =="], Lookup::Malformed),
            (&["Bearer a=b"], Lookup::Malformed),
            (&["Bearer\tabc"], Lookup::Malformed),
            (&["Bearer:abc"], Lookup::Malformed),
            (&["Bearer \u{e9}"], Lookup::Malformed),
            (&["Bearer a", "Bearer a"], Lookup::Repeated),
            (&["Bearer a", "Basic b"], Lookup::Repeated),
        ];
        for (lines, expected) in table {
            assert_eq!(bearer(&headers(&AUTHORIZATION, lines)), *expected, "{lines:?}");
        }
    }
}
