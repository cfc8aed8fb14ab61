//! A compiled policy: one immutable value, swapped whole. It is asked by `facts` and `hits`; it was made by `compile`.

use http::HeaderName;

use crate::compile::inherit::Operation;
use crate::compile::load::{self, ReadFile, RejectedPolicy};
use crate::compile::routes::Candidates;
use crate::compile::suffix::Suffix;
use crate::compile::variants::{Variant, Variants};
use crate::document::diagnostic::Findings;
use crate::document::sources::{Place, Sources};
use crate::ids::{LimitId, OperationId};
use crate::jwt::JwtRules;
use crate::model::{Cost, KeyPlace, LimitUse, PolicyLimit};
use crate::namespace;
use crate::parse::settings::Settings;
use crate::router::Router;
use crate::section::{self, ReadSection};
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
/// # Ok::<(), tollgate_policy::RejectedPolicy>(())
/// ```
pub struct Policy {
    pub(crate) sources: Sources,
    pub(crate) settings: Settings,
    /// The title of its first document that has one; empty if none has.
    pub(crate) title: String,
    pub(crate) limits: Vec<PolicyLimit>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) router: Router,
    pub(crate) picks: Vec<Candidates>,
    pub(crate) suffixes: Vec<Suffix>,
    /// The limits of the root: of what no operation names, if that is forwarded.
    pub(crate) root: Vec<LimitId>,
    pub(crate) root_uses: Vec<LimitUse>,
    pub(crate) root_api_key: Vec<KeyPlace>,
    /// Headers that tell routes apart: sent twice, they could be read in two ways.
    pub(crate) condition_headers: Vec<HeaderName>,
    pub(crate) header_filter: HeaderFilter,
    /// Whether some operation allows encoded slashes in its path.
    pub(crate) allows_slashes: bool,
    /// Whether anything says how important requests are.
    pub(crate) has_priorities: bool,
    pub(crate) variants: Variants,
    /// Every tag that sets limits or switches them off, and where.
    pub(crate) tag_limits: Vec<(String, Place)>,
    pub(crate) jwt: Option<JwtRules>,
    pub(crate) findings: Findings,
}

/// Its size: the documents are in it, which may be megabytes.
impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Policy");
        shown.field("title", &self.title).field("limits", &self.limits.len());
        shown.field("operations", &self.operations.len()).field("findings", &self.findings.all().len());
        shown.finish_non_exhaustive()
    }
}

impl Policy {
    /// Reads a document, and every file that it leads to, with the help of `read_file`.
    ///
    /// # Errors
    /// When something is wrong with them: all of it at once, each with its place.
    pub fn load(name: &str, read_file: ReadFile<'_>) -> Result<Self, RejectedPolicy> {
        load::load(name, read_file, &mut section::check_namespace)
    }

    /// Reads a document as [`load`](Self::load) does, and has somebody else read the section `serve` of a Tollgate file.
    ///
    /// # Errors
    /// As [`load`](Self::load), with what is wrong with the section.
    #[doc(hidden)]
    pub fn load_with_section(
        name: &str,
        read_file: ReadFile<'_>,
        read_section: ReadSection<'_>,
    ) -> Result<Self, RejectedPolicy> {
        load::load(name, read_file, read_section)
    }

    /// Reads a document that leads to no other.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(name: &str, text: &str) -> Result<Self, RejectedPolicy> {
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

    /// Every cost that a request may have under a limit, with the limit: its own, and others where it is used.
    pub fn costs(&self) -> impl Iterator<Item = (&PolicyLimit, &Cost)> {
        let own = self.limits.iter().map(|limit| (limit, &limit.cost));
        let uses = self.operations.iter().flat_map(|operation| &operation.uses).chain(&self.root_uses);
        own.chain(uses.filter_map(|one| Some((self.limits.get(one.limit.index())?, one.cost.as_ref()?))))
    }

    /// How the limits of what no operation names apply.
    #[must_use]
    pub fn default_uses(&self) -> &[LimitUse] {
        &self.root_uses
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
        self.settings.namespace.clone().unwrap_or_else(|| self.namespace_of_title())
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
    /// # Ok::<(), tollgate_policy::RejectedPolicy>(())
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
