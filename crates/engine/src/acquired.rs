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
    /// Why a shared store gave no decision, if its limit denies then: neither a grant nor a refusal.
    pub(crate) unavailable: Option<&'static str>,
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
                #[cfg(feature = "redis")]
                if self.permits.fixed.iter().any(Permit::is_degraded) {
                    admission.is_degraded = true;
                    if admission.degradation == crate::status::Degradation::None {
                        admission.degradation = crate::status::Degradation::Local;
                    }
                }
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
                // What processes share has no part for more important requests.
                #[cfg(feature = "redis")]
                (Mode::Enforced, Some(_)) if limit.is_shared() => limit.try_acquire(self.key),
                (Mode::Enforced, Some(priority)) => limit.try_acquire_with(self.key, priority),
            }
            .map(HeldPermit::Fixed),
        }
    }

    /// The same; the future waits for nothing but a shared store.
    #[cfg(feature = "redis")]
    async fn acquire_now(&self) -> Result<HeldPermit, AcquireError> {
        match self.limit {
            PermitLimit::Fixed(limit) if self.mode == Mode::Enforced && limit.is_shared() => {
                limit.acquire_now(self.key).await.map(HeldPermit::Fixed)
            }
            PermitLimit::Fixed(_) | PermitLimit::Adaptive(..) | PermitLimit::Upstream(_) => {
                self.try_acquire()
            }
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

#[cfg(feature = "redis")]
impl PermitLimit {
    /// Whether its permits are in a store that several processes share.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Fixed(limit) if limit.is_shared())
    }
}

impl HeldPermit {
    /// What it was counted by.
    #[cfg_attr(not(feature = "redis"), expect(clippy::unused_self, reason = "only a store fails"))]
    fn source(&self) -> Source {
        #[cfg(feature = "redis")]
        if matches!(self, Self::Fixed(permit) if permit.is_degraded()) {
            return Source::Share;
        }
        Source::Own
    }

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

/// Acquires a permit of each limit in order. If one refuses, all of them are released, and those after it are not asked. A shared limit is
/// asked on a thread that may be blocked.
pub(crate) fn acquire(
    enforcer: &Enforcer,
    wanted: &[PermitRequest<'_>],
    (now, asked): (Micros, &mut HeldLimit),
) -> Result<AcquiredPermits, HitError> {
    let mut acquired = AcquiredPermits::default();
    for request in wanted {
        if !acquired.note(enforcer, request, request.try_acquire(), (now, asked))? {
            break;
        }
    }
    Ok(acquired)
}

/// As [`acquire`], except for a permit that is there already. The future waits for nothing but a shared store.
pub(crate) async fn acquire_now(
    enforcer: &Enforcer,
    wanted: &[PermitRequest<'_>],
    mut ready: Option<(usize, HeldPermit)>,
    (now, asked): (Micros, &mut HeldLimit),
) -> Result<AcquiredPermits, HitError> {
    let mut acquired = AcquiredPermits::default();
    for request in wanted {
        let its = ready.take_if(|(place, _)| *place == request.place && request.mode == Mode::Enforced);
        let result = match its {
            Some((_, permit)) => Ok(permit),
            #[cfg(feature = "redis")]
            None => request.acquire_now().await,
            #[cfg(not(feature = "redis"))]
            None => request.try_acquire(),
        };
        if !acquired.note(enforcer, request, result, (now, asked))? {
            break;
        }
    }
    Ok(acquired)
}

impl AcquiredPermits {
    /// Notes what a limit says. Returns whether the next one is to be asked.
    fn note(
        &mut self,
        enforcer: &Enforcer,
        request: &PermitRequest<'_>,
        result: Result<HeldPermit, AcquireError>,
        (now, asked): (Micros, &mut HeldLimit),
    ) -> Result<bool, HitError> {
        let PermitRequest { place, id, key, mode, priority, .. } = *request;
        let mut source = Source::Own;
        let decision = match result {
            Ok(permit) => {
                source = permit.source();
                let decision = permit.decision(now);
                self.permits.push(permit);
                decision
            }
            Err(AcquireError::Busy(busy) | AcquireError::TimedOut(busy)) if mode == Mode::Enforced => {
                self.is_refused = true;
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
            Err(AcquireError::WouldBlock { limit }) => return Err(HitError::WouldBlock { limit }),
            Err(AcquireError::Unavailable { why, .. }) => {
                (self.is_refused, self.unavailable) = (true, Some(why));
                refused(0, Some(WAIT_MIN), now)
            }
        };
        let key_fingerprint = enforcer.fingerprint(id, key);
        self.statuses.push(StoredStatus {
            id,
            decision,
            mode,
            source,
            key_fingerprint,
            is_binding: false,
            computed: None,
        });
        asked.push((place, decision.is_granted()));
        if self.is_refused {
            self.permits = Permits::default();
        }
        Ok(!self.is_refused)
    }
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
