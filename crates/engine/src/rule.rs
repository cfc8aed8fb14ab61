//! A limit written in Rust: name, numbers, key and cost.

use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use tollgate::{AsKey, FailureRule, Limiter, NamedLimit};
use tollgate_algorithms::{Limit, Mode};

use crate::descriptor::{LimitDescriptor, Visibility};
use crate::failure;
use crate::head::RequestHead;
use crate::key::{KeyKind, push};

/// A limit written in Rust.
///
/// ```
/// use tollgate::Limit;
/// use tollgate_engine::{KeyExtractor, Rule};
/// let rule = Rule::new("uploads", Limit::per_second(10).burst(20)?)
///     .keyed_by(KeyExtractor::header(http::HeaderName::from_static("x-api-key")))
///     .cost_of(|head| if head.method == "POST" { 5 } else { 1 })
///     .description("Uploads count five times.");
/// # Ok::<(), tollgate::LimitError>(())
/// ```
#[derive(Clone)]
pub struct Rule {
    pub(crate) name: String,
    pub(crate) limit: Limit,
    /// Computes other numbers for some requests.
    pub(crate) limit_fn: Option<Arc<LimitFn>>,
    pub(crate) key: KeyExtractor,
    pub(crate) cost: Cost,
    /// Whether the cost is an estimate that a handler or a response settles.
    pub(crate) is_estimate: bool,
    pub(crate) mode: Mode,
    pub(crate) visibility: Visibility,
    pub(crate) description: Option<String>,
    pub(crate) scope: Scope,
}

/// Where a rule is counted.
#[derive(Clone, Copy)]
pub(crate) enum Scope {
    /// In the limiter's store if it has one, and in this process while the store fails.
    Default,
    /// In this process.
    Local,
    /// In the limiter's store if it has one, and as this says while the store fails.
    #[cfg(feature = "redis")]
    Store(FailureRule),
}

/// Which key a rule charges.
#[derive(Clone)]
pub struct KeyExtractor(pub(crate) Extraction);

/// Identifies the client by the server's own code: appends its key, or returns `false` if there is none.
type KeyFn = dyn Fn(&RequestHead<'_>, &mut Vec<u8>) -> bool + Send + Sync;
/// The numbers for a request by the server's own code.
pub(crate) type LimitFn = dyn Fn(&RequestHead<'_>) -> Option<Limit> + Send + Sync;
/// The cost of a request by the server's own code.
type CostFn = dyn Fn(&RequestHead<'_>) -> u64 + Send + Sync;

#[derive(Clone)]
pub(crate) enum Extraction {
    Address,
    Header(HeaderName),
    Everyone,
    Fn(Arc<KeyFn>),
}

#[derive(Clone)]
pub(crate) enum Cost {
    Fixed(u64),
    Fn(Arc<CostFn>),
}

impl KeyExtractor {
    /// One quota for each client address. Only trusted proxies may state the address.
    ///
    /// An IPv6 client is a network of 64 bits, and all clients of a network of 48 bits together have 256 times the limit: see
    /// [`Rules::prefixes`](crate::Rules::prefixes).
    #[must_use]
    pub const fn address() -> Self {
        Self(Extraction::Address)
    }

    /// One quota for each value of a header, and without the header, for each address. A request that sends it twice is
    /// rejected.
    ///
    /// The value is what clients claim: whoever invents a new value gets a new quota. Put a rule by address next to it, or
    /// verify the value and use [`from_fn`](Self::from_fn). If the service answers 401, the charge moves from the value to the
    /// client's address, and an address that has exhausted the limit in this way is refused whatever value it sends.
    #[must_use]
    pub const fn header(name: HeaderName) -> Self {
        Self(Extraction::Header(name))
    }

    /// One quota for all clients together.
    #[must_use]
    pub const fn everyone() -> Self {
        Self(Extraction::Everyone)
    }

    /// One quota for each key that this function returns, such as the id of a user whom earlier middleware has verified. `None`
    /// or an empty key stands for the client's address.
    ///
    /// A key is any value with bytes: text, a number, a tuple (see [`AsKey`]).
    ///
    /// ```
    /// use tollgate_engine::KeyExtractor;
    ///
    /// // The header `x-org`, as text:
    /// KeyExtractor::from_fn(|head| Some(head.headers.get("x-org")?.to_str().ok()?.to_owned()));
    /// // What middleware verified, as a pair of numbers:
    /// KeyExtractor::from_fn(|head| head.extension::<(u32, u64)>().copied());
    /// ```
    #[must_use]
    pub fn from_fn<K: AsKey>(key: impl Fn(&RequestHead<'_>) -> Option<K> + Send + Sync + 'static) -> Self {
        Self(Extraction::Fn(Arc::new(move |head, bytes| {
            let Some(key) = key(head) else { return false };
            let key = key.key_bytes();
            let key = key.as_ref();
            if !key.is_empty() {
                push(bytes, KeyKind::Consumer, key);
            }
            !key.is_empty()
        })))
    }
}

impl Rule {
    /// A limit by client address, at a cost of 1. The name identifies the limit, and clients see it: printable ASCII.
    #[must_use]
    pub fn new(name: impl Into<String>, limit: Limit) -> Self {
        Self {
            name: name.into(),
            limit,
            limit_fn: None,
            key: KeyExtractor::address(),
            cost: Cost::Fixed(1),
            is_estimate: false,
            mode: Mode::Enforced,
            visibility: Visibility::Shown,
            description: None,
            scope: Scope::Default,
        }
    }

    /// Sets which key is charged.
    #[must_use]
    pub fn keyed_by(self, key: KeyExtractor) -> Self {
        Self { key, ..self }
    }

    /// Computes the numbers for each request: those of the tenant's plan, for example. `None` stands for the rule's own numbers.
    ///
    /// The key stays the same, so a tenant that changes plans keeps what it has used. The function must not wait. If the plans
    /// are in a database, read them through a cache: earlier, asynchronous middleware fetches the plan (from the cache, mostly)
    /// and inserts it into the request's extensions, and this function reads it there.
    ///
    /// ```
    /// use tollgate::Limit;
    /// use tollgate_engine::{KeyExtractor, Rule};
    /// #[derive(Clone)]
    /// struct Tenant { id: String, plan: Option<Limit> }
    /// let per_tenant = Rule::new("per tenant", Limit::per_second(10).burst(20)?)
    ///     .keyed_by(KeyExtractor::from_fn(|head| Some(head.extension::<Tenant>()?.id.clone().into_bytes())))
    ///     .limit_for(|head| head.extension::<Tenant>()?.plan);
    /// # Ok::<(), tollgate::LimitError>(())
    /// ```
    #[must_use]
    pub fn limit_for(
        self,
        limit: impl Fn(&RequestHead<'_>) -> Option<Limit> + Send + Sync + 'static,
    ) -> Self {
        Self { limit_fn: Some(Arc::new(limit)), ..self }
    }

    /// Sets the cost of every request. 0 charges nothing.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost: Cost::Fixed(cost), ..self }
    }

    /// Computes the cost of each request.
    #[must_use]
    pub fn cost_of(self, cost: impl Fn(&RequestHead<'_>) -> u64 + Send + Sync + 'static) -> Self {
        Self { cost: Cost::Fn(Arc::new(cost)), ..self }
    }

    /// Marks the cost as an estimate, which the handler replaces with the actual cost when it settles the admission. Costs that
    /// are no estimates stay as they were charged.
    #[must_use]
    pub fn estimated(self) -> Self {
        Self { is_estimate: true, ..self }
    }

    /// Counts only, and refuses nobody.
    #[must_use]
    pub fn shadow(self) -> Self {
        Self { mode: Mode::Shadow, ..self }
    }

    /// Hides its name and its numbers from clients.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { visibility: Visibility::Hidden, ..self }
    }

    /// Sets a text for clients that are refused, which follows the wait.
    #[must_use]
    pub fn description(self, text: impl Into<String>) -> Self {
        Self { description: Some(text.into()), ..self }
    }

    /// Counts in this process, even if the limiter has a store that is shared by several processes.
    #[must_use]
    pub fn local(self) -> Self {
        Self { scope: Scope::Local, ..self }
    }

    /// Sets what happens while a store shared by several processes fails. Default: this process counts alone, with the whole
    /// limit. Without a store it makes no difference.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn when_store_fails(self, fails: FailureRule) -> Self {
        Self { scope: Scope::Store(fails), ..self }
    }

    /// The limiter's limit for the rule, with its own numbers or others.
    pub(crate) fn limit_on(&self, limiter: &Limiter, numbers: Limit) -> NamedLimit {
        match self.scope {
            Scope::Default => limiter.limit(&self.name, numbers),
            Scope::Local => limiter.local_limit(&self.name, numbers),
            #[cfg(feature = "redis")]
            Scope::Store(fails) => limiter.shared_limit(&self.name, numbers, fails),
        }
    }

    /// Whether it may charge a client's address.
    pub(crate) const fn may_charge_address(&self) -> bool {
        match self.key.0 {
            Extraction::Address | Extraction::Header(_) | Extraction::Fn(_) => true,
            Extraction::Everyone => false,
        }
    }

    pub(crate) fn descriptor(&self) -> LimitDescriptor {
        let descriptor = LimitDescriptor::new(&self.name, self.limit).with_visibility(self.visibility);
        descriptor.with_description(self.description.as_deref())
    }

    /// What the rule does while nothing can decide its hits.
    pub(crate) const fn store_fails(&self) -> FailureRule {
        match self.scope {
            #[cfg(feature = "redis")]
            Scope::Store(fails) => fails,
            Scope::Default | Scope::Local => failure::DEFAULT,
        }
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule({:?}, {}, by {:?})", self.name, self.limit, self.key)
    }
}

impl fmt::Debug for KeyExtractor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Extraction::Address => f.write_str("address"),
            Extraction::Header(name) => write!(f, "header {name}"),
            Extraction::Everyone => f.write_str("everyone"),
            Extraction::Fn(_) => f.write_str("function"),
        }
    }
}
