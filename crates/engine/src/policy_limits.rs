//! The limits of a policy document, in force on a limiter: from a request's facts to hits, and from a verdict to an outcome.

mod by_name;
mod concurrency;
mod descriptor;
mod matching;
mod settling;
mod waiting;

pub use by_name::{CountedBy, LimitByName, NoSuchLimit};

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate::{AddressHit, FailureRule, HITS_MAX, Hit, LeakyQueue, Limiter, NamedLimit, Verdict};
use tollgate_algorithms::{Limit, Mode};
use tollgate_policy::model::{self, PolicyLimit};
use tollgate_policy::{Charge, ConsumerIndex, Facts, Hits, Policy, RequestMatch, Variant, VariantId};

pub use self::concurrency::InProgress;
use self::matching::{MatchResult, has_key_in_body};
use self::waiting::WaitResult;
use crate::acquired::PermitLimit;
use crate::admission::Admission;
use crate::allowed_methods::methods;
use crate::body_cost::{BodyKind, RequiredBody};
use crate::charge;
use crate::descriptor::LimitDescriptor;
use crate::enforcer::{Enforcer, SourceCharge};
use crate::error::CheckError;
use crate::failure;
use crate::head::RequestHead;
use crate::ids::DescriptorId;
use crate::outcome::Outcome;
use crate::scratch::Scratch;
use settling::may_settle;

/// The limits of a policy document, in force on a limiter. An [`Enforcer`] checks requests against them.
///
/// ```
/// use std::sync::Arc;
/// use tollgate::Limiter;
/// use tollgate_engine::{Enforcer, Outcome, PolicyLimits, RequestHead, Scratch};
/// use tollgate_policy::Policy;
///
/// let policy = Policy::parse("tollgate.yaml", "
/// tollgate: 1
/// rate_limit: { algorithm: token_bucket, capacity: 2, refill_rate: 0.1 }
/// routes: [{ path: '/reports/{id}' }]
/// ")?;
/// let enforcer = Arc::new(Enforcer::from(PolicyLimits::new(Limiter::new()?, Arc::new(policy), None)));
///
/// let (headers, mut scratch) = (http::HeaderMap::new(), Scratch::default());
/// let head = RequestHead::new("GET", "/reports/7", &headers).with_peer("203.0.113.9".parse()?);
/// let mut is_admitted = || matches!(enforcer.try_check(&head, &mut scratch), Ok(Outcome::Admitted(_)));
/// assert_eq!([is_admitted(), is_admitted(), is_admitted()], [true, true, false]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PolicyLimits {
    limiter: Limiter,
    policy: Arc<Policy>,
    directory: Option<Arc<ConsumerIndex>>,
    /// For each variant, the policy's first and then the directory's; `None` where nothing is charged.
    limits: Vec<Option<NamedLimit>>,
    /// The same for limits on what is in progress.
    concurrency: Vec<Option<PermitLimit>>,
    /// What all requests together may have in progress behind them.
    upstream: Option<PermitLimit>,
    /// The same for queues.
    queues: Vec<Option<LeakyQueue>>,
    namespace: String,
    non_refundable: bool,
    /// Whether a response may settle some limit's charges.
    settles: bool,
    /// Whether some limit counts the operations in a body, or looks for a key in it.
    reads_bodies: bool,
    /// Whether some limit counts GraphQL operations, which may be in the query string as well.
    counts_queries: bool,
    /// Every method that an operation names.
    methods: Vec<String>,
}

/// Inline capacity: most requests match at most four limits.
const FEW: usize = 4;

impl PolicyLimits {
    /// Puts a policy in force. Without a directory, the keys of a consumers file are what clients claim.
    ///
    /// In a shared store its limits are in the policy's [namespace](Policy::namespace).
    #[must_use]
    pub fn new(limiter: Limiter, policy: Arc<Policy>, directory: Option<Arc<ConsumerIndex>>) -> Self {
        let wanted: Vec<_> = policy.costs().filter_map(|(_, cost)| RequiredBody::of(cost)).collect();
        let settles = policy.costs().any(|(limit, cost)| may_settle(limit, cost));
        let limits = Self {
            limiter,
            namespace: policy.namespace(),
            limits: Vec::new(),
            concurrency: Vec::new(),
            upstream: None,
            queues: Vec::new(),
            non_refundable: false,
            settles,
            reads_bodies: !wanted.is_empty() || policy.limits().iter().any(has_key_in_body),
            counts_queries: wanted.iter().any(|wanted| wanted.kind == Some(BodyKind::GraphQl)),
            methods: methods(&policy),
            policy,
            directory,
        };
        limits.with_limits()
    }

    /// Moves its limits to another namespace of the shared store.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.into(), ..self }.with_limits()
    }

    /// States that only responses change charges afterwards: no handler refunds or settles them. Then hits that no response can
    /// change are [for good](Hit::non_refundable): hits of a known cost on keys that are more than a client's claim.
    #[must_use]
    pub fn non_refundable(self) -> Self {
        Self { non_refundable: true, ..self }
    }

    fn with_limits(mut self) -> Self {
        self.limits = self.variants().map(|variant| self.named(variant)).collect();
        self.concurrency = self.variants().map(|variant| self.concurrent(variant)).collect();
        self.queues = self.variants().map(|variant| self.queue(variant)).collect();
        self
    }

    /// The variants of the policy, and then those of the directory.
    fn variants(&self) -> impl Iterator<Item = &Variant> {
        let extra = self.directory.as_ref().map_or(&[][..], |directory| directory.variants());
        self.policy.variants().iter().chain(extra)
    }

    /// The namespace of its limits in the shared store.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The consumers, if they are known.
    #[must_use]
    pub fn directory(&self) -> Option<&ConsumerIndex> {
        self.directory.as_deref()
    }

    /// The limiter.
    #[must_use]
    pub const fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Whether a check may wait: some of its limits are counted in a shared store, or let requests wait for their turn.
    #[must_use]
    pub fn waits(&self) -> bool {
        let is_shared = self.limits.iter().flatten().any(NamedLimit::is_shared);
        let has_turns = self.policy.limits().iter().any(|limit| limit.wait.is_some());
        #[cfg(feature = "redis")]
        let is_shared = is_shared || self.concurrency.iter().flatten().any(PermitLimit::is_shared);
        is_shared || has_turns || self.queues.iter().any(Option::is_some)
    }

    /// The limiter's limit of a charge.
    #[must_use]
    pub fn limit(&self, charge: &Charge) -> Option<&NamedLimit> {
        self.limit_of(charge.variant)
    }

    fn limit_of(&self, variant: VariantId) -> Option<&NamedLimit> {
        self.limits.get(variant.index())?.as_ref()
    }

    /// What clients may see of each variant.
    pub(crate) fn descriptors(&self) -> Vec<Option<LimitDescriptor>> {
        let descriptor = |variant: &Variant| {
            let limit = self.policy.limits().get(variant.limit.index())?;
            let descriptor = match variant.numbers.concurrency() {
                Some(most) => concurrency::descriptor(limit, variant.budget, most),
                None => LimitDescriptor::of_variant(limit, variant.budget, variant.numbers.shown()?),
            };
            Some(descriptor)
        };
        let mut all: Vec<_> = self.variants().map(descriptor).collect();
        all.extend(self.upstream_descriptor().map(Some));
        all
    }

    pub(crate) async fn check(
        &self,
        enforcer: &Arc<Enforcer>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        let Scratch { target, request, hits, verdict, asked, waited, .. } = scratch;
        *waited = None;
        let facts = self.facts(head, (target, request))?;
        let matched = match self.match_request(head, &facts, hits)? {
            MatchResult::Matched(matched) => matched,
            MatchResult::NeedsBody(outcome) => return Ok(outcome),
        };
        let waiter = self.waiter(enforcer, hits, (facts.now, head.time_left));
        let turn = self.charge_in_turn(&waiter, (verdict, asked)).await;
        *waited = waiter.waited(self.limiter.clock_now());
        let (acquired, charged) = match turn? {
            WaitResult::Charged(acquired, charged) => (acquired, charged),
            WaitResult::Refused(statuses) => {
                return Ok(enforcer.busy(statuses, (self.limiter.now(), matched)));
            }
            WaitResult::Unknown(why) => return Ok(Enforcer::unknown(why, (self.limiter.now(), matched))),
        };
        // Not before: what clients see counts from the store's answer on.
        let facts = Facts { now: self.limiter.now(), ..facts };
        let outcome = self.outcome(enforcer, (head, &facts), (matched, charged), (hits, verdict.as_ref()));
        Ok(acquired.held_by(outcome, facts.now))
    }

    pub(crate) fn try_check(
        &self,
        enforcer: &Arc<Enforcer>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        let Scratch { target, request, hits, verdict, asked, waited, .. } = scratch;
        *waited = None;
        let facts = self.facts(head, (target, request))?;
        let matched = match self.match_request(head, &facts, hits)? {
            MatchResult::Matched(matched) => matched,
            MatchResult::NeedsBody(outcome) => return Ok(outcome),
        };
        let acquired = self.try_acquire((enforcer, hits), (facts.now, asked))?;
        if let Some(why) = acquired.unavailable {
            return Ok(Enforcer::unknown(why, (facts.now, matched)));
        }
        if acquired.is_refused {
            return Ok(enforcer.busy(acquired.statuses.into_iter().collect(), (facts.now, matched)));
        }
        // A few take less of the stack, and nobody pays for many.
        let charged = if hits.charges().len() <= FEW {
            self.try_charge::<FEW>(hits, verdict)?
        } else {
            self.try_charge::<HITS_MAX>(hits, verdict)?
        };
        let outcome = self.outcome(enforcer, (head, &facts), (matched, charged), (hits, verdict.as_ref()));
        Ok(acquired.held_by(outcome, facts.now))
    }

    fn try_charge<const N: usize>(
        &self,
        hits: &Hits,
        verdict: &mut Option<Verdict>,
    ) -> Result<charge::ChargeDetails, CheckError> {
        let charges = self.charges::<N>(hits);
        if charges.is_empty() {
            return Ok(charge::ChargeDetails::default());
        }
        Ok(self.hits_of(hits, &charges).try_charge(verdict)?)
    }

    /// The policy's hits as the limiter's.
    fn charges<'a, const N: usize>(&'a self, hits: &'a Hits) -> SmallVec<[Hit<'a>; N]> {
        let mut charges = SmallVec::new();
        // Pushed one by one: `collect` takes as long as a charge.
        for charge in hits.charges() {
            let Some(Some(limit)) = self.limits.get(charge.variant.index()) else { continue };
            let hit = limit.hit(hits.key(charge)).cost(charge.cost);
            let hit = if self.non_refundable && self.is_non_refundable(hits, charge) {
                hit.non_refundable()
            } else {
                hit
            };
            charges.push(if charge.mode == Mode::Shadow { hit.shadow() } else { hit });
        }
        charges
    }

    fn hits_of<'a>(&'a self, hits: &'a Hits, charges: &'a [Hit<'a>]) -> charge::Hits<'a> {
        charge::Hits {
            limiter: &self.limiter,
            hits: charges,
            addresses: self.debtors(hits),
            needs_receipt: !self.non_refundable
                || (self.settles && hits.charges().iter().any(|charge| self.may_settle(hits, charge))),
        }
    }

    /// The hits on the client's address for claimed identities, of limits where an address may owe something.
    fn debtors<'a>(&'a self, hits: &'a Hits) -> SmallVec<[charge::Address<'a>; 1]> {
        let mut debtors = SmallVec::new();
        let enforced = hits.charges().iter().enumerate().filter(|(_, charge)| charge.mode == Mode::Enforced);
        for (place, charge) in enforced {
            let denied = self.addresses_of(hits, charge).filter(|(_, limit, _)| limit.has_denied());
            debtors.extend(denied.map(|(variant, limit, key)| charge::Address {
                hit: AddressHit { place, hit: limit.hit(key).cost(charge.cost) },
                id: DescriptorId::new(variant.index()),
            }));
        }
        debtors
    }

    /// The outcome of a charge.
    #[inline]
    fn outcome(
        &self,
        enforcer: &Arc<Enforcer>,
        (head, facts): (&RequestHead<'_>, &Facts<'_>),
        (matched, charged): (RequestMatch, charge::ChargeDetails),
        (hits, verdict): (&Hits, Option<&Verdict>),
    ) -> Outcome {
        let keys = hits.charges().iter().enumerate().map(|(place, charge)| {
            (charged.descriptor(place, DescriptorId::new(charge.variant.index())), hits.key(charge))
        });
        let statuses = verdict.map(|verdict| enforcer.statuses(verdict, keys)).unwrap_or_default();
        let path = head.other_path(facts.path);
        let receipt = charged.receipt;
        let charged = SourceCharge { receipt, decided_at: facts.now, path, matched: Some(matched) };
        let enforced = hits.charges().iter().filter(|charge| charge.mode == Mode::Enforced);
        let limits = enforced.map(|charge| self.policy.limits().get(charge.limit.index()));
        let fails = limits.map(|limit| limit.map_or(failure::DEFAULT, store_fails));
        enforcer.outcome(verdict, (statuses, charged), fails, |admission| self.finish(admission, hits))
    }

    fn finish(&self, admission: &mut Admission, hits: &Hits) {
        if admission.receipt.get_mut().is_ok_and(|receipt| receipt.is_some()) {
            admission.pending = self.pending(hits);
        }
        if !self.non_refundable {
            admission.tier = hits.tier().map(Into::into);
        }
    }

    /// The limiter's limit for a variant.
    fn named(&self, variant: &Variant) -> Option<NamedLimit> {
        let numbers = variant.numbers.limit().filter(|limit| *limit != Limit::Unlimited)?;
        let limit = self.policy.limits().get(variant.limit.index())?;
        #[cfg(feature = "redis")]
        if limit.scope != model::Scope::Local {
            let (namespace, fails) = (&self.namespace, store_fails(limit));
            return Some(self.limiter.shared_limit_in(namespace, &limit.name, numbers, fails));
        }
        Some(self.limiter.local_limit(&limit.name, numbers))
    }
}

/// The failure rule of a limit, as the limiter takes it.
const fn store_fails(limit: &PolicyLimit) -> FailureRule {
    match limit.when_store_fails {
        model::FailureRule::Allow => FailureRule::Allow,
        model::FailureRule::Deny => FailureRule::Deny,
        model::FailureRule::Local { share, of } => FailureRule::Local { share, of },
    }
}

impl fmt::Debug for PolicyLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operations, limits) = (self.policy.operations().len(), self.policy.limits().len());
        write!(f, "PolicyLimits({operations} operations, {limits} limits)")
    }
}
