//! The limits of a policy document, in force on a limiter: from a request's facts to hits, and from a verdict to an outcome.

use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use smallvec::SmallVec;
use tollgate::{AddressHit, HITS_MAX, Hit, Limiter, NamedLimit, Receipt, Verdict};
use tollgate_algorithms::{Limit, Mode};
use tollgate_policy::model::{self, Identity, PolicyLimit, StoreFails};
use tollgate_policy::{
    Budget, Charge, Directory, Facts, Hits, Matched, Policy, Request, RequestBody, Variant, VariantId, Whose,
};

use crate::admission::Admission;
use crate::allowed_methods::{allowed, methods};
use crate::charge;
use crate::descriptor::{LimitDescriptor, Visibility, ZeroStatus};
use crate::enforcer::{Charged, Enforcer};
use crate::error::CheckError;
use crate::failure::FailureRule;
use crate::head::{Body, RequestHead};
use crate::ids::DescriptorId;
use crate::operations::{BodyKind, BodyWanted, count_in_query};
use crate::outcome::Outcome;
use crate::scratch::Scratch;
use crate::settlement::{Claim, PendingSettlement, Reported, only};

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
    directory: Option<Arc<Directory>>,
    /// For each variant, the policy's first and then the directory's; `None` where nothing is charged.
    limits: Vec<Option<NamedLimit>>,
    namespace: String,
    for_good: bool,
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
    pub fn new(limiter: Limiter, policy: Arc<Policy>, directory: Option<Arc<Directory>>) -> Self {
        let wanted: Vec<_> = policy.costs().filter_map(|(_, cost)| BodyWanted::of(cost)).collect();
        let settles = policy.costs().any(|(limit, cost)| may_settle(limit, cost));
        let limits = Self {
            limiter,
            namespace: policy.namespace(),
            limits: Vec::new(),
            for_good: false,
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
    /// change are [for good](Hit::for_good): hits of a known cost on keys that are more than a client's claim.
    #[must_use]
    pub fn for_good(self) -> Self {
        Self { for_good: true, ..self }
    }

    fn with_limits(mut self) -> Self {
        self.limits = self.variants().map(|variant| self.named(variant)).collect();
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
    pub fn directory(&self) -> Option<&Directory> {
        self.directory.as_deref()
    }

    /// The limiter.
    #[must_use]
    pub const fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    /// Whether some of its limits are counted in a shared store.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.limits.iter().flatten().any(NamedLimit::is_shared)
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
            Some(LimitDescriptor::of_variant(limit, variant.budget, variant.numbers.limit()?))
        };
        self.variants().map(descriptor).collect()
    }

    pub(crate) async fn check(
        &self,
        enforcer: &Arc<Enforcer>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        let Scratch { target, request, hits, verdict, .. } = scratch;
        let facts = self.facts(head, (target, request))?;
        let matched = match self.match_request(head, &facts, hits)? {
            Matching::Matched(matched) => matched,
            Matching::NeedsBody(outcome) => return Ok(outcome),
        };
        let charges = self.charges::<FEW>(hits);
        let receipt = match charges.as_slice() {
            [] => None,
            charges => self.hits_of(hits, charges).charge(verdict).await?,
        };
        drop(charges);
        // Not before: what clients see counts from the store's answer on.
        let facts = Facts { now: self.limiter.now(), ..facts };
        Ok(self.outcome(enforcer, (head, &facts), (matched, receipt), (hits, verdict.as_ref())))
    }

    pub(crate) fn try_check(
        &self,
        enforcer: &Arc<Enforcer>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        let Scratch { target, request, hits, verdict, .. } = scratch;
        let facts = self.facts(head, (target, request))?;
        let matched = match self.match_request(head, &facts, hits)? {
            Matching::Matched(matched) => matched,
            Matching::NeedsBody(outcome) => return Ok(outcome),
        };
        // A few take less of the stack, and nobody pays for many.
        let receipt = if hits.charges().len() <= FEW {
            self.try_charge::<FEW>(hits, verdict)?
        } else {
            self.try_charge::<HITS_MAX>(hits, verdict)?
        };
        Ok(self.outcome(enforcer, (head, &facts), (matched, receipt), (hits, verdict.as_ref())))
    }

    fn try_charge<const N: usize>(
        &self,
        hits: &Hits,
        verdict: &mut Option<Verdict>,
    ) -> Result<Option<Receipt>, CheckError> {
        let charges = self.charges::<N>(hits);
        if charges.is_empty() {
            return Ok(None);
        }
        Ok(self.hits_of(hits, &charges).try_charge(verdict)?)
    }

    /// What the policy reads of a request.
    fn facts<'a>(
        &self,
        head: &RequestHead<'a>,
        (target, scratch): (&'a mut String, &'a mut tollgate_policy::Scratch),
    ) -> Result<Facts<'a>, CheckError> {
        let RequestHead { method, headers, authority, tier, .. } = *head;
        let target = if head.target.starts_with('?') {
            // `GET http://host?query`
            target.clear();
            target.push('/');
            target.push_str(head.target);
            target
        } else {
            head.target
        };
        let peer = head.peer.ok_or(CheckError::UnknownPeer)?;
        let request = Request { method, target, headers, authority, peer, now: self.limiter.now() };
        let facts = self.policy.facts(&request, scratch)?;
        let query_operations = if self.counts_queries { count_in_query(facts.query) } else { 0 };
        let (body_operations, body) = match (head.body, head.body_text) {
            (Body::Read { operations, .. }, Some(text)) => (operations, RequestBody::Whole(text)),
            (Body::Read { operations, .. }, None) => (operations, RequestBody::TooLarge),
            (Body::Unreadable | Body::Unread, _) => (None, RequestBody::Unread),
        };
        Ok(Facts { body, body_operations, query_operations, tier, ..facts })
    }

    /// Finds out what a request is, and writes what it is charged into `hits`.
    fn match_request(
        &self,
        head: &RequestHead<'_>,
        facts: &Facts<'_>,
        hits: &mut Hits,
    ) -> Result<Matching, CheckError> {
        let matched = match head.body {
            Body::Read { matched, .. } => matched,
            Body::Unreadable | Body::Unread => self.policy.matched(facts),
        };
        if head.body == Body::Unread && self.reads_bodies {
            let costs = self.policy.costs_of(facts, matched).filter_map(BodyWanted::of);
            let applied = self.policy.applied(facts, matched);
            let limits = applied.filter_map(|(_, used)| self.policy.limits().get(used.limit.index()));
            let keys = limits.filter(|limit| has_key_in_body(limit)).map(|_| BodyWanted::KEY);
            let wanted = costs.chain(keys);
            if let Some(wanted) = wanted.reduce(BodyWanted::and) {
                return Ok(Matching::NeedsBody(Outcome::NeedsBody { wanted, matched }));
            }
        }
        self.policy.hits(facts, matched, self.directory(), hits)?;
        match matched {
            Matched::Unmatched { other_methods: false } => Err(CheckError::NotFound),
            Matched::Unmatched { other_methods: true } => {
                let allowed = allowed(&self.policy, &self.methods, facts);
                Err(CheckError::MethodNotAllowed { allowed })
            }
            Matched::Operation(_) | Matched::Loosely(_) | Matched::Preflight | Matched::Forwarded => {
                Ok(Matching::Matched(matched))
            }
        }
    }

    /// The policy's hits as the limiter's.
    fn charges<'a, const N: usize>(&'a self, hits: &'a Hits) -> SmallVec<[Hit<'a>; N]> {
        let mut charges = SmallVec::new();
        // Pushed one by one: `collect` takes as long as a charge.
        for charge in hits.charges() {
            let Some(Some(limit)) = self.limits.get(charge.variant.index()) else { continue };
            let hit = limit.hit(hits.key(charge)).cost(charge.cost);
            let hit = if self.for_good && self.is_for_good(hits, charge) { hit.for_good() } else { hit };
            charges.push(if charge.mode == Mode::Shadow { hit.shadow() } else { hit });
        }
        charges
    }

    fn hits_of<'a>(&'a self, hits: &'a Hits, charges: &'a [Hit<'a>]) -> charge::Hits<'a> {
        charge::Hits {
            limiter: &self.limiter,
            hits: charges,
            addresses: self.debtors(hits),
            needs_receipt: !self.for_good
                || (self.settles && hits.charges().iter().any(|charge| self.may_settle(hits, charge))),
        }
    }

    /// The hits on the client's address for claimed identities, of limits where an address may owe something.
    fn debtors<'a>(&'a self, hits: &'a Hits) -> SmallVec<[AddressHit<'a>; 1]> {
        let mut debtors = SmallVec::new();
        let enforced = hits.charges().iter().enumerate().filter(|(_, charge)| charge.mode == Mode::Enforced);
        for (place, charge) in enforced {
            let denied = self.addresses_of(hits, charge).filter(|(limit, _)| limit.has_denied());
            debtors.extend(
                denied.map(|(limit, key)| AddressHit { place, hit: limit.hit(key).cost(charge.cost) }),
            );
        }
        debtors
    }

    /// The keys that the charge to a claimed identity moves to when the upstream denies the identity: the client's address, and
    /// the wide network around it.
    fn addresses_of<'a>(
        &'a self,
        hits: &'a Hits,
        charge: &'a Charge,
    ) -> impl Iterator<Item = (&'a NamedLimit, &'a [u8])> {
        let own = hits.address_key(charge).map(|key| (charge.variant, key));
        let wide = hits.wide_key(charge);
        own.into_iter().chain(wide).filter_map(|(variant, key)| Some((self.limit_of(variant)?, key)))
    }

    /// The outcome of a charge.
    #[inline]
    fn outcome(
        &self,
        enforcer: &Arc<Enforcer>,
        (head, facts): (&RequestHead<'_>, &Facts<'_>),
        (matched, receipt): (Matched, Option<Receipt>),
        (hits, verdict): (&Hits, Option<&Verdict>),
    ) -> Outcome {
        let keys =
            hits.charges().iter().map(|charge| (DescriptorId::new(charge.variant.index()), hits.key(charge)));
        let statuses = verdict.map(|verdict| enforcer.statuses(verdict, keys)).unwrap_or_default();
        let path = head.other_path(facts.path);
        let charged = Charged { receipt, decided_at: facts.now, path, matched: Some(matched) };
        let enforced = hits.charges().iter().filter(|charge| charge.mode == Mode::Enforced);
        let rules = enforced.map(|charge| self.failure_rule(charge));
        enforcer.outcome(verdict, (statuses, charged), rules, |admission| self.finish(admission, hits))
    }

    fn finish(&self, admission: &mut Admission, hits: &Hits) {
        if admission.receipt.get_mut().is_ok_and(|receipt| receipt.is_some()) {
            admission.pending = self.pending(hits);
        }
        if !self.for_good {
            admission.tier = hits.tier().map(Into::into);
        }
    }

    fn failure_rule(&self, charge: &Charge) -> FailureRule {
        match self.policy.limits().get(charge.limit.index()).map(|limit| limit.when_store_fails) {
            Some(StoreFails::Allow) => FailureRule::Allow,
            Some(StoreFails::Deny | StoreFails::Local { .. }) | None => FailureRule::Deny,
        }
    }

    /// What a response may settle.
    fn pending(&self, hits: &Hits) -> PendingSettlement {
        let mut pending = PendingSettlement::default();
        for (place, charge) in hits.charges().iter().enumerate() {
            if charge.whose == Whose::Claimed {
                pending.claimed |= only(place);
                pending.claims.extend(self.claims(hits, place, charge));
            }
            let Some((header, max)) = self.reported(hits, charge) else { continue };
            let limit = charge.limit.index();
            match pending.reported.last_mut().filter(|last| last.limit == limit) {
                // The charges of a limit are next to each other.
                Some(last) => last.charges |= only(place),
                None => {
                    let (charges, header) = (only(place), header.clone());
                    pending.reported.push(Reported { limit, charges, header, max });
                }
            }
        }
        pending
    }

    fn claims<'a>(
        &'a self,
        hits: &'a Hits,
        place: usize,
        charge: &'a Charge,
    ) -> impl Iterator<Item = Claim> + 'a {
        self.addresses_of(hits, charge).map(move |(limit, address)| Claim {
            place,
            limit: limit.clone(),
            address: address.into(),
            cost: charge.cost,
            stays: charge.by_address,
        })
    }

    /// The header of the response that reports the actual cost of a charge, and its maximum.
    fn reported(&self, hits: &Hits, charge: &Charge) -> Option<(&HeaderName, u64)> {
        self.policy.cost_of(hits, charge)?.reported_in()
    }

    /// Whether a response may settle this charge.
    fn may_settle(&self, hits: &Hits, charge: &Charge) -> bool {
        charge.whose == Whose::Claimed || self.reported(hits, charge).is_some()
    }

    /// Whether no response changes this charge.
    fn is_for_good(&self, hits: &Hits, charge: &Charge) -> bool {
        !self.may_settle(hits, charge)
    }

    /// The limiter's limit for a variant.
    fn named(&self, variant: &Variant) -> Option<NamedLimit> {
        let numbers = variant.numbers.limit().filter(|limit| *limit != Limit::Unlimited)?;
        let limit = self.policy.limits().get(variant.limit.index())?;
        #[cfg(feature = "redis")]
        if limit.scope != model::Scope::Local {
            let fails = match limit.when_store_fails {
                StoreFails::Allow => tollgate::StoreFails::Allow,
                StoreFails::Deny => tollgate::StoreFails::Deny,
                StoreFails::Local { share, of } => tollgate::StoreFails::Local { share, of },
            };
            return Some(self.limiter.shared_limit_in(&self.namespace, &limit.name, numbers, fails));
        }
        Some(self.limiter.local_limit(&limit.name, numbers))
    }
}

/// Whether a request can be charged.
#[expect(clippy::large_enum_variant, reason = "it is unwrapped where it is made")]
enum Matching {
    Matched(Matched),
    NeedsBody(Outcome),
}

impl LimitDescriptor {
    /// The descriptor of a policy's limit for one of its budgets.
    #[must_use]
    pub fn of_variant(limit: &PolicyLimit, budget: Budget, numbers: Limit) -> Self {
        let visibility = match (limit.visible, budget) {
            (false, _) => Visibility::Hidden,
            (true, Budget::Own) => Visibility::Shown,
            (true, Budget::AddressCeiling | Budget::WideAddress | Budget::WideCeiling) => Visibility::Named,
        };
        let zero_status = match limit.zero_status {
            model::ZeroStatus::Forbidden => ZeroStatus::Forbidden,
            model::ZeroStatus::TooManyRequests => ZeroStatus::TooManyRequests,
        };
        Self::new(&limit.name, numbers)
            .with_visibility(visibility)
            .with_zero_status(zero_status)
            .with_description(limit.description.as_deref())
    }
}

/// Whether the key of a limit may be in the body.
fn has_key_in_body(limit: &PolicyLimit) -> bool {
    limit.key.chain.iter().flatten().any(|identity| matches!(identity, Identity::Body(_)))
}

/// Whether a response may settle charges of a limit.
fn may_settle(limit: &PolicyLimit, cost: &model::Cost) -> bool {
    let claimed = |identity: &Identity| match identity {
        Identity::ApiKey
        | Identity::Header(_)
        | Identity::Cookie(_)
        | Identity::Query(_)
        | Identity::JwtUnverified(_) => true,
        Identity::Address
        | Identity::Body(_)
        | Identity::Jwt(_)
        | Identity::Consumer
        | Identity::Organisation
        | Identity::Everyone => false,
    };
    cost.reported_in().is_some() || limit.key.chain.iter().flatten().any(claimed)
}

impl fmt::Debug for PolicyLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operations, limits) = (self.policy.operations().len(), self.policy.limits().len());
        write!(f, "PolicyLimits({operations} operations, {limits} limits)")
    }
}
