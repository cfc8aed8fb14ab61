//! Finds a request's credentials: API key, consumer, token claims and tier. Each is looked up once per request.

use std::ops::Range;

use http::header::AUTHORIZATION;
use smallvec::SmallVec;

use crate::consumer_index::ConsumerIndex;
use crate::consumers::Consumer;
use crate::document::sources::Place;
use crate::jwt::{Claims, read_unverified};
use crate::matching::request::Facts;
use crate::model::{Identity, KeyPlace, OrganisationFrom, TierFrom};
use crate::policy::Policy;
use tollgate_http::address::Client;
use tollgate_http::authorization::{self, Credentials, Scheme, Text};
use tollgate_http::found::Lookup;
use tollgate_http::query::Semicolons;
use tollgate_http::{cookie, header, query};

/// An API key, looked for wherever it may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SentApiKey {
    /// None, or an empty one.
    Nothing,
    /// One; its values are the [parts](RequestIdentity::key_parts).
    One,
    /// Several, or one that cannot be read.
    Unclear,
}

impl SentApiKey {
    const fn of(found: &Lookup<'_>) -> Self {
        match found {
            Lookup::Missing | Lookup::Empty => Self::Nothing,
            Lookup::Repeated | Lookup::Malformed => Self::Unclear,
            Lookup::One(_) => Self::One,
        }
    }
}

/// What a request says of who is asking. Each answer is found when it is first asked for.
#[derive(Debug)]
pub(crate) struct RequestIdentity<'a> {
    pub(crate) facts: &'a Facts<'a>,
    policy: &'a Policy,
    directory: Option<&'a ConsumerIndex>,
    places: &'a [KeyPlace],
    key: Option<SentApiKey>,
    /// The values of the API key.
    parts: SmallVec<[Part<'a>; 2]>,
    /// The bytes of those values that do not stand in the request as they are.
    key_bytes: &'a mut Vec<u8>,
    /// Room for values of the query.
    pub(crate) room: &'a mut Vec<u8>,
    consumer: Option<Option<Consumer<'a>>>,
    claims: Option<Token>,
    unverified: Option<Token>,
}

/// A value of an API key.
#[derive(Debug)]
enum Part<'a> {
    /// As it is.
    Plain(Text<'a>),
    /// A bearer token.
    Token(Text<'a>),
    /// A user name, and the same with the password, in the key's bytes.
    User(Range<usize>, Range<usize>),
}

/// What a value of an API key is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyPart<'a> {
    /// The key itself.
    Key(&'a [u8]),
    /// A bearer token, whose subject is the key where tokens are verified.
    Token(&'a [u8]),
}

/// A token's claims.
#[derive(Debug)]
pub(crate) enum Token {
    Nothing,
    /// It was sent, and is not valid.
    Invalid,
    Unclear,
    Claims(Claims),
}

impl<'a> RequestIdentity<'a> {
    pub(crate) fn new(
        facts: &'a Facts<'a>,
        policy: &'a Policy,
        directory: Option<&'a ConsumerIndex>,
        places: &'a [KeyPlace],
        (key_bytes, room): (&'a mut Vec<u8>, &'a mut Vec<u8>),
    ) -> Self {
        let (key, consumer, claims, unverified) = (None, None, None, None);
        let parts = SmallVec::new();
        Self { facts, policy, directory, places, key, key_bytes, parts, room, consumer, claims, unverified }
    }

    /// The client's address, as limits see it.
    pub(crate) fn client(&self) -> Client {
        Client::of(self.facts.origin.address, &self.policy.settings.prefixes)
    }

    /// What a `;` in the query means.
    pub(crate) const fn semicolons(&self) -> Semicolons {
        self.policy.settings.query_semicolons
    }

    /// The API key: of those that are sent, the one in the first of its places; but one that can be verified goes before one that
    /// anybody may have made up.
    pub(crate) fn api_key(&mut self) -> SentApiKey {
        match self.key {
            Some(sent) => sent,
            None => {
                let sent = self.look_for_key();
                self.key = Some(sent);
                sent
            }
        }
    }

    fn look_for_key(&mut self) -> SentApiKey {
        self.key_bytes.clear();
        let mut first = SentApiKey::Nothing;
        // Where the parts of the first key end.
        let mut end = 0;
        for place in self.places {
            let together = match place {
                KeyPlace::Together(places) => places.as_slice(),
                KeyPlace::Header(_)
                | KeyPlace::Query(_)
                | KeyPlace::Cookie(_)
                | KeyPlace::Bearer
                | KeyPlace::Basic => std::slice::from_ref(place),
            };
            let start = self.parts.len();
            match (self.look_in(together), first) {
                (SentApiKey::Nothing, _) => self.parts.truncate(start),
                // The same place twice, and before any other: the upstream may read either.
                (SentApiKey::Unclear, SentApiKey::Nothing) => return SentApiKey::Unclear,
                (SentApiKey::One, SentApiKey::Nothing) => {
                    (first, end) = (SentApiKey::One, self.parts.len());
                    if !self.can_verify() || self.is_known(start) {
                        return SentApiKey::One;
                    }
                }
                (SentApiKey::One, _) if self.is_known(start) => {
                    self.parts.drain(..start);
                    return SentApiKey::One;
                }
                (SentApiKey::One | SentApiKey::Unclear, _) => self.parts.truncate(start),
            }
        }
        self.parts.truncate(end);
        first
    }

    /// Whether the parts of the key from one on are a consumer's.
    fn is_known(&self, from: usize) -> bool {
        let known = |directory: &ConsumerIndex| {
            self.secrets_from(from).any(|key| directory.consumers().find(key).is_some())
        };
        self.directory.is_some_and(known)
    }

    /// Whether there is a value in every one of these places; they become the key's last parts.
    fn look_in(&mut self, places: &[KeyPlace]) -> SentApiKey {
        for place in places {
            let sent = match place {
                KeyPlace::Header(name) if *name == AUTHORIZATION => self.credentials(Scheme::Any),
                KeyPlace::Bearer => self.bearer(),
                KeyPlace::Basic => self.credentials(Scheme::Basic),
                KeyPlace::Header(name) => self.sent(header::find(self.facts.headers, name)),
                KeyPlace::Cookie(name) => self.sent(cookie::find(self.facts.headers, name)),
                KeyPlace::Query(name) => self.decoded(name),
                // Schemes that are asked for at once are not asked for at once again.
                KeyPlace::Together(_) => SentApiKey::Unclear,
            };
            match sent {
                SentApiKey::One => {}
                SentApiKey::Nothing | SentApiKey::Unclear => return sent,
            }
        }
        SentApiKey::One
    }

    /// Keeps a value that stands in the request as it is.
    #[inline]
    fn sent(&mut self, found: Lookup<'a>) -> SentApiKey {
        if let Lookup::One(value) = found {
            self.parts.push(Part::Plain(Text::Sent(value)));
        }
        SentApiKey::of(&found)
    }

    /// Keeps the bearer token, from where tokens are looked for.
    fn bearer(&mut self) -> SentApiKey {
        match &self.policy.settings.jwt {
            Some(jwt) if jwt.header != AUTHORIZATION => {
                let found = header::find(self.facts.headers, &jwt.header);
                if let Lookup::One(token) = found {
                    self.parts.push(Part::Token(Text::Sent(token)));
                }
                SentApiKey::of(&found)
            }
            _ => self.credentials(Scheme::Bearer),
        }
    }

    /// Keeps the credentials of the `Authorization` header.
    fn credentials(&mut self, scheme: Scheme) -> SentApiKey {
        let part = match authorization::find(self.facts.headers, scheme, self.key_bytes) {
            Err(found) => return SentApiKey::of(&found),
            Ok(Credentials::Bearer(token)) => Part::Token(token),
            Ok(Credentials::Basic { user, all }) => Part::User(user, all),
            Ok(Credentials::Other(key)) => Part::Plain(key),
        };
        self.parts.push(part);
        SentApiKey::One
    }

    /// Keeps a value of the query, which may have to be decoded.
    fn decoded(&mut self, name: &str) -> SentApiKey {
        let found = query::find_as(
            self.policy.settings.query_semicolons,
            self.facts.query.unwrap_or(""),
            name,
            self.room,
        );
        if let Lookup::One(value) = found {
            let start = self.key_bytes.len();
            self.key_bytes.extend_from_slice(value);
            self.parts.push(Part::Plain(Text::Written(start..self.key_bytes.len())));
        }
        SentApiKey::of(&found)
    }

    /// A value of the API key: of several that are asked for at once, the one at this place.
    pub(crate) fn key_part(&self, place: usize) -> Option<KeyPart<'_>> {
        Some(match self.parts.get(place)? {
            Part::Plain(text) => KeyPart::Key(text.bytes(self.key_bytes)),
            Part::Token(text) => KeyPart::Token(text.bytes(self.key_bytes)),
            Part::User(user, _) => KeyPart::Key(self.key_bytes.get(user.clone())?),
        })
    }

    /// What only the owner of a key knows: a user name is not enough.
    fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        self.secrets_from(0)
    }

    fn secrets_from(&self, from: usize) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().skip(from).filter_map(|part| match part {
            Part::Plain(text) | Part::Token(text) => Some(text.bytes(self.key_bytes)),
            Part::User(_, all) => self.key_bytes.get(all.clone()),
        })
    }

    /// Whether the whole API key is a token that can be verified.
    pub(crate) fn key_is_verifiable(&self) -> bool {
        self.verifies_tokens() && self.parts.iter().all(|part| matches!(part, Part::Token(_)))
    }

    /// Whether tokens are verified.
    pub(crate) const fn verifies_tokens(&self) -> bool {
        self.policy.jwt.is_some()
    }

    /// Whether a chain was to take its key from a token that was sent and is not valid.
    pub(crate) fn has_invalid_token(&self, chain: &[Vec<Identity>]) -> bool {
        let in_key = self.parts.iter().any(|part| matches!(part, Part::Token(_)));
        let by_token = |part: &Identity| match part {
            Identity::Jwt(_) => true,
            Identity::Organisation => {
                self.organisation_sources().iter().any(|(from, _)| matches!(from, OrganisationFrom::Jwt(_)))
            }
            Identity::ApiKey => in_key,
            Identity::Address
            | Identity::Header(_)
            | Identity::Cookie(_)
            | Identity::Query(_)
            | Identity::Body(_)
            | Identity::JwtUnverified(_)
            | Identity::Consumer
            | Identity::Everyone => false,
        };
        matches!(self.claims, Some(Token::Invalid)) && chain.iter().flatten().any(by_token)
    }

    /// Whether a consumers file can say whose a key is.
    pub(crate) const fn can_verify(&self) -> bool {
        self.directory.is_some()
    }

    /// The consumer whose key was sent.
    #[inline]
    pub(crate) fn consumer(&mut self) -> Option<Consumer<'a>> {
        self.directory.and_then(|directory| self.consumer_in(directory))
    }

    fn consumer_in(&mut self, directory: &'a ConsumerIndex) -> Option<Consumer<'a>> {
        if self.consumer.is_none() {
            let sent = self.api_key() == SentApiKey::One;
            let known = || self.secrets().find_map(|key| directory.consumers().find(key));
            self.consumer = Some(if sent { known() } else { None });
        }
        self.consumer.flatten()
    }

    /// The claims of a token that was verified.
    pub(crate) fn claims(&mut self) -> &Token {
        if self.claims.is_none() {
            self.claims = Some(match (self.token(), &self.policy.jwt) {
                (Lookup::One(token), Some(rules)) => {
                    rules.verify(token, self.facts.now).map_or(Token::Invalid, Token::Claims)
                }
                (Lookup::Repeated | Lookup::Malformed, _) => Token::Unclear,
                _ => Token::Nothing,
            });
        }
        self.claims.as_ref().unwrap_or(&Token::Nothing)
    }

    /// The claims of a token that anybody may have written.
    pub(crate) fn unverified(&mut self) -> &Token {
        if self.unverified.is_none() {
            self.unverified = Some(match self.token() {
                Lookup::One(token) => read_unverified(token).map_or(Token::Nothing, Token::Claims),
                Lookup::Repeated | Lookup::Malformed => Token::Unclear,
                Lookup::Missing | Lookup::Empty => Token::Nothing,
            });
        }
        self.unverified.as_ref().unwrap_or(&Token::Nothing)
    }

    fn token(&self) -> Lookup<'a> {
        match &self.policy.settings.jwt {
            Some(jwt) if jwt.header != AUTHORIZATION => header::find(self.facts.headers, &jwt.header),
            _ => header::bearer(self.facts.headers),
        }
    }

    /// The tier, written into `tier`.
    pub(crate) fn tier(&mut self, tier: &mut String) {
        tier.clear();
        let settings = &self.policy.settings;
        if let Some(given) = self.facts.tier {
            tier.push_str(given);
            return;
        }
        if settings.tier_from.is_empty() {
            self.tier_of(&TierFrom::Consumers, tier);
        }
        for source in &settings.tier_from {
            self.tier_of(source, tier);
            if !tier.is_empty() {
                return;
            }
        }
        if tier.is_empty()
            && let Some(default) = &settings.tier_default
        {
            tier.push_str(default);
        }
    }

    /// The tier that one source knows, written into `tier`.
    fn tier_of(&mut self, source: &TierFrom, tier: &mut String) {
        match source {
            TierFrom::Consumers => {
                if let Some(known) = self.consumer().and_then(|consumer| consumer.tier) {
                    tier.push_str(known);
                }
            }
            TierFrom::Jwt(claim) => {
                if let Token::Claims(claims) = self.claims()
                    && let Some(value) = claims.get(claim)
                {
                    tier.push_str(&value.text());
                }
            }
            TierFrom::Header(name) if self.facts.peer_trusted => {
                if let Lookup::One(value) = header::find(self.facts.headers, name) {
                    tier.push_str(&String::from_utf8_lossy(value));
                }
            }
            TierFrom::Header(_) => {}
        }
    }

    /// From where an organisation is known.
    pub(crate) fn organisation_sources(&self) -> &'a [(OrganisationFrom, Place)] {
        &self.policy.settings.organisation_from
    }
}
