//! Finds the parts of a value that may be secret: in the URL of a server, and in place of a file name.

use std::ops::Range;

use super::kind::FILE_CHARS_MAX;

/// The parts of a server's address that may be a password, also if the address is wrong.
///
/// Only what certainly is none is left: the scheme, a user before a colon, the host, a port that is a number, and a plain path.
pub(crate) fn secrets(text: &str) -> Vec<Range<usize>> {
    let whole = || std::iter::once(0..text.len()).collect();
    let Some(colon) = text.find("://") else {
        // The address of a server without its scheme, or a password alone.
        let is_host = text.contains(['.', ':']) || text == "localhost";
        return if is_host && plain(text) == text.len() { Vec::new() } else { whole() };
    };
    let is_scheme =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    if !text.get(..colon).is_some_and(is_scheme) {
        return whole();
    }
    let start = colon.saturating_add("://".len());
    let at = text.rfind('@').filter(|at| *at >= start);
    let mut found = Vec::new();
    if let Some(at) = at {
        let who = text.get(start..at).unwrap_or_default();
        let user = who.find(':').map_or(0, |colon| colon.saturating_add(1));
        found.push(start.saturating_add(user)..at);
    }
    let place = at.map_or(start, |at| at.saturating_add(1));
    let shown = plain(text.get(place..).unwrap_or_default());
    found.push(place.saturating_add(shown)..text.len());
    found.retain(|range| !range.is_empty());
    found
}

/// How much of `host:port,host:port/path` is as plain as it should be.
fn plain(text: &str) -> usize {
    // Of several hosts, all but the last end with their port. What looks otherwise may be a password.
    let mut start = 0;
    while let Some((host, _)) = text.get(start..).and_then(|rest| rest.split_once(',')) {
        if plain_host(host) != host.len() || host.contains('/') {
            break;
        }
        start = start.saturating_add(host.len()).saturating_add(1);
    }
    start.saturating_add(plain_host(text.get(start..).unwrap_or_default()))
}

/// How much of `host:port/path` is as plain as it should be.
fn plain_host(text: &str) -> usize {
    let while_in = |text: &str, allowed: &[u8]| {
        let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || allowed.contains(byte);
        text.bytes().take_while(is_allowed).count()
    };
    let bracket = text.starts_with('[').then(|| text.find(']')).flatten();
    let literal =
        bracket.filter(|end| text.get(1..*end).is_some_and(|ip| ip.parse::<std::net::Ipv6Addr>().is_ok()));
    let mut at = literal.map_or_else(|| while_in(text, b"-._"), |end| end.saturating_add(1));
    let rest = |at: usize| text.get(at..).unwrap_or_default();
    if let Some(port) = rest(at).strip_prefix(':') {
        let digits = port.bytes().take_while(u8::is_ascii_digit).count();
        let ends =
            port.get(digits..).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
        if digits > 5 || !ends {
            return at;
        }
        at = at.saturating_add(digits).saturating_add(1);
    }
    if rest(at).starts_with('/') {
        at = at.saturating_add(while_in(rest(at), b"-._/"));
    }
    at
}

/// An address as it may be shown: three stars in place of each part that may be a password.
#[must_use]
pub(crate) fn shown(text: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for range in secrets(text) {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        // A query keeps its mark: it says where something was left out.
        let mark = text.get(range.clone()).is_some_and(|part| part.starts_with('?'));
        out.push_str(if mark { "?***" } else { "***" });
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// Whether what stands in place of a file's name is the content of one: a key or a certificate in PEM, or anything of several lines.
pub(crate) fn is_pasted(text: &str) -> bool {
    text.contains(['\n', '\r']) || text.contains("-----") || text.chars().count() > FILE_CHARS_MAX
}

#[test]
fn a_password_is_not_shown_wherever_it_stands() {
    for (text, shown_as) in [
        ("redis://127.0.0.1:6379/2", "redis://127.0.0.1:6379/2"),
        ("redis://[::1]:6379", "redis://[::1]:6379"),
        ("redis://:secret@host", "redis://:***@host"),
        ("redis://secret@host", "redis://***@host"),
        ("rediss://ada:se:cr@et@host:1", "rediss://ada:***@host:1"),
        ("redis://:secret@host?db=2", "redis://:***@host?***"),
        ("redis://:se?cret@host", "redis://:***@host"),
        ("redis://:se/cr\u{1}et@host", "redis://:***@host"),
        ("redis://:secret", "redis://***"),
        ("redis://host:secret", "redis://host***"),
        ("redis://host?pass=secret", "redis://host?***"),
        ("redis://host/0#secret", "redis://host/0***"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("unix:///run/redis.sock?pass=x", "unix:///run/redis.sock?***"),
        ("unix:///run/redis.sock&pass=x", "unix:///run/redis.sock***"),
        ("unix://ada:secret@/run/redis.sock", "unix://ada:***@/run/redis.sock"),
        ("redis+sentinel://a:1,b,[::1]:2/main/0", "redis+sentinel://a:1,b,[::1]:2/main/0"),
        ("redis+sentinel://ada:secret@a,b:1/main", "redis+sentinel://ada:***@a,b:1/main"),
        ("redis+cluster://:se,cret@a,b", "redis+cluster://:***@a,b"),
        ("redis+cluster://a:secret,b", "redis+cluster://a***"),
        ("ada:secret@http://host", "***"),
        ("secret", "***"),
        ("api.example.org", "api.example.org"),
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("secret@host:80", "***"),
    ] {
        assert_eq!(shown(text), shown_as);
    }
}
