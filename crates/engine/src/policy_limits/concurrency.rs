//! Concurrency limits of a policy: their descriptors, and the permits of a request.

use std::time::Duration;

use smallvec::SmallVec;
use tollgate::ConcurrencyLimit;
use tollgate::adaptive::AdaptiveConcurrency;
use tollgate::{CONCURRENCY_MAX, LeakyQueue};
use tollgate_algorithms::{Micros, Mode};
use tollgate_policy::model::{self, PolicyLimit};
use tollgate_policy::numbers::Numbers;
use tollgate_policy::{Hits, LimitId, Variant, VariantKind};

use super::PolicyLimits;
use crate::acquired::{AcquiredPermits, PermitLimit, PermitRequest, acquire};
use crate::descriptor::{BusyStatus, Concurrency, LimitDescriptor, Visibility};
use crate::enforcer::Enforcer;
use crate::error::CheckError;
use crate::ids::DescriptorId;
use crate::scratch::HeldLimit;

/// The place of the upstream's limit, which is none of the policy's.
const UPSTREAM: usize = usize::MAX;

/// What is in progress under one limit, for metrics.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InProgress {
    /// The limit; `None` for the upstream's.
    pub limit: Option<LimitId>,
    /// Requests that hold a permit. `None` for queues.
    pub in_flight: Option<u64>,
    /// Requests that wait.
    pub waiting: u64,
    /// Of adaptive limits: the sum of the limits of all keys.
    pub adaptive_limit: Option<u64>,
    /// Of adaptive limits: the highest known latency without load of a key, in microseconds.
    pub baseline: Option<u64>,
}

impl InProgress {
    const NOTHING: Self =
        Self { limit: None, in_flight: None, waiting: 0, adaptive_limit: None, baseline: None };

    fn of(limit: &PermitLimit) -> Self {
        let adaptive = |limits: &[AdaptiveConcurrency]| {
            let sum = |of: fn(&AdaptiveConcurrency) -> u32| limits.iter().map(|one| u64::from(of(one))).sum();
            let baselines = limits.iter().filter_map(AdaptiveConcurrency::baseline);
            Self {
                in_flight: Some(sum(AdaptiveConcurrency::in_flight)),
                waiting: limits.first().map_or(0, AdaptiveConcurrency::total_waiting),
                adaptive_limit: Some(sum(AdaptiveConcurrency::limit)),
                baseline: baselines.max().map(|latency| Micros::from_duration(latency).get()),
                ..Self::NOTHING
            }
        };
        match limit {
            PermitLimit::Fixed(limit) => {
                let (in_flight, waiting) = (Some(limit.total_in_flight()), limit.total_waiting());
                Self { in_flight, waiting, ..Self::NOTHING }
            }
            PermitLimit::Adaptive(limits, _) => adaptive(&limits.limits()),
            PermitLimit::Upstream(limit) => adaptive(std::slice::from_ref(limit)),
        }
    }

    fn of_queue(queue: &LeakyQueue) -> Self {
        Self { waiting: queue.total_waiting(), ..Self::NOTHING }
    }
}

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
    pub(super) fn concurrent(&self, variant: &Variant) -> Option<PermitLimit> {
        let limit = self.policy.limits().get(variant.limit.index())?;
        match variant.numbers {
            Numbers::Concurrency { limit: most, max_hold } => {
                let limit = self.permits_of(limit, clamped(most));
                Some(PermitLimit::Fixed(match max_hold {
                    Some(hold) => limit.with_max_hold(Duration::from(hold)),
                    None => limit,
                }))
            }
            Numbers::Adaptive { config, max_hold } => {
                let limits = self.limiter.adaptive_by_key(&limit.name, config);
                Some(PermitLimit::Adaptive(limits, max_hold.map(Duration::from)))
            }
            Numbers::Unlimited | Numbers::Counted(_) | Numbers::Queue { .. } => None,
        }
    }

    /// Puts a limit on what all requests together have in progress behind them, which follows what the upstream can do. It is met
    /// after all other limits on what is in progress, and before anything is charged. Clients are not shown its numbers.
    #[must_use]
    pub fn with_upstream_limit(self, limit: AdaptiveConcurrency) -> Self {
        Self { upstream: Some(PermitLimit::Upstream(limit)), ..self }
    }

    /// The descriptor of the upstream's limit, which comes after all others.
    pub(super) fn upstream_descriptor(&self) -> Option<LimitDescriptor> {
        let Some(PermitLimit::Upstream(limit)) = &self.upstream else { return None };
        let busy_status = BusyStatus::ServiceUnavailable;
        let concurrency = Concurrency { limit: limit.config().range().1, busy_status };
        let descriptor = LimitDescriptor::concurrent(limit.name(), concurrency);
        Some(descriptor.with_visibility(Visibility::Hidden))
    }

    /// What is in progress under the limits of this policy, for metrics: by the number of the limit, then the upstream's.
    #[must_use]
    pub fn in_progress(&self) -> Vec<InProgress> {
        let policy = self.variants().zip(&self.concurrency).zip(&self.queues);
        let mut all = Vec::new();
        for ((variant, permits), queue) in policy {
            // The other variants of a limit count the same permits.
            if all.iter().any(|known: &InProgress| known.limit == Some(variant.limit)) {
                continue;
            }
            let one =
                permits.as_ref().map(InProgress::of).or_else(|| queue.as_ref().map(InProgress::of_queue));
            all.extend(one.map(|one| InProgress { limit: Some(variant.limit), ..one }));
        }
        all.extend(self.upstream.as_ref().map(InProgress::of));
        all
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

    /// Its schedule is in the store, unless the limit is of this process by its scope. Members that take turns do so in one process.
    pub(super) fn queue_of(&self, limit: &PolicyLimit, quota: tollgate_algorithms::Quota) -> LeakyQueue {
        #[cfg(feature = "redis")]
        if limit.scope != model::Scope::Local && limit.fair_by.is_empty() {
            let fails = super::store_fails(limit);
            return self.limiter.shared_leaky_queue_in(&self.namespace, &limit.name, quota, fails);
        }
        self.limiter.leaky_queue(&limit.name, quota)
    }

    /// The permits that a request needs.
    pub(super) fn wanted<'a>(&'a self, hits: &'a Hits) -> SmallVec<[PermitRequest<'a>; 2]> {
        let priority = hits.priority();
        let wanted = hits.held().iter().enumerate().filter_map(|(place, charge)| {
            let index = charge.variant.index();
            let limit = self.concurrency.get(index)?.as_ref()?;
            let (id, key, mode) = (DescriptorId::new(index), hits.key(charge), charge.mode);
            Some(PermitRequest { place, id, limit, key, mode, priority })
        });
        let upstream = self.upstream.iter().map(|limit| {
            let (place, id) = (UPSTREAM, DescriptorId::new(self.concurrency.len()));
            PermitRequest { place, id, limit, key: b"", mode: Mode::Enforced, priority }
        });
        wanted.chain(upstream).collect()
    }

    /// Passes the queues of a request if nobody is before it, and acquires its permits.
    pub(super) fn try_acquire(
        &self,
        (enforcer, hits): (&Enforcer, &Hits),
        (now, asked): (Micros, &mut HeldLimit),
    ) -> Result<AcquiredPermits, CheckError> {
        asked.clear();
        if hits.held().is_empty() && self.upstream.is_none() {
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
