//! The limits of a policy by name, for callers that choose the limit and the key themselves.

use std::fmt;

use tollgate::{ConcurrencyLimit, LeakyQueue, NamedLimit};
use tollgate_algorithms::{Limit, Mode};
use tollgate_policy::VariantKind;

use super::PolicyLimits;
use crate::acquired::PermitLimit;

/// A limit of the policy, with its mode. Its failure rule is that of the policy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LimitByName {
    /// What counts it.
    pub counted: CountedBy,
    /// Enforced, or in shadow mode.
    pub mode: Mode,
}

/// What counts a limit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CountedBy {
    /// A quota or a window.
    Rate(NamedLimit),
    /// Permits for what is in progress.
    Concurrency(ConcurrencyLimit),
    /// A queue.
    Queue(LeakyQueue),
}

/// The policy has no such limit, or the limit no such tier.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NoSuchLimit {
    /// There is no limit with this name.
    Name(String),
    /// The limit has no numbers of its own for this tier.
    Tier(String),
    /// The limit is adaptive: it measures the responses of a service, which callers do not report.
    Adaptive(String),
}

impl fmt::Display for NoSuchLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "the policy has no limit named '{name}'"),
            Self::Adaptive(name) => write!(
                f,
                "the limit '{name}' is adaptive and learns from responses that pass the gateway: take `concurrency`"
            ),
            Self::Tier(tier) => {
                write!(f, "the limit has no tier '{tier}': leave it out for the limit's own numbers")
            }
        }
    }
}

impl std::error::Error for NoSuchLimit {}

impl PolicyLimits {
    /// The limit with this name, with its own numbers or those of a tier.
    ///
    /// Its keys are any bytes. Keys that the policy derives from requests are encoded with their kind, so that they are different ones.
    ///
    /// # Errors
    /// If there is none.
    pub fn limit_by_name(&self, name: &str, tier: Option<&str>) -> Result<LimitByName, NoSuchLimit> {
        let no_name = || NoSuchLimit::Name(name.into());
        let (id, limit) = self.policy.limit_named(name).ok_or_else(no_name)?;
        let mut of_limit = self.policy.variants().iter().enumerate().filter(|(_, variant)| {
            variant.limit == id && variant.budget == VariantKind::Own && variant.tier.as_deref() == tier
        });
        let found = of_limit.next().ok_or_else(|| match tier {
            Some(tier) => NoSuchLimit::Tier(tier.into()),
            None => no_name(),
        });
        let (index, variant) = found?;
        let rate = self.limits.get(index).cloned().flatten().map(CountedBy::Rate);
        let permits = || match self.concurrency.get(index)? {
            Some(PermitLimit::Fixed(limit)) => Some(CountedBy::Concurrency(limit.clone())),
            Some(PermitLimit::Adaptive(..) | PermitLimit::Upstream(_)) | None => None,
        };
        if variant.numbers.is_adaptive() {
            return Err(NoSuchLimit::Adaptive(name.into()));
        }
        let queue = || self.queues.get(index).cloned().flatten().map(CountedBy::Queue);
        let unlimited = || {
            let is_unlimited = variant.numbers.limit() == Some(Limit::Unlimited);
            is_unlimited.then(|| CountedBy::Rate(self.limiter.local_limit(name, Limit::Unlimited)))
        };
        let counted = rate.or_else(permits).or_else(queue).or_else(unlimited).ok_or_else(no_name)?;
        Ok(LimitByName { counted, mode: limit.mode })
    }
}
