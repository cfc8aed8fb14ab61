//! The keys of one request, one per rule: their bytes, and whether the client only claims them.

use std::ops::Range;

use smallvec::SmallVec;
use tollgate::NamedLimit;
use tollgate_http::address::Client;
use tollgate_http::found::Lookup;
use tollgate_http::header;

use crate::error::CheckError;
use crate::head::RequestHead;
use crate::key::{KeyKind, push, push_address};
use crate::rule::{Extraction, Rule};

/// The keys of a request, one for each rule.
pub(super) struct Keys<'a> {
    /// One key after the other.
    pub(super) bytes: &'a [u8],
    /// Where each ends.
    pub(super) ends: SmallVec<[usize; 4]>,
    /// Those that are a client's claim, one bit each.
    pub(super) claimed: u32,
    /// Those that are the client's address, one bit each.
    pub(super) by_address: u32,
    /// The key of the client's address, if it is known and some keys are claims.
    pub(super) address: Option<Range<usize>>,
    /// The key of the wide network around the address, if the address is charged, or may be instead of a claim.
    pub(super) wide: Option<Range<usize>>,
    /// The limits with numbers that rules computed for this request, by the place of the rule.
    pub(super) computed: SmallVec<[(usize, NamedLimit); 1]>,
}

impl<'a> Keys<'a> {
    /// Each key, in the order of the rules.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'a [u8]> {
        let (bytes, starts) = (self.bytes, std::iter::once(&0).chain(&self.ends));
        starts.zip(&self.ends).map(move |(start, end)| bytes.get(*start..*end).unwrap_or(&[]))
    }

    /// The limit of a rule for this request: with computed numbers, or its own.
    pub(super) fn limit<'b>(&'b self, place: usize, own: &'b NamedLimit) -> &'b NamedLimit {
        let computed = self.computed.iter().find(|(other, _)| *other == place);
        computed.map_or(own, |(_, limit)| limit)
    }

    /// The key of the client's address.
    pub(super) fn address(&self) -> Option<&'a [u8]> {
        self.bytes.get(self.address.clone()?)
    }

    /// The key of the wide network around it.
    pub(super) fn wide(&self) -> Option<&'a [u8]> {
        self.bytes.get(self.wide.clone()?)
    }
}

/// Whose key a rule charges.
pub(super) enum KeyOwner {
    /// What the client claims.
    Claimed,
    /// The client's address.
    Address,
    /// What the server itself knows.
    Known,
}

/// Appends the key of a rule. Returns whose it is.
pub(super) fn push_key(
    rule: &Rule,
    head: &RequestHead<'_>,
    client: &dyn Fn() -> Option<Client>,
    bytes: &mut Vec<u8>,
) -> Result<KeyOwner, CheckError> {
    match &rule.key.0 {
        Extraction::Everyone => {
            push(bytes, KeyKind::Everyone, b"");
            return Ok(KeyOwner::Known);
        }
        Extraction::Fn(key) => {
            if key(head, bytes) {
                return Ok(KeyOwner::Known);
            }
        }
        Extraction::Header(name) => match header::find(head.headers, name) {
            Lookup::One(value) => {
                push(bytes, KeyKind::Header(name.as_str()), value);
                return Ok(KeyOwner::Claimed);
            }
            Lookup::Missing | Lookup::Empty => {}
            Lookup::Repeated | Lookup::Malformed => {
                return Err(CheckError::BadRequest(format!(
                    "the header {name}, which identifies the client, was sent more than once or is too long: send it once"
                )));
            }
        },
        Extraction::Address => {}
    }
    push_address(bytes, &client().ok_or(CheckError::UnknownPeer)?);
    Ok(KeyOwner::Address)
}
