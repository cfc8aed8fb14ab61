//! Parses the hops of a forwarding header, from right to left. Its parent decides whom to trust.

use std::net::IpAddr;

use http::HeaderValue;
use http::header::{HeaderMap, ValueIter};

use super::ForwardHeader;
use crate::address::{parse_bare, parse_node};
use crate::found::trimmed;
use crate::method::is_token;

/// Maximum length of a hop, including surrounding blanks. A longer one is malformed, and nothing to its left is
/// parsed, which bounds the work per hop.
pub const HOP_BYTES_MAX: usize = 1_024;

/// The nodes of all hops, from right to left, over all lines of the header, last line first. Empty for a hop without a
/// node; `None` if the start of a hop is ambiguous, after which nothing is meaningful.
pub(super) fn from_the_right<'a>(header: &ForwardHeader, headers: &'a HeaderMap) -> ReverseHops<'a> {
    let quotes = matches!(header, ForwardHeader::Forwarded);
    ReverseHops { lines: headers.get_all(header.name()).iter(), line: None, quotes }
}

/// The address of a hop. `None` if it is not an address.
pub(super) fn address(header: &ForwardHeader, node: &[u8]) -> Option<IpAddr> {
    match header {
        ForwardHeader::Forwarded => parse_bare(node),
        ForwardHeader::XForwardedFor | ForwardHeader::Other(_) => parse_node(node),
    }
}

pub(super) struct ReverseHops<'a> {
    lines: ValueIter<'a, HeaderValue>,
    /// The rest of the current line.
    line: Option<&'a [u8]>,
    /// Whether the header is `Forwarded`, in which quoted commas do not separate hops.
    quotes: bool,
}

impl<'a> Iterator for ReverseHops<'a> {
    type Item = Option<&'a [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = match self.line.take() {
            Some(line) => line,
            None => self.lines.next_back()?.as_bytes(),
        };
        let node = last_hop(line, self.quotes).and_then(|(rest, hop)| {
            self.line = rest;
            if self.quotes { node_of(hop) } else { Some(trimmed(hop)) }
        });
        Some(node)
    }
}

/// Splits a line at its last comma, if there is one.
///
/// From the right, a quote ends a quoted string, and the next unescaped quote starts it. In a hop that a
/// proxy wrote correctly, this finds the comma before it, whatever is to the left; an untrusted open
/// quote cannot hide it.
fn last_hop(line: &[u8], quotes: bool) -> Option<(Option<&[u8]>, &[u8])> {
    let mut within = false;
    for (place, byte) in line.iter().enumerate().rev().take(HOP_BYTES_MAX + 1) {
        match byte {
            b'"' if quotes && !within => within = true,
            b'"' if quotes && !is_escaped(line, place) => within = false,
            b',' if !within => return Some((line.get(..place), line.get(place + 1..)?)),
            _ => {}
        }
    }
    (line.len() <= HOP_BYTES_MAX).then_some((None, line))
}

/// Returns true if an odd number of backslashes precedes this position.
fn is_escaped(line: &[u8], place: usize) -> bool {
    let before = line.get(..place).unwrap_or_default();
    before.iter().rev().take(HOP_BYTES_MAX).take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// The value of `for` in a hop of `Forwarded`, without quotes; empty unless it occurs exactly once. `None` if the hop is
/// malformed, in which case its start may be elsewhere.
///
/// RFC 7239 allows no blanks around `;`, but they are common and accepted here. An address with a colon must be quoted,
/// as it requires. Escapes are kept, so that they never parse as an address: no address needs one.
fn node_of(hop: &[u8]) -> Option<&[u8]> {
    let (mut node, mut times) = (None, 0_u32);
    let mut rest = trimmed(hop);
    loop {
        if !matches!(rest, [] | [b';', ..]) {
            let (name, value, after) = pair(rest)?;
            if name.eq_ignore_ascii_case(b"for") {
                (node, times) = (Some(value), times.saturating_add(1));
            }
            rest = trimmed(after);
        }
        match rest {
            [] => return Some(node.filter(|_| times == 1).unwrap_or_default()),
            [b';', after @ ..] => rest = trimmed(after),
            _ => return None,
        }
    }
}

/// `name=value` or `name="value"`, and what follows.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, rest) = token(text)?;
    let [b'=', rest @ ..] = rest else {
        return None;
    };
    let (value, rest) = match rest {
        [b'"', rest @ ..] => quoted(rest)?,
        _ => token(rest)?,
    };
    Some((name, value, rest))
}

/// One or more of the characters that need no quotes (RFC 9110), and what follows.
fn token(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = text.iter().take_while(|byte| is_token(**byte)).count();
    text.split_at_checked(length).filter(|(token, _)| !token.is_empty())
}

/// What stands before the quote that ends it, escapes and all, and what follows that quote.
fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut escaped = false;
    for (place, byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some((text.get(..place)?, text.get(place + 1..)?)),
            _ => {}
        }
    }
    None
}
