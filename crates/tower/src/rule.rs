//! A limit written in Rust: its name, its numbers, whose budget, at what cost. It is charged by `rules`.

use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use http::request::Parts;
use tollgate::{Limiter, NamedLimit};
use tollgate_algorithms::{Limit, Mode};

use crate::card::Visibility;

/// A limit written in Rust.
///
/// ```
/// use tollgate_tower::{By, Rule};
/// use tollgate::{Limit, Micros};
/// let rule = Rule::new("uploads", Limit::token_bucket(10, 1, Micros::SECOND)?)
///     .by(By::header(http::HeaderName::from_static("x-api-key")))
///     .cost_of(|parts| if parts.method == http::Method::POST { 5 } else { 1 })
///     .says("Uploads count five times.");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone)]
pub struct Rule {
    pub(crate) name: String,
    pub(crate) limit: Limit,
    pub(crate) by: By,
    pub(crate) cost: Cost,
    pub(crate) mode: Mode,
    pub(crate) visibility: Visibility,
    pub(crate) says: Option<String>,
    pub(crate) counted: Counted,
}

/// Where a rule is counted.
#[derive(Clone, Copy)]
pub(crate) enum Counted {
    /// In the limiter's store, if it has one, and in this process without its decision.
    Usually,
    /// In this process.
    Here,
    /// In the limiter's store, if it has one, and without its decision as this says.
    #[cfg(feature = "redis")]
    InStore(tollgate::StoreFails),
}

/// Whose budget a rule charges.
#[derive(Clone)]
pub struct By(pub(crate) Whom);

/// Who is asking, as the server's own code has it.
type KeyOf = dyn Fn(&Parts) -> Option<Vec<u8>> + Send + Sync;

#[derive(Clone)]
pub(crate) enum Whom {
    Address,
    Header(HeaderName),
    Everyone,
    Told(Arc<KeyOf>),
}

#[derive(Clone)]
pub(crate) enum Cost {
    Fixed(u64),
    Told(Arc<dyn Fn(&Parts) -> u64 + Send + Sync>),
}

impl By {
    /// One budget for each client address, over trusted proxies only.
    #[must_use]
    pub const fn address() -> Self {
        Self(Whom::Address)
    }

    /// One budget for each value of a header; without the header, for each address. Sent twice, the request is refused as
    /// wrong. It is what clients say of themselves: whoever invents a new value has a new budget, so put a rule by address
    /// beside it, or verify it and use [`key`](Self::key). If the service answers 401, the charge moves from the value to the
    /// client's address, and an address that has nothing left is refused whatever value it sends.
    #[must_use]
    pub const fn header(name: HeaderName) -> Self {
        Self(Whom::Header(name))
    }

    /// One budget for all.
    #[must_use]
    pub const fn everyone() -> Self {
        Self(Whom::Everyone)
    }

    /// One budget for each key that this gives: of somebody you have verified, say. `None`, or an empty one, is the address.
    #[must_use]
    pub fn key(key: impl Fn(&Parts) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self(Whom::Told(Arc::new(key)))
    }
}

impl Rule {
    /// A limit by address, at a cost of 1. Its name is what clients see, and its identity: printable ASCII.
    #[must_use]
    pub fn new(name: impl Into<String>, limit: Limit) -> Self {
        Self {
            name: name.into(),
            limit,
            by: By::address(),
            cost: Cost::Fixed(1),
            mode: Mode::Enforced,
            visibility: Visibility::Shown,
            says: None,
            counted: Counted::Usually,
        }
    }

    /// Whose budget.
    #[must_use]
    pub fn by(self, by: By) -> Self {
        Self { by, ..self }
    }

    /// What every request costs. 0 charges nothing.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Cost::Fixed(cost), ..self }
    }

    /// What a request costs. It may be a guess: a handler can [settle](crate::Admitted::settle) it.
    #[must_use]
    pub fn cost_of(self, cost: impl Fn(&Parts) -> u64 + Send + Sync + 'static) -> Self {
        Self { cost: Cost::Told(Arc::new(cost)), ..self }
    }

    /// Counts only, and refuses nobody.
    #[must_use]
    pub fn shadow(self) -> Self {
        Self { mode: Mode::Shadow, ..self }
    }

    /// Shows clients neither its name nor its numbers.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { visibility: Visibility::Hidden, ..self }
    }

    /// What those are told who are refused, after how long they have to wait.
    #[must_use]
    pub fn says(self, text: impl Into<String>) -> Self {
        Self { says: Some(text.into()), ..self }
    }

    /// Counts in this process, also if the limiter counts in a store that several processes share.
    #[must_use]
    pub fn local(self) -> Self {
        Self { counted: Counted::Here, ..self }
    }

    /// What it says while a store that several processes share gives no decision. Unless set, this process counts alone, with
    /// the whole limit. Without a store it makes no difference.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn when_store_fails(self, fails: tollgate::StoreFails) -> Self {
        Self { counted: Counted::InStore(fails), ..self }
    }
}

impl Rule {
    /// The limiter's limit for the rule.
    pub(crate) fn limit_on(&self, limiter: &Limiter) -> NamedLimit {
        match self.counted {
            Counted::Usually => limiter.limit(&self.name, self.limit),
            Counted::Here => limiter.local_limit(&self.name, self.limit),
            #[cfg(feature = "redis")]
            Counted::InStore(fails) => limiter.shared_limit(&self.name, self.limit, fails),
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({:?}, {}, by {:?})", self.name, self.limit, self.by)
    }
}

impl fmt::Debug for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Whom::Address => f.write_str("address"),
            Whom::Header(name) => write!(f, "header {name}"),
            Whom::Everyone => f.write_str("everyone"),
            Whom::Told(_) => f.write_str("key"),
        }
    }
}
