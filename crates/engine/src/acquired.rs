//! Permits of one request: acquired before anything is charged, all or none, and released when the admission is dropped.

use std::time::Duration;

use smallvec::SmallVec;
use tollgate::adaptive::{AdaptiveByKey, AdaptiveConcurrency, AdaptivePermit, Priority};
use tollgate::{AcquireError, ConcurrencyLimit, HitError, Permit, Source};
use tollgate_algorithms::{Decision, Micros, Mode, Outcome, Retry};

use crate::enforcer::Enforcer;
use crate::ids::DescriptorId;
use crate::outcome::Outcome as CheckOutcome;
use crate::permits::Permits;
use crate::scratch::HeldLimit;
use crate::status::StoredStatus;

/// What grants permits.
#[derive(Debug)]
pub(crate) enum PermitLimit {
    /// So many at once.
    Fixed(ConcurrencyLimit),
    /// As many as the service behind can do, for each key.
    Adaptive(AdaptiveByKey, Option<Duration>),
    /// The same for the upstream as a whole.
    Upstream(AdaptiveConcurrency),
}

/// One limit on what is in progress that a request meets.
pub(crate) struct PermitRequest<'a> {
    /// Which of the held limits of the request it is.
    pub(crate) place: usize,
    pub(crate) id: DescriptorId,
    pub(crate) limit: &'a PermitLimit,
    pub(crate) key: &'a [u8],
    pub(crate) mode: Mode,
    /// How important the request is; `None` if all are equal.
    pub(crate) priority: Option<Priority>,
}

/// A permit of any limit.
pub(crate) enum HeldPermit {
    Fixed(Permit),
    Adaptive(AdaptivePermit, Option<Duration>),
}

/// What came of acquiring the permits of a request.
#[derive(Debug, Default)]
pub(crate) struct AcquiredPermits {
    pub(crate) permits: Permits,
    /// The status of each limit that was asked, in order.
    pub(crate) statuses: SmallVec<[StoredStatus; 1]>,
    /// Whether the last one that was asked refuses. Then no permit is held.
    pub(crate) is_refused: bool,
}

/// The shortest wait that a refusal tells, because it is an estimate.
const WAIT_MIN: Micros = Micros::SECOND;

impl AcquiredPermits {
    /// The outcome, which holds the permits if the request is admitted. Otherwise they are released.
    pub(crate) fn held_by(self, outcome: CheckOutcome, now: Micros) -> CheckOutcome {
        if self.statuses.is_empty() {
            return outcome;
        }
        match outcome {
            CheckOutcome::Admitted(mut admission) => {
                admission.statuses.extend(self.statuses);
                admission.decided_at.get_or_insert(now);
                admission.permits = self.permits.into();
                CheckOutcome::Admitted(admission)
            }
            refused @ (CheckOutcome::Refused(_) | CheckOutcome::Undetermined(_)) => refused,
            unread @ CheckOutcome::NeedsBody { .. } => unread,
        }
    }
}

impl PermitRequest<'_> {
    fn try_acquire(&self) -> Result<HeldPermit, AcquireError> {
        let of_adaptive = |limit: &AdaptiveConcurrency, max_hold| {
            let permit = match (self.mode, self.priority) {
                (Mode::Shadow, _) => limit.try_acquire_shadow(),
                (Mode::Enforced, None) => limit.try_acquire(),
                (Mode::Enforced, Some(priority)) => limit.try_acquire_with(priority),
            };
            permit.map(|permit| HeldPermit::Adaptive(permit, max_hold))
        };
        match self.limit {
            PermitLimit::Adaptive(limits, max_hold) => of_adaptive(&limits.of(self.key), *max_hold),
            PermitLimit::Upstream(limit) => of_adaptive(limit, None),
            PermitLimit::Fixed(limit) => match (self.mode, self.priority) {
                (Mode::Shadow, _) => limit.try_acquire_shadow(self.key),
                (Mode::Enforced, None) => limit.try_acquire(self.key),
                (Mode::Enforced, Some(priority)) => limit.try_acquire_with(self.key, priority),
            }
            .map(HeldPermit::Fixed),
        }
    }

    /// Waits for a permit, first come, first served.
    pub(crate) async fn acquire_within(
        &self,
        most: Duration,
        member: Option<&[u8]>,
    ) -> Result<HeldPermit, AcquireError> {
        let (limit, max_hold) = match self.limit {
            PermitLimit::Fixed(limit) => {
                let acquire = limit.acquire(self.key).within(most);
                let acquire = match member {
                    Some(member) => acquire.for_member(member),
                    None => acquire,
                };
                return acquire.await.map(HeldPermit::Fixed);
            }
            PermitLimit::Adaptive(limits, max_hold) => (limits.of(self.key), *max_hold),
            PermitLimit::Upstream(limit) => (limit.clone(), None),
        };
        let permit = match member {
            Some(member) => limit.acquire_within_for(member, most).await,
            None => limit.acquire_within(most).await,
        };
        permit.map(|permit| HeldPermit::Adaptive(permit, max_hold))
    }
}

impl HeldPermit {
    fn decision(&self, now: Micros) -> Decision {
        match self {
            Self::Fixed(permit) => granted(
                (permit.limit().limit(), permit.remaining(), permit.exceeds_limit()),
                permit.limit().average_hold().into(),
                now,
            ),
            Self::Adaptive(permit, _) => granted(
                (permit.limit().limit(), permit.remaining(), permit.exceeds_limit()),
                permit.limit().average_hold().into(),
                now,
            ),
        }
    }
}

impl Permits {
    fn push(&mut self, permit: HeldPermit) {
        match permit {
            HeldPermit::Fixed(permit) => self.fixed.push(permit),
            HeldPermit::Adaptive(permit, max_hold) => self.adaptive.push((permit, max_hold)),
        }
    }
}

/// Acquires a permit of each limit in order, except for one that is there already. If one refuses, all of them are released, and those after
/// it are not asked.
pub(crate) fn acquire(
    enforcer: &Enforcer,
    wanted: &[PermitRequest<'_>],
    mut ready: Option<(usize, HeldPermit)>,
    (now, asked): (Micros, &mut HeldLimit),
) -> Result<AcquiredPermits, HitError> {
    let mut acquired = AcquiredPermits::default();
    for request in wanted {
        let PermitRequest { place, id, key, mode, priority, .. } = *request;
        let is_ready = mode == Mode::Enforced && ready.as_ref().is_some_and(|(other, _)| *other == place);
        let result = match ready.take_if(|_| is_ready) {
            Some((_, permit)) => Ok(permit),
            None => request.try_acquire(),
        };
        let decision = match result {
            Ok(permit) => {
                let decision = permit.decision(now);
                acquired.permits.push(permit);
                decision
            }
            Err(AcquireError::Busy(busy) | AcquireError::TimedOut(busy)) if mode == Mode::Enforced => {
                acquired.is_refused = true;
                let wait = busy.estimated_wait().map(|wait| Micros::from(wait).max(WAIT_MIN));
                // What is left is for requests that are more important.
                let reserved = priority.map_or(0, |_| busy.limit().saturating_sub(busy.in_flight()));
                Decision { remaining: reserved.into(), ..refused(busy.limit(), wait, now) }
            }
            // A limit that is only counted refuses nobody, also where it cannot count any further.
            Err(AcquireError::Busy(busy) | AcquireError::TimedOut(busy)) => {
                refused(busy.limit(), Some(WAIT_MIN), now)
            }
            Err(AcquireError::KeyTooLong { limit, bytes }) => {
                return Err(HitError::KeyTooLong { limit, bytes });
            }
        };
        let key_fingerprint = enforcer.fingerprint(id, key);
        acquired.statuses.push(StoredStatus {
            id,
            decision,
            mode,
            source: Source::Own,
            key_fingerprint,
            is_binding: false,
            computed: None,
        });
        asked.push((place, decision.is_granted()));
        if acquired.is_refused {
            acquired.permits = Permits::default();
            break;
        }
    }
    Ok(acquired)
}

fn granted((limit, remaining, exceeds): (u32, u32, bool), average: Micros, now: Micros) -> Decision {
    if exceeds {
        return refused(limit, Some(average.max(WAIT_MIN)), now);
    }
    Decision {
        outcome: Outcome::Granted,
        charged: 1,
        limit: limit.into(),
        remaining: remaining.into(),
        reset_after: average,
        at: now,
    }
}

fn refused(limit: u32, wait: Option<Micros>, now: Micros) -> Decision {
    let retry = wait.map_or(Retry::Never, Retry::After);
    let (limit, reset_after) = (limit.into(), wait.unwrap_or(Micros::ZERO));
    Decision { outcome: Outcome::Refused(retry), charged: 0, limit, remaining: 0, reset_after, at: now }
}
