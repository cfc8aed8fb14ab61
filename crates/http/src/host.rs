//! Canonical host names. The caller rejects requests with two `Host` headers.

mod pattern;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::target::Scheme;
pub use pattern::{HostPattern, PatternError};

/// The longest name, without a trailing dot (RFC 1035); a longer one is refused.
pub const NAME_MAX: usize = 253;

/// The longest label, the text between two dots; a longer one is refused.
pub const LABEL_MAX: usize = 63;

/// A host and its port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Host<'a> {
    /// Lower case, without a trailing dot; an IPv6 address in brackets and in its shortest form (RFC 5952).
    pub name: &'a str,
    /// As it was given; an empty one is none.
    pub port: Option<u16>,
}

impl Host<'_> {
    /// Without a port that goes without saying: 80 for http, 443 for https.
    #[must_use]
    pub fn without_default_port(self, scheme: Scheme) -> Self {
        Self { port: self.port.filter(|port| *port != scheme.default_port()), ..self }
    }
}

/// Reads what stands in a `Host` line or in an authority: `api.example.org`, `API.example.org.:8080`, `[::1]:80`.
///
/// Names are ASCII letters, digits, `-`, `_` and dots; others are to be sent in their A-label form (`xn--…`). A name
/// whose last label is a number is an IPv4 address, which must be written as four decimal numbers: some readers take
/// `127.1` or `0x7f000001` for one, too. The name is borrowed from `raw` if it is canonical already, and otherwise
/// stands in the buffer, whose former content is lost.
///
/// ```
/// use tollgate_http::host::canonical;
/// let mut buffer = Vec::new();
/// let host = canonical(b"API.Example.org.:8080", &mut buffer)?;
/// assert_eq!((host.name, host.port), ("api.example.org", Some(8080)));
/// # Ok::<(), tollgate_http::host::HostError>(())
/// ```
///
/// # Errors
///
/// If it is not a host; the error says why.
pub fn canonical<'a>(raw: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<Host<'a>, HostError> {
    let (name, port) = split_port(raw)?;
    let port = read_port(port)?;
    if let [b'[', literal @ ..] = name {
        return Ok(Host { name: ipv6(literal, buffer)?, port });
    }
    let name = match name {
        [name @ .., b'.'] => name,
        _ => name,
    };
    if (is_plain(name) || is_address(name))
        && let Ok(name) = str::from_utf8(name)
    {
        return Ok(Host { name, port });
    }
    check_name(name)?;
    let name = if name.iter().any(u8::is_ascii_uppercase) {
        buffer.clear();
        buffer.extend(name.iter().map(u8::to_ascii_lowercase));
        buffer.as_slice()
    } else {
        name
    };
    Ok(Host { name: str::from_utf8(name).map_err(|_| HostError::NotAscii)?, port })
}

/// The name, and what follows its colon. Brackets are left with the name, which may have colons of its own.
fn split_port(raw: &[u8]) -> Result<(&[u8], &[u8]), HostError> {
    let colon = match raw {
        [b'[', ..] => {
            let end = raw.iter().position(|byte| *byte == b']').ok_or(HostError::BadAddress)?;
            Some(end + 1).filter(|colon| *colon < raw.len())
        }
        _ => raw.iter().position(|byte| *byte == b':'),
    };
    let Some((name, rest)) = colon.and_then(|colon| raw.split_at_checked(colon)) else {
        return Ok((raw, &[]));
    };
    match rest {
        [b':', port @ ..] => Ok((name, port)),
        _ => Err(HostError::BadAddress),
    }
}

fn read_port(digits: &[u8]) -> Result<Option<u16>, HostError> {
    if digits.is_empty() {
        return Ok(None);
    }
    let plain = digits.len() <= 5 && digits.iter().all(u8::is_ascii_digit);
    let digits = if plain { digits } else { &[] };
    let value = digits.iter().fold(0_u32, |value, digit| value * 10 + u32::from(digit & 0x0f));
    let port = u16::try_from(value).ok().filter(|port| *port != 0);
    port.map(Some).ok_or(HostError::BadPort)
}

fn ipv6<'a>(literal: &[u8], buffer: &'a mut Vec<u8>) -> Result<&'a str, HostError> {
    let text = literal.strip_suffix(b"]").and_then(|text| str::from_utf8(text).ok());
    let address: Ipv6Addr = text.and_then(|text| text.parse().ok()).ok_or(HostError::BadAddress)?;
    buffer.clear();
    // Writing to memory does not fail.
    write!(buffer, "[{address}]").map_err(|_| HostError::BadAddress)?;
    str::from_utf8(buffer).map_err(|_| HostError::BadAddress)
}

fn check_name(name: &[u8]) -> Result<(), HostError> {
    if name.is_empty() {
        return Err(HostError::Empty);
    }
    if name.len() > NAME_MAX {
        return Err(HostError::TooLong(name.len()));
    }
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if let Some(bad) = name.iter().find(|byte| !is_fine(byte)) {
        return Err(if bad.is_ascii() { HostError::BadCharacter(*bad) } else { HostError::NotAscii });
    }
    let mut last: &[u8] = &[];
    for label in name.split(|byte| *byte == b'.') {
        match label.len() {
            0 => return Err(HostError::EmptyLabel),
            1..=LABEL_MAX => last = label,
            length => return Err(HostError::LabelTooLong(length)),
        }
    }
    if is_number(last) && str::from_utf8(name).ok().and_then(|name| name.parse::<Ipv4Addr>().ok()).is_none() {
        return Err(HostError::BadAddress);
    }
    Ok(())
}

/// Whether a name needs no second look: letters in lower case, digits and dots, in labels that are not too long, and the last
/// begins with a letter, so that nobody takes it for an address. Most hosts are so.
fn is_plain(name: &[u8]) -> bool {
    let (mut start, mut at) = (0, 0);
    for byte in name {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => {}
            b'.' if (1..=LABEL_MAX).contains(&(at - start)) => start = at + 1,
            _ => return false,
        }
        at += 1;
    }
    let last = name.get(start).is_some_and(u8::is_ascii_lowercase);
    last && at - start <= LABEL_MAX && name.len() <= NAME_MAX
}

/// Whether it is an IPv4 address as everybody writes it: four numbers up to 255, without zeros before them.
fn is_address(name: &[u8]) -> bool {
    if !name.first().is_some_and(u8::is_ascii_digit) || name.len() > "255.255.255.255".len() {
        return false;
    }
    let (mut numbers, mut digits, mut value) = (1, 0, 0_u32);
    for byte in name {
        match byte {
            b'0'..=b'9' if value <= 255 && (digits == 0 || value > 0) => {
                (digits, value) = (1, value * 10 + u32::from(byte & 0x0f))
            }
            b'.' if digits > 0 && value <= 255 => (numbers, digits, value) = (numbers + 1, 0, 0),
            _ => return false,
        }
    }
    numbers == 4 && digits > 0 && value <= 255
}

/// What some reader takes for a number: digits, or `0x` and hexadecimal digits.
fn is_number(label: &[u8]) -> bool {
    match label {
        [b'0', b'x' | b'X', digits @ ..] => digits.iter().all(u8::is_ascii_hexdigit),
        _ => label.iter().all(u8::is_ascii_digit),
    }
}

/// Why something is not a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HostError {
    /// Nothing, or only a dot.
    Empty,
    /// A name of so many bytes, more than [`NAME_MAX`].
    TooLong(usize),
    /// A label of so many bytes, more than [`LABEL_MAX`].
    LabelTooLong(usize),
    /// Two dots in a row, or one at the start.
    EmptyLabel,
    /// A letter that is not ASCII.
    NotAscii,
    /// A character that no name has.
    BadCharacter(u8),
    /// Not a number from 1 to 65535 after the colon.
    BadPort,
    /// An address that is not written as one.
    BadAddress,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the host is empty: send its name"),
            Self::TooLong(length) => {
                write!(f, "a host of {length} characters is too long: a name has at most {NAME_MAX}")
            }
            Self::LabelTooLong(length) => write!(
                f,
                "a label of {length} characters in the host is too long: at most {LABEL_MAX} stand between two dots"
            ),
            Self::EmptyLabel => {
                f.write_str("the host has an empty label: write a name such as api.example.org")
            }
            Self::NotAscii => {
                f.write_str("the host has a letter that is not ASCII: write it in its A-label form, xn--…")
            }
            Self::BadCharacter(byte) => write!(
                f,
                "the host has the character {:?}: a name has letters, digits, - _ and dots only",
                char::from(*byte)
            ),
            Self::BadPort => f.write_str("the host has an invalid port: write a number from 1 to 65535"),
            Self::BadAddress => f.write_str(
                "the host is not a valid address: write IPv4 as 192.0.2.1 and IPv6 as [2001:db8::1]",
            ),
        }
    }
}

impl std::error::Error for HostError {}
