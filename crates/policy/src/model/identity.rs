//! Who is asking, as a policy says it: identities, chains of them, and what happens without one.

use std::fmt;

use http::HeaderName;

/// One way to tell who is asking.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Identity {
    /// `api_key`: where the document's security schemes say that it is, else `X-API-Key`.
    ApiKey,
    /// `ip`: the client's address, over trusted proxies only, by prefix.
    Address,
    /// `header:NAME`
    Header(HeaderName),
    /// `cookie:NAME`
    Cookie(String),
    /// `query:NAME`
    Query(String),
    /// `body:POINTER`: what a JSON pointer points at in the body, or a form field.
    Body(String),
    /// `jwt:CLAIM`, of a token that was verified.
    Jwt(String),
    /// `jwt_unverified:CLAIM`: anybody can write any claim.
    JwtUnverified(String),
    /// `consumer`: by the consumers file, whichever of its keys is used.
    Consumer,
    /// `organisation`: of the consumer, by the consumers file.
    Organisation,
    /// `everyone`: one budget for all.
    Everyone,
}

/// As it is written: `header:X-User`.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ApiKey => f.write_str("api_key"),
            Self::Address => f.write_str("ip"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::Body(pointer) => write!(f, "body:{pointer}"),
            Self::Jwt(claim) => write!(f, "jwt:{claim}"),
            Self::JwtUnverified(claim) => write!(f, "jwt_unverified:{claim}"),
            Self::Consumer => f.write_str("consumer"),
            Self::Organisation => f.write_str("organisation"),
            Self::Everyone => f.write_str("everyone"),
        }
    }
}

/// A chain as it is written: `api_key, else header:X-User + ip`.
#[must_use]
pub fn shown_chain(chain: &[Vec<Identity>]) -> String {
    let links = chain.iter().map(|link| {
        let parts: Vec<_> = link.iter().map(ToString::to_string).collect();
        parts.join(" + ")
    });
    links.collect::<Vec<_>>().join(", else ")
}

/// Whose budget is charged: the first of a chain that can be told. Each link is one or several identities together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsumerKey {
    /// The chain: the first link whose parts are all there is the key.
    pub chain: Vec<Vec<Identity>>,
    /// What happens when no link is there.
    pub missing: MissingKeyRule,
    /// What happens when a part is there twice.
    pub repeated: RepeatedKeyRule,
}

impl Default for ConsumerKey {
    fn default() -> Self {
        let chain = vec![vec![Identity::ApiKey], vec![Identity::Address]];
        Self { chain, missing: MissingKeyRule::Address, repeated: RepeatedKeyRule::Reject }
    }
}

/// What happens when no identity is found. Never "not limited".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingKeyRule {
    /// `address`: the client's address instead.
    Address,
    /// `reject`: the request is refused as wrong, and nothing is charged.
    Reject,
    /// `anonymous`: one shared quota for all clients without a key.
    Anonymous,
}

/// What happens when an identity is sent twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RepeatedKeyRule {
    /// `reject`: the request is refused as wrong, because the upstream may read the other one.
    Reject,
    /// `address`: as if none were sent: the address instead.
    Address,
}
