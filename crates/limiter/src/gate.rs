//! A policy in force: a request's facts in, one verdict out, charged whole or not at all. No HTTP, no answers to clients.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;
use tollgate_algorithms::{Limit, Mode};
use tollgate_policy::{
    BadRequest, Charge, Directory, Facts, Hits, Matched, Policy, Variant, VariantId, Whose,
};

#[cfg(feature = "redis")]
use crate::StoreFails;
use crate::{AddressHit, HITS_MAX, Hit, HitError, Limiter, NamedLimit, Receipt, Verdict};
#[cfg(feature = "redis")]
use tollgate_policy::model::{self, Scope};

/// A policy in force on a limiter.
///
/// It is one value that does not change: a new policy, or a new consumers file, makes a new gate on the same limiter, and
/// keys keep what they have used, because a limit's identity is its name. Cheap to share; ask it from any number of threads.
///
/// ```
/// use std::sync::Arc;
/// use tollgate::{Gate, Limiter};
/// use tollgate_policy::{VariantId, Hits, Policy, Request, Scratch};
///
/// let policy = Policy::parse("tollgate.yaml", "
/// tollgate: 1
/// rate_limit: { algorithm: token_bucket, capacity: 2, refill_rate: 0.1 }
/// routes: [{ path: '/reports/{id}' }]
/// ")?;
/// let gate = Gate::new(Limiter::new()?, Arc::new(policy), None);
///
/// let (mut scratch, mut hits, headers) = (Scratch::default(), Hits::default(), http::HeaderMap::new());
/// let request = Request {
///     method: "GET",
///     target: "/reports/7",
///     headers: &headers,
///     authority: None,
///     peer: "203.0.113.9".parse()?,
///     now: tollgate::Micros::ZERO,
/// };
/// let facts = gate.policy().facts(&request, &mut scratch)?;
/// let granted = [(); 3].map(|()| gate.check(&facts, &mut hits).map(|passage| passage.granted()));
/// assert_eq!(granted, [Ok(true), Ok(true), Ok(false)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Gate {
    limiter: Limiter,
    policy: Arc<Policy>,
    directory: Option<Arc<Directory>>,
    /// For each set of numbers, the policy's first and then the directory's; `None` where nothing is charged.
    limits: Vec<Option<NamedLimit>>,
    /// Whose limits they are in a store that several services share.
    namespace: String,
    for_good: bool,
}

/// So many hits of one request are a few.
const FEW: usize = 4;

/// What a gate says to a request.
#[derive(Clone, Debug)]
#[must_use = "whether it was granted is the point"]
pub struct Passage {
    /// What the request means.
    pub matched: Matched,
    /// The verdict; its answers are in the order of [`Hits::charges`]. `None` if no limit meets the request.
    pub verdict: Option<Verdict>,
}

impl Passage {
    /// Whether no limit stands in the way. A request that [nothing](Matched::Unmatched) is meant by is not limited, and not for a
    /// gate to judge.
    #[must_use]
    pub fn granted(&self) -> bool {
        self.verdict.as_ref().is_none_or(Verdict::granted)
    }
}

/// What was charged: the verdict, and a receipt if one was wanted.
pub type Charged = (Option<Verdict>, Option<Receipt>);

/// Why a gate was not asked: the request is wrong, and nothing was charged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotAsked {
    /// It is refused before any limit.
    BadRequest(BadRequest),
    /// Its hits are.
    Hit(HitError),
}

impl fmt::Display for NotAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(bad) => write!(f, "{bad}"),
            Self::Hit(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for NotAsked {}

impl Gate {
    /// Puts a policy in force. Without a directory, a consumers file that the policy names is not known, and its keys are
    /// what clients say.
    ///
    /// In a shared store its limits are in the policy's [namespace](Policy::namespace).
    #[must_use]
    pub fn new(limiter: Limiter, policy: Arc<Policy>, directory: Option<Arc<Directory>>) -> Self {
        let namespace = policy.namespace();
        let gate = Self { limiter, policy, directory, limits: Vec::new(), namespace, for_good: false };
        gate.with_limits()
    }

    /// The same gate, with its limits in another namespace of the shared store. In an empty one they have none.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespace: namespace.into(), ..self }.with_limits()
    }

    fn with_limits(mut self) -> Self {
        let extra = self.directory.as_ref().map_or(&[][..], |directory| directory.variants());
        let variants = self.policy.variants().iter().chain(extra);
        self.limits = variants.map(|variant| self.named(variant)).collect();
        self
    }

    /// The namespace of its limits in the shared store.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The same gate, of which nobody but responses change charges afterwards: no handler gives back or settles what a request
    /// was charged. Then hits on keys that a response cannot change either are [for good](Hit::for_good): those whose cost is
    /// known, on keys that are not just a client's word.
    #[must_use]
    pub fn for_good(self) -> Self {
        Self { for_good: true, ..self }
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

    /// Charges a request. What it was charged is in `hits` afterwards.
    ///
    /// # Errors
    /// When the request is wrong. Then nothing was charged.
    pub fn check(&self, facts: &Facts<'_>, hits: &mut Hits) -> Result<Passage, NotAsked> {
        let matched = self.meet(facts, hits)?;
        let (verdict, _) = self.charge(hits, |_| false)?;
        Ok(Passage { matched, verdict })
    }

    /// As [`check`](Self::check), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn check_async(&self, facts: &Facts<'_>, hits: &mut Hits) -> Result<Passage, NotAsked> {
        let matched = self.meet(facts, hits)?;
        let (verdict, _) = self.charge_async(hits, |_| false).await?;
        Ok(Passage { matched, verdict })
    }

    /// What a request means, and, in `hits`, what it is to be charged. Nothing is charged yet.
    ///
    /// # Errors
    /// When the request is wrong.
    pub fn meet(&self, facts: &Facts<'_>, hits: &mut Hits) -> Result<Matched, NotAsked> {
        let matched = self.policy.matched(facts);
        self.policy.hits(facts, matched, self.directory(), hits).map_err(NotAsked::BadRequest)?;
        Ok(matched)
    }

    /// Charges what a request [meets](Self::meet). The verdict is `None` if no limit meets it. The receipt, by which charges can
    /// be given back or settled, is `None` if nothing was charged, or if `wanted` does not want one for these charges: it takes
    /// longer. A hit's place on it is its place in [`Hits::charges`].
    ///
    /// # Errors
    /// When the hits are wrong. Then nothing was charged.
    pub fn charge(&self, hits: &Hits, wanted: impl FnOnce(&[Charge]) -> bool) -> Result<Charged, NotAsked> {
        let mut verdict = None;
        let receipt = self.charge_into(hits, wanted, &mut verdict)?;
        Ok((verdict, receipt))
    }

    /// As [`charge`](Self::charge), with the verdict written where it is wanted.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub fn charge_into(
        &self,
        hits: &Hits,
        wanted: impl FnOnce(&[Charge]) -> bool,
        verdict: &mut Option<Verdict>,
    ) -> Result<Option<Receipt>, NotAsked> {
        *verdict = None;
        let wanted = |hits: &Hits| wanted(hits.charges());
        // A few take less of the stack, and nobody pays for many.
        if hits.charges().len() <= FEW {
            self.charge_up_to_as_many::<FEW>(hits, wanted, verdict)
        } else {
            self.charge_up_to_as_many::<HITS_MAX>(hits, wanted, verdict)
        }
    }

    fn charge_up_to_as_many<const N: usize>(
        &self,
        hits: &Hits,
        wanted: impl FnOnce(&Hits) -> bool,
        verdict: &mut Option<Verdict>,
    ) -> Result<Option<Receipt>, NotAsked> {
        let charges = self.charges::<N>(hits);
        if charges.is_empty() {
            return Ok(None);
        }
        let addresses = self.owing(hits);
        if !addresses.is_empty() {
            *verdict = self.limiter.try_refused_for_address(&charges, &addresses).map_err(NotAsked::Hit)?;
            if verdict.is_some() {
                return Ok(None);
            }
        }
        if wanted(hits) {
            return self.limiter.try_charge_into(&charges, verdict).map_err(NotAsked::Hit);
        }
        *verdict = Some(self.limiter.try_charge(&charges).map_err(NotAsked::Hit)?);
        Ok(None)
    }

    /// As [`charge`](Self::charge), for callers in asynchronous code.
    ///
    /// # Errors
    /// As [`charge`](Self::charge).
    pub async fn charge_async(
        &self,
        hits: &Hits,
        wanted: impl FnOnce(&[Charge]) -> bool,
    ) -> Result<Charged, NotAsked> {
        let charges = self.charges::<FEW>(hits);
        if charges.is_empty() {
            return Ok((None, None));
        }
        let addresses = self.owing(hits);
        if !addresses.is_empty() {
            let refused = self.limiter.refused_for_address(&charges, &addresses).await;
            if let Some(verdict) = refused.map_err(NotAsked::Hit)? {
                return Ok((Some(verdict), None));
            }
        }
        let charged = if wanted(hits.charges()) {
            self.limiter.charge_for_receipt(&charges).await
        } else {
            self.limiter.charge(&charges).await.map(|verdict| (verdict, None))
        };
        charged.map(|(verdict, receipt)| (Some(verdict), receipt)).map_err(NotAsked::Hit)
    }

    /// Whether some of its limits are counted in a shared store, so that to ask it takes a while: ask it asynchronously.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.limits.iter().flatten().any(NamedLimit::is_shared)
    }

    /// The limiter's limit for a charge's set of numbers.
    #[must_use]
    pub fn limit(&self, charge: &Charge) -> Option<&NamedLimit> {
        self.limit_of(charge.variant)
    }

    fn limit_of(&self, variant: VariantId) -> Option<&NamedLimit> {
        self.limits.get(variant.index())?.as_ref()
    }

    /// The budgets of the client's address that a claimed identity's charge moves to when the upstream denies it: that of the
    /// address, and that of the wide network around it.
    pub fn addresses_of<'a>(
        &'a self,
        hits: &'a Hits,
        charge: &'a Charge,
    ) -> impl Iterator<Item = (&'a NamedLimit, &'a [u8])> {
        let own = hits.address_key(charge).map(|key| (charge.variant, key));
        let wide = hits.wide_key(charge);
        own.into_iter().chain(wide).filter_map(|(variant, key)| Some((self.limit_of(variant)?, key)))
    }

    /// The hits on the client's address that stand behind claimed identities, of limits where an address may owe something.
    fn owing<'a>(&'a self, hits: &'a Hits) -> SmallVec<[AddressHit<'a>; 1]> {
        let mut owing = SmallVec::new();
        let enforced = hits.charges().iter().enumerate().filter(|(_, charge)| charge.mode == Mode::Enforced);
        for (place, charge) in enforced {
            let denied = self.addresses_of(hits, charge).filter(|(limit, _)| limit.has_denied());
            owing.extend(
                denied.map(|(limit, key)| AddressHit { place, hit: limit.hit(key).cost(charge.cost) }),
            );
        }
        owing
    }

    /// Whether no response changes this charge.
    fn is_for_good(&self, charge: &Charge) -> bool {
        let limit = self.policy.limits().get(charge.limit.index());
        charge.whose != Whose::Claimed && limit.is_some_and(|limit| limit.reported_in().is_none())
    }

    /// The limiter's limit for a set of numbers. Keys of wider budgets say so themselves, and are nobody's own.
    fn named(&self, variant: &Variant) -> Option<NamedLimit> {
        let numbers = variant.numbers.limit().filter(|limit| *limit != Limit::Unlimited)?;
        let limit = self.policy.limits().get(variant.limit.index())?;
        #[cfg(feature = "redis")]
        if limit.scope != Scope::Local {
            let fails = match limit.when_store_fails {
                model::StoreFails::Allow => StoreFails::Allow,
                model::StoreFails::Deny => StoreFails::Deny,
                model::StoreFails::Local { share, of } => StoreFails::Local { share, of },
            };
            return Some(self.limiter.shared_limit_in(&self.namespace, &limit.name, numbers, fails));
        }
        Some(self.limiter.local_limit(&limit.name, numbers))
    }

    /// The policy's hits as the limiter's.
    fn charges<'a, const N: usize>(&'a self, hits: &'a Hits) -> SmallVec<[Hit<'a>; N]> {
        let mut charges = SmallVec::new();
        // One after the other: to collect them takes as long as to charge one.
        for charge in hits.charges() {
            let Some(Some(limit)) = self.limits.get(charge.variant.index()) else { continue };
            let hit = limit.hit(hits.key(charge)).cost(charge.cost);
            let hit = if self.for_good && self.is_for_good(charge) { hit.for_good() } else { hit };
            charges.push(if charge.mode == Mode::Shadow { hit.shadow() } else { hit });
        }
        charges
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Gate({} operations, {} limits)",
            self.policy.operations().len(),
            self.policy.limits().len()
        )
    }
}
