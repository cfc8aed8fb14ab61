//! Concurrency limits of a policy: their descriptors, and the permits of a request.

use std::time::Duration;

use smallvec::SmallVec;
use tollgate::{CONCURRENCY_MAX, ConcurrencyLimit};
use tollgate_algorithms::Micros;
use tollgate_policy::model::{self, PolicyLimit};
use tollgate_policy::numbers::Numbers;
use tollgate_policy::{Hits, Variant, VariantKind};

use super::PolicyLimits;
use crate::acquired::{AcquiredPermits, PermitRequest, acquire};
use crate::descriptor::{BusyStatus, Concurrency, LimitDescriptor};
use crate::enforcer::Enforcer;
use crate::error::CheckError;
use crate::ids::DescriptorId;
use crate::scratch::HeldLimit;

/// The descriptor of a concurrency limit for one of its budgets.
pub(super) fn descriptor(limit: &PolicyLimit, budget: VariantKind, most: u64) -> LimitDescriptor {
    let busy_status = match limit.busy_status {
        model::BusyStatus::TooManyRequests => BusyStatus::TooManyRequests,
        model::BusyStatus::ServiceUnavailable => BusyStatus::ServiceUnavailable,
    };
    let concurrency = Some(Concurrency { limit: clamped(most), busy_status });
    let unlimited = tollgate_algorithms::Limit::Unlimited;
    LimitDescriptor { concurrency, ..LimitDescriptor::of_variant(limit, budget, unlimited) }
}

/// Nobody has more permits than can be counted.
fn clamped(most: u64) -> u32 {
    u32::try_from(most).unwrap_or(CONCURRENCY_MAX)
}

impl PolicyLimits {
    /// The limiter's concurrency limit for a variant. It has the name of the policy's limit, so that a new policy takes over what is in
    /// progress.
    pub(super) fn concurrent(&self, variant: &Variant) -> Option<ConcurrencyLimit> {
        let Numbers::Concurrency { limit: most, max_hold } = variant.numbers else { return None };
        let limit = self.policy.limits().get(variant.limit.index())?;
        let limit = self.permits_of(limit, clamped(most));
        Some(match max_hold {
            Some(hold) => limit.with_max_hold(Duration::from(hold)),
            None => limit,
        })
    }

    /// Counted in the store, unless it is of this process by its scope. Shadow permits are counted by each process.
    fn permits_of(&self, limit: &PolicyLimit, most: u32) -> ConcurrencyLimit {
        #[cfg(feature = "redis")]
        if limit.scope != model::Scope::Local {
            let fails = super::store_fails(limit);
            return self.limiter.shared_concurrency_in(&self.namespace, &limit.name, most, fails);
        }
        self.limiter.concurrency(&limit.name, most)
    }

    /// The permits that a request needs.
    pub(super) fn wanted<'a>(&'a self, hits: &'a Hits) -> SmallVec<[PermitRequest<'a>; 2]> {
        let wanted = hits.held().iter().enumerate().filter_map(|(place, charge)| {
            let index = charge.variant.index();
            let limit = self.concurrency.get(index)?.as_ref()?;
            let (id, key, mode) = (DescriptorId::new(index), hits.key(charge), charge.mode);
            Some(PermitRequest { place, id, limit, key, mode })
        });
        wanted.collect()
    }

    /// Passes the queues of a request if nobody is before it, and acquires its permits.
    pub(super) fn try_acquire(
        &self,
        (enforcer, hits): (&Enforcer, &Hits),
        (now, asked): (Micros, &mut HeldLimit),
    ) -> Result<AcquiredPermits, CheckError> {
        asked.clear();
        if hits.held().is_empty() {
            return Ok(AcquiredPermits::default());
        }
        let entered = self.try_enter_queues((enforcer, hits), (now, asked))?;
        if entered.is_refused || entered.unavailable.is_some() {
            return Ok(entered);
        }
        let mut acquired = acquire(enforcer, &self.wanted(hits), (now, asked))?;
        acquired.statuses.extend(entered.statuses);
        Ok(acquired)
    }
}
