//! Concurrency limits of a policy: their descriptors, and the permits of a request.

use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;

use tollgate::{CONCURRENCY_MAX, ConcurrencyLimit, HitError};
use tollgate_algorithms::Micros;
use tollgate_policy::model::{self, PolicyLimit};
use tollgate_policy::numbers::Numbers;
use tollgate_policy::{Budget, Hits, Variant};

use super::PolicyLimits;
use crate::descriptor::{BusyStatus, Concurrency, LimitDescriptor};
use crate::enforcer::Enforcer;
use crate::ids::DescriptorId;
use crate::permits::{Acquired, Wanted, acquire};

/// The descriptor of a concurrency limit for one of its budgets.
pub(super) fn descriptor(limit: &PolicyLimit, budget: Budget, most: u64) -> LimitDescriptor {
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
        let limit = self.limiter.concurrency(&limit.name, clamped(most));
        Some(match max_hold {
            Some(hold) => limit.with_max_hold(Duration::from(hold)),
            None => limit,
        })
    }

    /// Acquires the permits of a request, and notes for each limit that was asked whether it admits the request.
    pub(super) fn acquire(
        &self,
        enforcer: &Arc<Enforcer>,
        hits: &Hits,
        (now, asked): (Micros, &mut SmallVec<[bool; 2]>),
    ) -> Result<Acquired, HitError> {
        asked.clear();
        if hits.held().is_empty() {
            return Ok(Acquired::default());
        }
        let wanted = hits.held().iter().filter_map(|charge| {
            let index = charge.variant.index();
            let limit = self.concurrency.get(index)?.as_ref()?;
            Some(Wanted { id: DescriptorId::new(index), limit, key: hits.key(charge), mode: charge.mode })
        });
        let acquired = acquire(enforcer, wanted, now)?;
        asked.extend(acquired.statuses.iter().map(|status| status.decision.granted()));
        Ok(acquired)
    }
}
