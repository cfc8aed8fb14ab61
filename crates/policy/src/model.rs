//! A policy as people think of it: limits, who is asking, what it costs, and which operations meet them. Not yet compiled.

mod condition;
mod cost;
mod identity;
mod limit_use;
mod priorities;

use std::fmt;

use http::HeaderName;
use tollgate_algorithms::{Micros, Mode};

use crate::document::sources::Place;
use crate::numbers::{Algorithm, Numbers, RawNumbers};

pub use condition::Condition;
pub use cost::{BodyKind, Cost, CostFrom};
pub use identity::{ConsumerKey, Identity, MissingKeyRule, RepeatedKeyRule, shown_chain};
pub use limit_use::{Level, LimitUse};
pub use priorities::{Priorities, Priority, priority_name, priority_named};

/// What happens when the store cannot answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureRule {
    /// `allow`
    Allow,
    /// `deny`
    Deny,
    /// `local`, or `local 1/4`: in this process, with a share of the limit.
    Local {
        /// The share's numerator.
        share: u32,
        /// Its denominator.
        of: u32,
    },
}

/// Where a limit is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// `local`: by each process for itself.
    Local,
    /// `exact`: by the shared store, every decision.
    Exact,
    /// `leased`: in blocks that the shared store hands out.
    Leased,
    /// `synced`: by each region, synchronised in the background.
    Synced,
}

/// What a limit of 0 answers. No request is granted, however long a client waits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ZeroStatus {
    /// `403`: this client may not do this.
    #[default]
    Forbidden,
    /// `429`, without `Retry-After`.
    TooManyRequests,
}

/// Whether operations that share a limit share its budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountScope {
    /// `together`: one budget for all of them.
    Together,
    /// `per_operation`: a budget for each.
    PerOperation,
}

/// Where a limit is written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LimitLocation {
    /// At the root: the default.
    Root,
    /// On a tag.
    Tag(String),
    /// On a path.
    Path(String),
    /// On an operation or a route.
    Operation(String),
    /// Under `limits`, by its name: it applies wherever it is used.
    Named(String),
}

impl LimitLocation {
    /// What a limit is called that has no name of its own.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Root => "default".into(),
            Self::Tag(tag) => format!("tag {tag}"),
            Self::Path(path) => path.clone(),
            Self::Operation(operation) => operation.clone(),
            Self::Named(name) => name.clone(),
        }
    }
}

/// A tier's own numbers under a limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TierNumbers {
    /// The tier.
    pub tier: String,
    /// Its numbers as written; `None` for `none`.
    pub written: Option<RawNumbers>,
    /// Its numbers.
    pub numbers: Numbers,
    /// Where they are written.
    pub place: Place,
    /// Where its name is written.
    pub name_at: Place,
}

/// What a concurrency limit answers when as many requests as it allows are in progress.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BusyStatus {
    /// `429`: this client has too many.
    #[default]
    TooManyRequests,
    /// `503`: the service has too many.
    ServiceUnavailable,
}

/// One limit of a policy: what, for whom, at what cost, and who may change it.
///
/// Its identity is its name and, without one, its place: never its numbers. So a number can change while keys keep what
/// they have used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyLimit {
    /// Its name: given, or made of the place. Printable ASCII.
    pub name: String,
    /// Whether the name was given.
    pub named: bool,
    /// Where it is written: its text.
    pub place: Place,
    /// Every `$ref` that leads to it.
    pub references: Vec<Place>,
    /// Where it is written: in the document's own terms.
    pub at: LimitLocation,
    /// How it counts.
    pub algorithm: Algorithm,
    /// Its numbers as written.
    pub written: RawNumbers,
    /// Its numbers.
    pub numbers: Numbers,
    /// The numbers of tiers that have others.
    pub tiers: Vec<TierNumbers>,
    /// Whose budget.
    pub key: ConsumerKey,
    /// Of a multiple of the limit per address, where a key is not verified.
    pub address_ceiling: Option<u64>,
    /// At what cost.
    pub cost: Cost,
    /// Enforced, or only counted.
    pub mode: Mode,
    /// When the store cannot answer.
    pub when_store_fails: FailureRule,
    /// Where it is counted.
    pub scope: Scope,
    /// One budget or several.
    pub counted: CountScope,
    /// What is answered where a number of this limit is 0.
    pub zero_status: ZeroStatus,
    /// What is answered when as many requests as it allows are in progress. Only concurrency limits have one.
    pub busy_status: BusyStatus,
    /// How long a request waits for its turn before it is refused; `None` if it is refused at once.
    pub wait: Option<Micros>,
    /// Whose requests wait in a line of their own, as a chain like that of a key. The lines of one key take turns. Empty if all requests of
    /// a key wait in one line.
    pub fair_by: Vec<Vec<Identity>>,
    /// Whether no gap of a queue may ever be shorter than its interval.
    pub strict: bool,
    /// For the client, in the problem body.
    pub description: Option<String>,
    /// Whether clients are shown its numbers.
    pub visible: bool,
    /// Whose it is.
    pub owner: Option<String>,
    /// Who has to approve a change, besides the owner.
    pub reviewers: Vec<String>,
    /// Where it says that the documents that its file names must not loosen it.
    pub required: Option<Place>,
}

impl PolicyLimit {
    /// Every identity that is looked for in a request: for the key, and for whose line it waits in.
    pub fn identities(&self) -> impl Iterator<Item = &Identity> {
        self.key.chain.iter().chain(&self.fair_by).flatten()
    }

    /// The numbers for a tier.
    #[must_use]
    pub fn for_tier(&self, tier: Option<&str>) -> &Numbers {
        let own = self.tiers.iter().find(|numbers| Some(numbers.tier.as_str()) == tier);
        own.map_or(&self.numbers, |own| &own.numbers)
    }
}

/// Where an API key may stand in a request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum KeyPlace {
    /// In this header. In `Authorization`, what follows the scheme, as for [`Bearer`](Self::Bearer) and [`Basic`](Self::Basic).
    Header(HeaderName),
    /// In this query parameter.
    Query(String),
    /// In this cookie.
    Cookie(String),
    /// `bearer`: the bearer token. Where tokens are verified, the key is its subject.
    Bearer,
    /// `basic`: the user name of `Authorization: Basic …`.
    Basic,
    /// In all of these together: schemes that a document asks for at once.
    Together(Vec<Self>),
}

/// As it is written: `header:X-API-Key`.
impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Query(name) => write!(f, "query:{name}"),
            Self::Cookie(name) => write!(f, "cookie:{name}"),
            Self::Bearer => f.write_str("bearer"),
            Self::Basic => f.write_str("basic"),
            Self::Together(places) => {
                let places: Vec<_> = places.iter().map(ToString::to_string).collect();
                f.write_str(&places.join(" + "))
            }
        }
    }
}

/// How a token is found and verified: the settings, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JwtSettings {
    /// The file with the keys, a JWK set.
    pub jwks: String,
    /// Where that is written.
    pub jwks_at: Place,
    /// Who must have issued the token.
    pub issuer: Option<String>,
    /// For whom it must be.
    pub audience: Option<String>,
    /// How far clocks may be apart.
    pub leeway: Micros,
    /// The header that it stands in, `Authorization` if nothing else is said.
    pub header: HeaderName,
}

/// From where a consumer's tier is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TierFrom {
    /// From the consumers file.
    Consumers,
    /// From a claim of a verified token.
    Jwt(String),
    /// From a header that only a trusted hop may set.
    Header(HeaderName),
}

/// From where a client's organisation is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OrganisationFrom {
    /// From the consumers file.
    Consumers,
    /// From a claim of a verified token.
    Jwt(String),
}

impl fmt::Display for TierFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Consumers => f.write_str("consumers"),
            Self::Jwt(claim) => write!(f, "jwt:{claim}"),
            Self::Header(name) => write!(f, "header:{name}"),
        }
    }
}

impl fmt::Display for OrganisationFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Consumers => f.write_str("consumers"),
            Self::Jwt(claim) => write!(f, "jwt:{claim}"),
        }
    }
}

/// Which scripts in browsers may read an answer that is not the upstream's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cors {
    /// Of which origins.
    pub origins: Origins,
    /// Whether they may send cookies and other credentials with their requests.
    pub credentials: bool,
}

/// Origins of scripts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origins {
    /// `*`: every origin.
    Any,
    /// These, each as a browser sends it: `https://app.example.org`.
    These(Vec<String>),
}

/// Which headers of a request a gateway passes on, by the characters in their names.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum HeaderNames {
    /// `plain`: those of letters, digits and hyphens; see [`is_plain`](tollgate_http::header::is_plain).
    #[default]
    Plain,
    /// `any`: every header.
    Any,
}

/// What happens to a request that no operation names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unmatched {
    /// `reject`: 404.
    Reject,
    /// `forward`: forwarded, and limited by the root's default.
    Forward,
}
