//! Builds the key that a limit charges: the first complete link of its `consumer_key` chain, as bytes.

use crate::key::{Kind, push};
use crate::matching::body::{self, BodyValue};
use crate::matching::identity::{KeyPart, RequestIdentity, SentApiKey, Token};
use crate::matching::request::BadRequest;
use crate::model::{Identity, MissingKeyRule, OrganisationFrom, PolicyLimit, RepeatedKeyRule};
use tollgate_http::found::Lookup;
use tollgate_http::{cookie, header, query};

/// Whose budget is charged, and how sure that is. Of parts that are joined, the last of these counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KeyTrust {
    /// Of everyone, or of all who cannot be told.
    Shared,
    /// Of an address, over trusted hops only.
    Address,
    /// Of somebody who was verified.
    Verified,
    /// Of the account that a request is about, as its body says: of a login, say. It is charged whatever the upstream answers.
    Account,
    /// Of somebody by their own word.
    Claimed,
}

/// The claim of a verified token that says whose it is.
const SUBJECT: &str = "sub";

/// What was written of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BuiltKey {
    /// Whose budget it is.
    pub(crate) whose: KeyTrust,
    /// Whether the client's address is a part of it.
    pub(crate) by_address: bool,
}

impl BuiltKey {
    /// The client's address alone.
    pub(crate) const ADDRESS: Self = Self { whose: KeyTrust::Address, by_address: true };
}

/// What one link of a chain gives.
enum Link {
    /// The parts were written.
    Key(KeyTrust),
    /// One is not there.
    Missing,
    /// One is there twice, or cannot be read.
    Unclear,
}

/// Writes the key: the first link of the chain that is there, or what the limit says of nobody.
pub(crate) fn write(
    limit: &PolicyLimit,
    asking: &mut RequestIdentity<'_>,
    keys: &mut Vec<u8>,
) -> Result<BuiltKey, BadRequest> {
    let start = keys.len();
    for link in &limit.key.chain {
        match together(link, asking, keys) {
            Link::Key(whose) => return Ok(BuiltKey { whose, by_address: link.contains(&Identity::Address) }),
            Link::Missing => keys.truncate(start),
            Link::Unclear => {
                keys.truncate(start);
                if limit.key.repeated == RepeatedKeyRule::Reject {
                    return Err(BadRequest::TwoIdentities { limit: limit.name.clone() });
                }
            }
        }
    }
    match limit.key.missing {
        MissingKeyRule::Reject if asking.has_invalid_token(&limit.key.chain) => {
            Err(BadRequest::InvalidToken { limit: limit.name.clone() })
        }
        MissingKeyRule::Reject => Err(BadRequest::NoIdentity { limit: limit.name.clone() }),
        MissingKeyRule::Anonymous => {
            push(keys, Kind::Anonymous, b"");
            Ok(BuiltKey { whose: KeyTrust::Shared, by_address: false })
        }
        MissingKeyRule::Address => {
            push(keys, Kind::Address, &asking.client().key_bytes());
            Ok(BuiltKey::ADDRESS)
        }
    }
}

/// Writes whose line a request waits in: the first link of `fair_by` that is there, or the client's address.
pub(crate) fn write_member(limit: &PolicyLimit, asking: &mut RequestIdentity<'_>, keys: &mut Vec<u8>) {
    let start = keys.len();
    for link in &limit.fair_by {
        match together(link, asking, keys) {
            Link::Key(_) => return,
            Link::Missing | Link::Unclear => keys.truncate(start),
        }
    }
    push(keys, Kind::Address, &asking.client().key_bytes());
}

/// One link: every part of it has to be there.
fn together(link: &[Identity], asking: &mut RequestIdentity<'_>, keys: &mut Vec<u8>) -> Link {
    let mut whose = KeyTrust::Shared;
    for identity in link {
        match part(identity, asking, keys) {
            Link::Key(more) => whose = whose.max(more),
            other @ (Link::Missing | Link::Unclear) => return other,
        }
    }
    Link::Key(whose)
}

fn part(identity: &Identity, asking: &mut RequestIdentity<'_>, keys: &mut Vec<u8>) -> Link {
    let (headers, query) = (asking.facts.headers, asking.facts.query.unwrap_or(""));
    match identity {
        Identity::Everyone => {
            push(keys, Kind::Everyone, b"");
            Link::Key(KeyTrust::Shared)
        }
        Identity::Address => {
            push(keys, Kind::Address, &asking.client().key_bytes());
            Link::Key(KeyTrust::Address)
        }
        Identity::ApiKey => api_key(asking, keys),
        Identity::Consumer => match asking.consumer() {
            Some(consumer) => verified(keys, Kind::Consumer, consumer.name.as_bytes()),
            None => missing_or_unclear(asking),
        },
        Identity::Organisation => organisation(asking, keys),
        Identity::Header(name) => claimed(header::find(headers, name), keys, Kind::Header(name.as_str())),
        Identity::Cookie(name) => claimed(cookie::find(headers, name), keys, Kind::Cookie(name)),
        Identity::Query(name) => {
            let found = query::find_as(asking.semicolons(), query, name, asking.room);
            claimed(found, keys, Kind::Query(name))
        }
        Identity::Body(pointer) => match body::find(pointer, asking.facts.body, headers) {
            BodyValue::Missing => Link::Missing,
            BodyValue::Unclear => Link::Unclear,
            BodyValue::One(value) => {
                push(keys, Kind::Body(pointer), value.as_bytes());
                Link::Key(KeyTrust::Account)
            }
        },
        Identity::Jwt(claim) => token(asking.claims(), Kind::JwtClaim(claim), KeyTrust::Verified, keys),
        Identity::JwtUnverified(claim) => {
            token(asking.unverified(), Kind::JwtClaimUnverified(claim), KeyTrust::Claimed, keys)
        }
    }
}

/// The organisation, by the first source that knows one. Whichever source that is, the key is the same.
fn organisation(asking: &mut RequestIdentity<'_>, keys: &mut Vec<u8>) -> Link {
    let by_consumer = |asking: &mut RequestIdentity<'_>, keys: &mut Vec<u8>| match asking
        .consumer()
        .and_then(|consumer| consumer.organisation)
    {
        Some(organisation) => verified(keys, Kind::Organisation, organisation.as_bytes()),
        None => missing_or_unclear(asking),
    };
    let sources = asking.organisation_sources();
    if sources.is_empty() {
        return by_consumer(asking, keys);
    }
    for (source, _) in sources {
        let link = match source {
            OrganisationFrom::Consumers => by_consumer(asking, keys),
            OrganisationFrom::Jwt(claim) => match claim_of(asking.claims(), claim) {
                Ok(organisation) => verified(keys, Kind::Organisation, organisation.as_bytes()),
                Err(link) => link,
            },
        };
        match link {
            Link::Missing => {}
            Link::Key(_) | Link::Unclear => return link,
        }
    }
    Link::Missing
}

/// Where consumers are known, an unknown key is no key, and all keys of a consumer are one. A token is its subject where tokens
/// are verified.
fn api_key(asking: &mut RequestIdentity<'_>, keys: &mut Vec<u8>) -> Link {
    match asking.api_key() {
        SentApiKey::Nothing => return Link::Missing,
        SentApiKey::Unclear => return Link::Unclear,
        SentApiKey::One => {}
    }
    if let Some(consumer) = asking.consumer() {
        return verified(keys, Kind::Consumer, consumer.name.as_bytes());
    }
    if asking.can_verify() && !asking.key_is_verifiable() {
        return Link::Missing;
    }
    let mut whose = KeyTrust::Shared;
    for place in 0.. {
        let part = match asking.key_part(place) {
            None => break,
            Some(KeyPart::Token(_)) if asking.verifies_tokens() => {
                token(asking.claims(), Kind::JwtClaim(SUBJECT), KeyTrust::Verified, keys)
            }
            Some(KeyPart::Key(value) | KeyPart::Token(value)) => {
                push(keys, Kind::ApiKey, value);
                Link::Key(KeyTrust::Claimed)
            }
        };
        match part {
            Link::Key(more) => whose = whose.max(more),
            other @ (Link::Missing | Link::Unclear) => return other,
        }
    }
    Link::Key(whose)
}

fn missing_or_unclear(asking: &mut RequestIdentity<'_>) -> Link {
    if asking.api_key() == SentApiKey::Unclear { Link::Unclear } else { Link::Missing }
}

fn verified(keys: &mut Vec<u8>, kind: Kind<'_>, value: &[u8]) -> Link {
    push(keys, kind, value);
    Link::Key(KeyTrust::Verified)
}

fn claimed(found: Lookup<'_>, keys: &mut Vec<u8>, kind: Kind<'_>) -> Link {
    match found {
        Lookup::Missing | Lookup::Empty => Link::Missing,
        Lookup::Repeated | Lookup::Malformed => Link::Unclear,
        Lookup::One(value) => {
            push(keys, kind, value);
            Link::Key(KeyTrust::Claimed)
        }
    }
}

fn token(token: &Token, kind: Kind<'_>, whose: KeyTrust, keys: &mut Vec<u8>) -> Link {
    let (Kind::JwtClaim(claim) | Kind::JwtClaimUnverified(claim)) = kind else { return Link::Missing };
    match claim_of(token, claim) {
        Err(link) => link,
        Ok(text) => {
            push(keys, kind, text.as_bytes());
            Link::Key(whose)
        }
    }
}

/// What a token says in a claim.
fn claim_of(token: &Token, claim: &str) -> Result<String, Link> {
    let claims = match token {
        Token::Nothing | Token::Invalid => return Err(Link::Missing),
        Token::Unclear => return Err(Link::Unclear),
        Token::Claims(claims) => claims,
    };
    let text = claims.get(claim).map(|value| value.text().into_owned());
    text.filter(|text| !text.is_empty()).ok_or(Link::Missing)
}
