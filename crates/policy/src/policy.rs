//! A compiled policy: one immutable value, swapped whole. It is asked by `facts` and `hits`; it was made by `compile`.

use http::HeaderName;

use crate::compile::inherit::Operation;
use crate::compile::load::{self, ReadFile, Refused};
use crate::compile::routes::Picks;
use crate::compile::suffix::Suffix;
use crate::compile::variants::{Variant, Variants};
use crate::document::diagnostic::Findings;
use crate::document::sources::{Place, Sources};
use crate::ids::{LimitId, OperationId};
use crate::jwt::JwtRules;
use crate::model::{KeyPlace, PolicyLimit};
use crate::namespace;
use crate::parse::settings::Settings;
use crate::router::Router;
use crate::serve::Value;
use tollgate_http::header_filter::HeaderFilter;

/// Which requests meet which limits, by what key, at what cost.
///
/// It does not change. A new document makes a new policy, and limits of the same name keep their keys' state: the
/// identity of a limit is its name, never its numbers.
///
/// ```
/// use tollgate_policy::Policy;
/// let policy = Policy::parse("openapi.yaml", "
/// openapi: 3.1.0
/// info: { title: Reports, version: '1' }
/// paths:
///   /reports/generate:
///     post:
///       x-rate-limit: { algorithm: token_bucket, capacity: 5, refill_rate: 0.1 }
/// ")?;
/// assert_eq!(policy.limits()[0].numbers.to_string(), "5 at once, then 1 per 10 s");
///
/// let refused = Policy::parse("openapi.yaml", "openapi: 3.1.0\nx-rate-limit: { algorithm: tokenbucket }").unwrap_err();
/// assert!(refused.to_string().contains("openapi.yaml:2:28: error: `tokenbucket` is not a known value of `algorithm`"));
/// # Ok::<(), tollgate_policy::Refused>(())
/// ```
#[derive(Debug)]
pub struct Policy {
    pub(crate) sources: Sources,
    pub(crate) settings: Settings,
    /// The title of its first document that has one; empty if none has.
    pub(crate) title: String,
    pub(crate) limits: Vec<PolicyLimit>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) router: Router,
    pub(crate) picks: Vec<Picks>,
    pub(crate) suffixes: Vec<Suffix>,
    /// The limits of the root: of what no operation names, if that is forwarded.
    pub(crate) root: Vec<LimitId>,
    pub(crate) root_api_key: Vec<KeyPlace>,
    /// Headers that tell routes apart: sent twice, they could be read in two ways.
    pub(crate) condition_headers: Vec<HeaderName>,
    pub(crate) header_filter: HeaderFilter,
    pub(crate) variants: Variants,
    /// Every tag that sets limits or switches them off, and where.
    pub(crate) tag_limits: Vec<(String, Place)>,
    pub(crate) jwt: Option<JwtRules>,
    pub(crate) findings: Findings,
}

impl Policy {
    /// Reads a document, and every file that it leads to, with the help of `read_file`.
    ///
    /// # Errors
    /// When something is wrong with them: all of it at once, each with its place.
    pub fn load(name: &str, read_file: ReadFile<'_>) -> Result<Self, Refused> {
        load::load(name, read_file)
    }

    /// Reads a document that leads to no other.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(name: &str, text: &str) -> Result<Self, Refused> {
        load::parse(name, text)
    }

    /// Every limit.
    #[must_use]
    pub fn limits(&self) -> &[PolicyLimit] {
        &self.limits
    }

    /// Every operation.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The limits of what no operation names.
    #[must_use]
    pub fn default_limits(&self) -> &[LimitId] {
        &self.root
    }

    /// The limit with this id; `None` if the id comes from another policy.
    #[must_use]
    pub fn limit(&self, id: LimitId) -> Option<&PolicyLimit> {
        self.limits.get(id.index())
    }

    /// The operation with this id; `None` if the id comes from another policy.
    #[must_use]
    pub fn operation(&self, id: OperationId) -> Option<&Operation> {
        self.operations.get(id.index())
    }

    /// Every set of numbers that can be charged.
    #[must_use]
    pub fn variants(&self) -> &[Variant] {
        &self.variants.all
    }

    /// Everything that is not a limit.
    #[must_use]
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which headers of a request a gateway passes on, by their names.
    #[must_use]
    pub const fn header_filter(&self) -> &HeaderFilter {
        &self.header_filter
    }

    /// The namespace of its limits in a store that several services share: `store.namespace`, if the policy's own file sets it, else
    /// what is [derived from its title](Self::namespace_of_title).
    #[must_use]
    pub fn namespace(&self) -> String {
        let written = self.settings.serve.iter().find(|written| written.path == "store.namespace");
        match written.and_then(|written| written.value.as_ref()) {
            Some(Value::Text(namespace)) => namespace.clone(),
            _ => self.namespace_of_title(),
        }
    }

    /// The namespace that the title of the API makes: `orders-api` of `Orders API`. Of several documents the first with a title
    /// counts. Empty if none has one, as in a Tollgate file that names no OpenAPI document.
    ///
    /// ```
    /// # use tollgate_policy::Policy;
    /// let policy = Policy::parse("openapi.yaml", "
    /// openapi: 3.1.0
    /// info: { title: Orders API, version: '1' }
    /// ")?;
    /// assert_eq!(policy.namespace_of_title(), "orders-api");
    /// # Ok::<(), tollgate_policy::Refused>(())
    /// ```
    #[must_use]
    pub fn namespace_of_title(&self) -> String {
        namespace::of_title(&self.title)
    }

    /// The files that it was read from.
    #[must_use]
    pub const fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What was found while reading and is no error.
    #[must_use]
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The limit with this name.
    #[must_use]
    pub fn limit_named(&self, name: &str) -> Option<(LimitId, &PolicyLimit)> {
        LimitId::number(&self.limits).find(|(_, limit)| limit.name == name)
    }
}
