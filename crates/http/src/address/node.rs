//! Parses an address in a forwarding header, or as a person writes it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::found::trimmed;

/// Maximum length of an address. The longest valid one, a quoted
/// IPv6 address with an interface and a port, has about 75 bytes.
pub const NODE_MAX: usize = 128;

/// Parses an address with optional blanks, quotes, brackets, interface and port.
///
/// `None` for everything else: names, `unknown`, `_hidden`, empty text, a port above 65535, IPv4 numbers with leading
/// zeros (octal for some parsers, decimal for others), IPv4 in brackets, and text longer than [`NODE_MAX`].
///
/// ```
/// use tollgate_http::address::parse_node;
/// assert_eq!(parse_node(b"203.0.113.9:80"), Some("203.0.113.9".parse().unwrap()));
/// assert_eq!(parse_node(b"\"[2001:DB8::1]:443\""), Some("2001:db8::1".parse().unwrap()));
/// assert_eq!(parse_node(b"fe80::1%eth0"), Some("fe80::1".parse().unwrap()));
/// assert_eq!(parse_node(b"unknown"), None);
/// ```
#[must_use]
pub fn parse_node(text: &[u8]) -> Option<IpAddr> {
    if text.len() > NODE_MAX {
        return None;
    }
    match trimmed(text) {
        [b'"', inner @ .., b'"'] => parse_bare(inner),
        bare => parse_bare(bare),
    }
}

/// Like [`parse_node`], without surrounding blanks and quotes.
pub fn parse_bare(text: &[u8]) -> Option<IpAddr> {
    if text.len() > NODE_MAX {
        return None;
    }
    let text = str::from_utf8(text).ok()?;
    if let Some(rest) = text.strip_prefix('[') {
        let (address, after) = rest.split_once(']')?;
        let fits = after.is_empty() || after.strip_prefix(':').is_some_and(is_port);
        return if fits { v6(address) } else { None };
    }
    let Some((address, after)) = text.split_once(':') else {
        return v4(text);
    };
    // One colon is before a port, and two or more are within an IPv6 address: a port would need brackets.
    if after.contains(':') {
        return v6(text);
    }
    if is_port(after) { v4(address) } else { None }
}

/// The parser of the standard library takes four decimal numbers and no leading zeros.
fn v4(text: &str) -> Option<IpAddr> {
    text.parse::<Ipv4Addr>().ok().map(IpAddr::V4)
}

/// The interface (`%eth0`) is the sender's and means nothing here; it must only be one.
fn v6(text: &str) -> Option<IpAddr> {
    let address = match text.split_once('%') {
        None => text,
        Some((address, zone)) if is_zone(zone) => address,
        Some(_) => return None,
    };
    address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

fn is_zone(text: &str) -> bool {
    // `%25` is how a URI writes the `%`.
    let name = text.strip_prefix("25").filter(|name| !name.is_empty()).unwrap_or(text);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Up to five digits within range, or one of the hidden ports of RFC 7239 (`_` and a name).
fn is_port(text: &str) -> bool {
    if let Some(hidden) = text.strip_prefix('_') {
        return !hidden.is_empty()
            && hidden.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    }
    let digits = text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits && text.parse::<u16>().is_ok()
}
