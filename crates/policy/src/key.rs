//! Whose budget: a list of parts written as bytes so that no two lists look alike. It hashes nothing but long values,
//! and it does not decide which parts a limit is counted by.
//!
//! A part is
//!
//! ```text
//! tag        one byte: the kind; its highest bit says that the value was too long and stands as its SHA-256
//! name       only kinds that have one: its length as a varint, then its bytes
//! value      its length as a varint, then its bytes; or the 32 bytes of its SHA-256
//! ```
//!
//! A tag says how the rest is read, every length is written in one way only, and parts follow each other without
//! anything between them. So a key can be read back in one way only, and two lists with the same bytes are the same.
//!
//! ```
//! use tollgate_policy::key::{Kind, parts, push};
//! let mut key = Vec::new();
//! push(&mut key, Kind::Organisation, b"acme");
//! push(&mut key, Kind::Header("x-tenant"), b"blue");
//! let shown: Vec<String> = parts(&key).expect("it was written here").map(|part| part.to_string()).collect();
//! assert_eq!(shown, ["organisation acme", "header \"x-tenant\" #16477688"]);
//! ```

mod show;
#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

/// The longest value that stands in a key as it is. A longer one stands as its SHA-256, under a tag of its own: a key
/// of a megabyte costs 32 bytes, and is still told apart from a value that happens to be that hash.
pub const VALUE_BYTES_MAX: usize = 256;

/// Set in a tag when the value stands as its SHA-256.
const HASHED: u8 = 0x80;

/// What a part of a key is. Two parts of different kinds are never the same, whatever their values are: a user called
/// `127.0.0.1` is not that address.
///
/// Names stand as they are given. Who makes the key writes the name of a header in lower case.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind<'a> {
    /// A key that a client sent, in clear or not.
    ApiKey,
    /// The address of a client, as [`Client::key_bytes`](tollgate_http::address::Client::key_bytes) has it.
    Address,
    /// A wider network around that address, in the same form.
    AddressWide,
    /// The value of a header.
    Header(&'a str),
    /// The value of a cookie.
    Cookie(&'a str),
    /// The value of a parameter in the query.
    Query(&'a str),
    /// A value in the body, by its JSON pointer.
    Body(&'a str),
    /// A claim of a token whose signature was checked.
    JwtClaim(&'a str),
    /// A claim of a token that anyone may have written.
    JwtClaimUnverified(&'a str),
    /// A consumer, by name.
    Consumer,
    /// An organisation, by name.
    Organisation,
    /// An operation, by its template.
    Operation,
    /// A limit, by name.
    Limit,
    /// Whoever did not say who they are.
    Anonymous,
    /// All together.
    Everyone,
}

impl<'a> Kind<'a> {
    /// The tag and the name. Tags are on record in stores: a number is never given to another kind.
    const fn tag(self) -> (u8, Option<&'a str>) {
        match self {
            Self::ApiKey => (1, None),
            Self::Address => (2, None),
            Self::AddressWide => (3, None),
            Self::Header(name) => (4, Some(name)),
            Self::Cookie(name) => (5, Some(name)),
            Self::Query(name) => (6, Some(name)),
            Self::JwtClaim(name) => (7, Some(name)),
            Self::JwtClaimUnverified(name) => (8, Some(name)),
            Self::Consumer => (9, None),
            Self::Organisation => (10, None),
            Self::Operation => (11, None),
            Self::Limit => (12, None),
            Self::Anonymous => (13, None),
            Self::Everyone => (14, None),
            Self::Body(name) => (15, Some(name)),
        }
    }

    /// The kind with this tag, and what is left after its name.
    fn read(tag: u8, rest: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let nameless = match tag {
            1 => Self::ApiKey,
            2 => Self::Address,
            3 => Self::AddressWide,
            9 => Self::Consumer,
            10 => Self::Organisation,
            11 => Self::Operation,
            12 => Self::Limit,
            13 => Self::Anonymous,
            14 => Self::Everyone,
            _ => {
                let (name, rest) = read_bytes(rest)?;
                let name = str::from_utf8(name).ok()?;
                return Some((Self::named(tag, name)?, rest));
            }
        };
        Some((nameless, rest))
    }

    const fn named(tag: u8, name: &'a str) -> Option<Self> {
        Some(match tag {
            4 => Self::Header(name),
            5 => Self::Cookie(name),
            6 => Self::Query(name),
            7 => Self::JwtClaim(name),
            8 => Self::JwtClaimUnverified(name),
            15 => Self::Body(name),
            _ => return None,
        })
    }
}

/// The value of a part, as it stands in a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// The value itself, of at most [`VALUE_BYTES_MAX`] bytes.
    Clear(&'a [u8]),
    /// The SHA-256 of a longer value.
    Sha256(&'a [u8; 32]),
}

/// One part of a key. It is shown (also by `{:?}`) as its kind and its value: escaped and shortened, and, where the value
/// may be a secret, as `#` and the first eight digits of the value's SHA-256.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// What it is.
    pub kind: Kind<'a>,
    /// Its value.
    pub value: Value<'a>,
}

/// Adds one part to a key. The value is any bytes.
///
/// ```
/// # use tollgate_policy::key::{Kind, push};
/// let key = |parts: &[&str]| {
///     let mut key = Vec::new();
///     parts.iter().for_each(|part| push(&mut key, Kind::Consumer, part.as_bytes()));
///     key
/// };
/// assert_ne!(key(&["a:b", "c"]), key(&["a", "b:c"]));
/// ```
pub fn push(key: &mut Vec<u8>, kind: Kind<'_>, value: &[u8]) {
    let (tag, name) = kind.tag();
    let long = value.len() > VALUE_BYTES_MAX;
    key.push(if long { tag | HASHED } else { tag });
    if let Some(name) = name {
        push_bytes(key, name.as_bytes());
    }
    if long {
        key.extend_from_slice(&Sha256::digest(value));
    } else {
        push_bytes(key, value);
    }
}

/// The parts of a key, in order. `None` if these bytes are not what [`push`] writes.
#[must_use]
pub fn parts(key: &[u8]) -> Option<impl Iterator<Item = Part<'_>>> {
    let mut rest = key;
    while !rest.is_empty() {
        rest = read_part(rest)?.1;
    }
    Some(Parts { rest: key })
}

/// The parts that are left. They have all been read once before, so reading fails only at the end.
struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let (part, rest) = read_part(self.rest)?;
        self.rest = rest;
        Some(part)
    }
}

fn read_part(bytes: &[u8]) -> Option<(Part<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (kind, rest) = Kind::read(tag & !HASHED, rest)?;
    if tag & HASHED != 0 {
        let (hash, rest) = rest.split_first_chunk()?;
        return Some((Part { kind, value: Value::Sha256(hash) }, rest));
    }
    let (value, rest) = read_bytes(rest)?;
    // A longer value would stand as its hash, so these bytes were not written here.
    let short = value.len() <= VALUE_BYTES_MAX;
    short.then_some((Part { kind, value: Value::Clear(value) }, rest))
}

/// Seven bits to a byte, the lowest first; the highest bit says that more follow.
fn push_bytes(key: &mut Vec<u8>, bytes: &[u8]) {
    let mut length = bytes.len();
    while length > 0x7f {
        key.push(0x80 | low_bits(length));
        length >>= 7;
    }
    key.push(low_bits(length));
    key.extend_from_slice(bytes);
}

fn low_bits(length: usize) -> u8 {
    length.to_le_bytes()[0] & 0x7f
}

fn read_bytes(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length = 0usize;
    let mut rest = bytes;
    // Four bytes say 2^28, far more than any name or value here has, and fit a `usize` anywhere.
    for place in 0..4u32 {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            // A last byte of zero after others says nothing: the same length could be written in two ways.
            let canonical = byte != 0 || place == 0;
            return if canonical { rest.split_at_checked(length) } else { None };
        }
    }
    None
}
