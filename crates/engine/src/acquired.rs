//! Permits of one request: acquired before anything is charged, all or none, and released when the admission is dropped.

use smallvec::SmallVec;
use tollgate::{AcquireError, ConcurrencyLimit, HitError, Permit, Source};
use tollgate_algorithms::{Decision, Micros, Mode, Outcome, Retry};

use crate::enforcer::Enforcer;
use crate::ids::DescriptorId;
use crate::outcome::Outcome as CheckOutcome;
use crate::permits::Permits;
use crate::scratch::HeldLimit;
#[cfg(feature = "redis")]
use crate::status::Degradation;
use crate::status::StoredStatus;

/// One concurrency limit that a request meets.
pub(crate) struct PermitRequest<'a> {
    /// Which of the held limits of the request it is.
    pub(crate) place: usize,
    pub(crate) id: DescriptorId,
    pub(crate) limit: &'a ConcurrencyLimit,
    pub(crate) key: &'a [u8],
    pub(crate) mode: Mode,
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
                if self.permits.0.iter().any(Permit::is_degraded) {
                    admission.is_degraded = true;
                    if admission.degradation == Degradation::None {
                        admission.degradation = Degradation::Local;
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

/// Acquires a permit of each limit in order, except for one that is there already. If one refuses, all of them are released, and those after
/// it are not asked. A shared limit is asked on a thread that may be blocked.
pub(crate) fn acquire(
    enforcer: &Enforcer,
    wanted: &[PermitRequest<'_>],
    (now, asked): (Micros, &mut HeldLimit),
) -> Result<AcquiredPermits, HitError> {
    let mut acquired = AcquiredPermits::default();
    for request in wanted {
        let result = match request.mode {
            Mode::Enforced => request.limit.try_acquire(request.key),
            Mode::Shadow => request.limit.try_acquire_shadow(request.key),
        };
        if !acquired.note(enforcer, request, result, (now, asked))? {
            break;
        }
    }
    Ok(acquired)
}

/// As [`acquire`]; the future waits for nothing but a shared store.
pub(crate) async fn acquire_now(
    enforcer: &Enforcer,
    wanted: &[PermitRequest<'_>],
    mut ready: Option<(usize, Permit)>,
    (now, asked): (Micros, &mut HeldLimit),
) -> Result<AcquiredPermits, HitError> {
    let mut acquired = AcquiredPermits::default();
    for request in wanted {
        let its = ready.take_if(|(place, _)| *place == request.place && request.mode == Mode::Enforced);
        let result = match (its, request.mode) {
            (Some((_, permit)), _) => Ok(permit),
            #[cfg(feature = "redis")]
            (None, Mode::Enforced) => request.limit.acquire_now(request.key).await,
            #[cfg(not(feature = "redis"))]
            (None, Mode::Enforced) => request.limit.try_acquire(request.key),
            (None, Mode::Shadow) => request.limit.try_acquire_shadow(request.key),
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
        result: Result<Permit, AcquireError>,
        (now, asked): (Micros, &mut HeldLimit),
    ) -> Result<bool, HitError> {
        let (mode, mut source) = (request.mode, Source::Own);
        let decision = match result {
            Ok(permit) => {
                source = source_of(&permit);
                let decision = granted(&permit, now);
                self.permits.0.push(permit);
                decision
            }
            Err(AcquireError::Busy(busy) | AcquireError::TimedOut(busy)) => {
                self.is_refused = mode == Mode::Enforced;
                let wait = busy.estimated_wait().map(|wait| Micros::from(wait).max(WAIT_MIN));
                // A limit that is only counted refuses nobody, also where it cannot count any further.
                refused(busy.limit(), if self.is_refused { wait } else { Some(WAIT_MIN) }, now)
            }
            Err(AcquireError::KeyTooLong { limit, bytes }) => {
                return Err(HitError::KeyTooLong { limit, bytes });
            }
            Err(AcquireError::WouldBlock { limit }) => return Err(HitError::WouldBlock { limit }),
            Err(AcquireError::Unavailable { why, .. }) => {
                (self.is_refused, self.unavailable) = (true, Some(why));
                refused(request.limit.limit(), Some(WAIT_MIN), now)
            }
        };
        let key_fingerprint = enforcer.fingerprint(request.id, request.key);
        self.statuses.push(StoredStatus {
            id: request.id,
            decision,
            mode,
            source,
            key_fingerprint,
            is_binding: false,
            computed: None,
        });
        asked.push((request.place, decision.is_granted()));
        if self.is_refused {
            self.permits = Permits::default();
        }
        Ok(!self.is_refused)
    }
}

/// What a permit was counted by.
#[cfg_attr(
    not(feature = "redis"),
    expect(clippy::missing_const_for_fn, reason = "it is not with the feature `redis`")
)]
fn source_of(_permit: &Permit) -> Source {
    #[cfg(feature = "redis")]
    if _permit.is_degraded() {
        return Source::Share;
    }
    Source::Own
}

fn granted(permit: &Permit, now: Micros) -> Decision {
    let (limit, average) = (permit.limit().limit(), permit.limit().average_hold());
    if permit.exceeds_limit() {
        return refused(limit, Some(Micros::from(average).max(WAIT_MIN)), now);
    }
    Decision {
        outcome: Outcome::Granted,
        charged: 1,
        limit: limit.into(),
        remaining: permit.remaining().into(),
        reset_after: average.into(),
        at: now,
    }
}

fn refused(limit: u32, wait: Option<Micros>, now: Micros) -> Decision {
    let retry = wait.map_or(Retry::Never, Retry::After);
    let (limit, reset_after) = (limit.into(), wait.unwrap_or(Micros::ZERO));
    Decision { outcome: Outcome::Refused(retry), charged: 0, limit, remaining: 0, reset_after, at: now }
}
