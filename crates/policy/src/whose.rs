//! Whose budget a limit charges: the first link of its chain that is there, as the bytes of a key. What it costs is not asked here.

use crate::asking::{Asking, Sent, Token};
use crate::found::Found;
use crate::key::{Kind, push};
use crate::model::{Identity, Missing, PolicyLimit, Repeated};
use crate::request::BadRequest;
use crate::{cookie, header, query};

/// How sure it is whose budget is charged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sureness {
    /// It was verified, or it is an address: nobody can be somebody else.
    Sure,
    /// It is what the client says of itself.
    Claimed,
}

/// What one link of a chain gives.
enum Link {
    /// The parts were written; how sure, and whether it is an identity.
    Key(Sureness, bool),
    Missing,
    Unclear,
}

/// Writes the key: the first link of the chain that is there, or what the limit says of nobody. How sure it is, and whether
/// it is an identity.
pub(crate) fn write(
    limit: &PolicyLimit,
    asking: &mut Asking<'_>,
    keys: &mut Vec<u8>,
) -> Result<(Sureness, bool), BadRequest> {
    let start = keys.len();
    for link in &limit.key.chain {
        match together(link, asking, keys) {
            Link::Key(sureness, identified) => return Ok((sureness, identified)),
            Link::Missing => keys.truncate(start),
            Link::Unclear => {
                keys.truncate(start);
                if limit.key.repeated == Repeated::Reject {
                    return Err(BadRequest::TwoIdentities { limit: limit.name.clone() });
                }
            }
        }
    }
    match limit.key.missing {
        Missing::Reject => Err(BadRequest::NoIdentity { limit: limit.name.clone() }),
        Missing::Anonymous => {
            push(keys, Kind::Anonymous, b"");
            // One budget for all of them: it is no address, and nobody can be somebody else by it.
            Ok((Sureness::Sure, true))
        }
        Missing::Address => {
            push(keys, Kind::Address, &asking.client().key_bytes());
            Ok((Sureness::Sure, false))
        }
    }
}

/// One link: every part of it has to be there.
fn together(link: &[Identity], asking: &mut Asking<'_>, keys: &mut Vec<u8>) -> Link {
    let (mut sureness, mut identified) = (Sureness::Sure, false);
    for identity in link {
        match part(identity, asking, keys) {
            Link::Key(more, is_identity) => {
                sureness = sureness.max(more);
                identified |= is_identity;
            }
            other @ (Link::Missing | Link::Unclear) => return other,
        }
    }
    Link::Key(sureness, identified)
}

fn part(identity: &Identity, asking: &mut Asking<'_>, keys: &mut Vec<u8>) -> Link {
    let (headers, query) = (asking.facts.headers, asking.facts.query.unwrap_or(""));
    match identity {
        Identity::Everyone => {
            push(keys, Kind::Everyone, b"");
            Link::Key(Sureness::Sure, true)
        }
        Identity::Address => {
            push(keys, Kind::Address, &asking.client().key_bytes());
            Link::Key(Sureness::Sure, false)
        }
        Identity::ApiKey => api_key(asking, keys),
        Identity::Consumer => match asking.consumer() {
            Some(consumer) => verified(keys, Kind::Consumer, consumer.name.as_bytes()),
            None => missing_or_unclear(asking),
        },
        Identity::Organisation => match asking.consumer().and_then(|consumer| consumer.organisation) {
            Some(organisation) => verified(keys, Kind::Organisation, organisation.as_bytes()),
            None => missing_or_unclear(asking),
        },
        Identity::Header(name) => claimed(header::find(headers, name), keys, Kind::Header(name.as_str())),
        Identity::Cookie(name) => claimed(cookie::find(headers, name), keys, Kind::Cookie(name)),
        Identity::Query(name) => claimed(query::find(query, name, &mut asking.room), keys, Kind::Query(name)),
        Identity::Jwt(claim) => token(asking.claims(), claim, Sureness::Sure, keys),
        Identity::JwtUnverified(claim) => token(asking.unverified(), claim, Sureness::Claimed, keys),
    }
}

/// Where consumers are known, an unknown key is no key, and all keys of a consumer are one.
fn api_key(asking: &mut Asking<'_>, keys: &mut Vec<u8>) -> Link {
    match asking.api_key() {
        Sent::Nothing => return Link::Missing,
        Sent::Unclear => return Link::Unclear,
        Sent::One => {}
    }
    if !asking.can_verify() {
        push(keys, Kind::ApiKey, asking.key_bytes);
        return Link::Key(Sureness::Claimed, true);
    }
    match asking.consumer() {
        Some(consumer) => verified(keys, Kind::Consumer, consumer.name.as_bytes()),
        None => Link::Missing,
    }
}

fn missing_or_unclear(asking: &mut Asking<'_>) -> Link {
    if asking.api_key() == &Sent::Unclear { Link::Unclear } else { Link::Missing }
}

fn verified(keys: &mut Vec<u8>, kind: Kind<'_>, value: &[u8]) -> Link {
    push(keys, kind, value);
    Link::Key(Sureness::Sure, true)
}

fn claimed(found: Found<'_>, keys: &mut Vec<u8>, kind: Kind<'_>) -> Link {
    match found {
        Found::Missing | Found::Empty => Link::Missing,
        Found::Repeated | Found::Malformed => Link::Unclear,
        Found::One(value) => {
            push(keys, kind, value);
            Link::Key(Sureness::Claimed, true)
        }
    }
}

fn token(token: &Token, claim: &str, sureness: Sureness, keys: &mut Vec<u8>) -> Link {
    match token {
        Token::Nothing => Link::Missing,
        Token::Unclear => Link::Unclear,
        Token::Claims(claims) => match claims.get(claim) {
            Some(value) if !value.text().is_empty() => {
                let kind = match sureness {
                    Sureness::Sure => Kind::JwtClaim(claim),
                    Sureness::Claimed => Kind::JwtClaimUnverified(claim),
                };
                push(keys, kind, value.text().as_bytes());
                Link::Key(sureness, true)
            }
            _ => Link::Missing,
        },
    }
}
