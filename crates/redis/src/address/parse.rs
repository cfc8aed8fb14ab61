//! Parses the parts of an address according to RFC 3986, with percent-encoded user and password.

use std::ffi::OsString;
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::{Address, AddressError, HOSTS_MAX, Node, Place};

/// The port of a server whose address names none.
const PORT: u16 = 6379;

/// The port of a Sentinel whose address names none.
const SENTINEL_PORT: u16 = 26_379;

/// The most digits of a database's number: it then fits in 32 bits.
const DATABASE_DIGITS_MAX: usize = 9;

/// What follows the scheme, still percent-encoded.
pub(super) struct Parts<'a> {
    authority: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    has_fragment: bool,
}

/// The parts of what follows `://`.
pub(super) fn parts(rest: &str) -> Result<Parts<'_>, AddressError> {
    if rest.chars().any(|sign| sign.is_control() || sign == ' ') {
        return Err(AddressError::Unreadable);
    }
    let (rest, fragment) = cut_at(rest, '#');
    let (rest, query) = cut_at(rest, '?');
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Ok(Parts { authority, path, query, has_fragment: fragment.is_some() })
}

/// What comes before a sign, and what comes after it.
fn cut_at(text: &str, sign: char) -> (&str, Option<&str>) {
    text.split_once(sign).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// An address with a host.
pub(super) fn tcp(parts: &Parts<'_>, tls: bool) -> Result<Address, AddressError> {
    let (login, server) = login_and_servers(parts)?;
    let (host, port) = host_and_port(server, PORT)?;
    let database = database(parts.path)?;
    let (user, password) = user_and_password(login)?;
    Ok(Address { place: Place::Tcp { host, port, tls }, user, password, database })
}

/// An address of Sentinels, with the name of what they monitor.
pub(super) fn sentinel(parts: &Parts<'_>, tls: bool) -> Result<Address, AddressError> {
    let (login, servers) = login_and_servers(parts)?;
    let sentinels = nodes(servers, SENTINEL_PORT)?;
    let path = parts.path.strip_prefix('/').unwrap_or(parts.path);
    let (name, number) = cut_at(path, '/');
    let name = decoded_word(name)?.ok_or(AddressError::SentinelName)?;
    let database = database(number.unwrap_or_default())?;
    let (user, password) = user_and_password(login)?;
    Ok(Address { place: Place::Sentinel { sentinels, name, tls }, user, password, database })
}

/// An address of some nodes of a cluster.
pub(super) fn cluster(parts: &Parts<'_>, tls: bool) -> Result<Address, AddressError> {
    let (login, servers) = login_and_servers(parts)?;
    let seeds = nodes(servers, PORT)?;
    if database(parts.path)? != 0 {
        return Err(AddressError::ClusterDatabase);
    }
    let (user, password) = user_and_password(login)?;
    Ok(Address { place: Place::Cluster { seeds, tls }, user, password, database: 0 })
}

/// What comes before the `@`, and the servers behind it.
fn login_and_servers<'a>(parts: &Parts<'a>) -> Result<(&'a str, &'a str), AddressError> {
    if parts.authority.is_empty() {
        return Err(AddressError::Host);
    }
    if parts.has_fragment || parts.query.is_some() {
        return Err(AddressError::Extra);
    }
    // A password may contain an `@`; a host may not.
    Ok(parts.authority.rsplit_once('@').unwrap_or(("", parts.authority)))
}

fn user_and_password(login: &str) -> Result<(Option<String>, Option<String>), AddressError> {
    let (user, password) = cut_at(login, ':');
    Ok((decoded_word(user)?, decoded_word(password.unwrap_or_default())?))
}

/// Hosts with their ports, separated by commas.
fn nodes(servers: &str, port: u16) -> Result<Vec<Node>, AddressError> {
    if servers.split(',').count() > HOSTS_MAX {
        return Err(AddressError::Hosts);
    }
    let node = |server| host_and_port(server, port).map(|(host, port)| Node { host, port });
    servers.split(',').map(node).collect()
}

fn host_and_port(server: &str, default: u16) -> Result<(String, u16), AddressError> {
    let (host, port) = if let Some(bracketed) = server.strip_prefix('[') {
        let (host, port) = bracketed.split_once(']').ok_or(AddressError::Unreadable)?;
        let host: Ipv6Addr = host.parse().map_err(|_| AddressError::Unreadable)?;
        let port = if port.is_empty() { Some("") } else { port.strip_prefix(':') };
        (host.to_string(), port.ok_or(AddressError::Unreadable)?)
    } else {
        let (host, port) = cut_at(server, ':');
        if host.is_empty() || !host.chars().all(is_of_host) {
            return Err(AddressError::Unreadable);
        }
        (host.to_owned(), port.unwrap_or_default())
    };
    let port = match port {
        "" => default,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| AddressError::Unreadable)?
        }
        _ => return Err(AddressError::Unreadable),
    };
    if ["0.0.0.0", "::"].contains(&&*host) {
        return Err(AddressError::Host);
    }
    if port == 0 { Err(AddressError::Port) } else { Ok((host, port)) }
}

/// Whether a sign may stand in a host's name.
const fn is_of_host(sign: char) -> bool {
    sign.is_ascii_graphic() && !matches!(sign, '<' | '>' | '[' | ']' | '\\' | '^' | '|' | '%' | ':')
}

/// The number after the host, or 0.
fn database(path: &str) -> Result<u32, AddressError> {
    let digits = path.strip_prefix('/').unwrap_or(path);
    if digits.is_empty() {
        return Ok(0);
    }
    // `parse` alone would take a sign.
    let is_number = digits.len() <= DATABASE_DIGITS_MAX && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number).ok_or(AddressError::Database)
}

/// An address with a path to a socket.
pub(super) fn unix(parts: &Parts<'_>) -> Result<Address, AddressError> {
    if parts.has_fragment {
        return Err(AddressError::Extra);
    }
    let [mut number, mut user, mut password] = [const { None }; 3];
    for pair in parts.query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let place = match name {
            "db" => &mut number,
            "user" => &mut user,
            "pass" => &mut password,
            _ => return Err(AddressError::Extra),
        };
        // In a query, as forms write it, a plus sign is a space.
        if place.replace(value.replace('+', " ")).is_some() {
            return Err(AddressError::Extra);
        }
    }
    if !["", "localhost"].contains(&parts.authority) || !parts.path.starts_with('/') || parts.path == "/" {
        return Err(AddressError::Path);
    }
    let path = PathBuf::from(OsString::from_vec(decoded(parts.path)));
    let database = match number.map(|number| number.parse::<i64>()) {
        None => 0,
        Some(Err(_)) => return Err(AddressError::Path),
        Some(Ok(number)) => u32::try_from(number).map_err(|_| AddressError::Database)?,
    };
    let (user, password) =
        (decoded_word(&user.unwrap_or_default())?, decoded_word(&password.unwrap_or_default())?);
    Ok(Address { place: Place::Unix(path), user, password, database })
}

/// A user or a password without its percent-encoding. `None` if it is empty.
fn decoded_word(word: &str) -> Result<Option<String>, AddressError> {
    let word = String::from_utf8(decoded(word)).map_err(|_| AddressError::NotUtf8)?;
    Ok(Some(word).filter(|word| !word.is_empty()))
}

/// The bytes, with `%` and two digits replaced by the byte that they stand for. A `%` without two digits is itself.
fn decoded(text: &str) -> Vec<u8> {
    let mut rest = text.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&first, after)) = rest.split_first() {
        let digit = |place: usize| char::from(*after.get(place)?).to_digit(16)?.try_into().ok();
        let byte: Option<[u8; 2]> = (first == b'%').then(|| Some([digit(0)?, digit(1)?])).flatten();
        match byte {
            Some([high, low]) => {
                bytes.push(high << 4 | low);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}
