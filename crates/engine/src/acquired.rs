//! Permits of one request: acquired before anything is charged, all or none, and released when the admission is dropped.

use smallvec::SmallVec;
use tollgate::{AcquireError, ConcurrencyLimit, HitError, Permit, Source};
use tollgate_algorithms::{Decision, Micros, Mode, Outcome, Retry};

use crate::enforcer::Enforcer;
use crate::ids::DescriptorId;
use crate::outcome::Outcome as CheckOutcome;
use crate::permits::Permits;
use crate::scratch::HeldLimit;
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

/// Acquires a permit of each limit in order, except for one that is there already. If one refuses, all of them are released, and those after
/// it are not asked.
pub(crate) fn acquire(
    enforcer: &Enforcer,
    wanted: &[PermitRequest<'_>],
    mut ready: Option<(usize, Permit)>,
    (now, asked): (Micros, &mut HeldLimit),
) -> Result<AcquiredPermits, HitError> {
    let mut acquired = AcquiredPermits::default();
    for PermitRequest { place, id, limit, key, mode } in wanted {
        let (id, mode) = (*id, *mode);
        let result = match mode {
            Mode::Enforced if ready.as_ref().is_some_and(|(other, _)| other == place) => {
                ready.take().map_or_else(|| limit.try_acquire(*key), |(_, permit)| Ok(permit))
            }
            Mode::Enforced => limit.try_acquire(*key),
            Mode::Shadow => limit.try_acquire_shadow(*key),
        };
        let decision = match result {
            Ok(permit) => {
                let decision = granted(&permit, now);
                acquired.permits.0.push(permit);
                decision
            }
            Err(AcquireError::Busy(busy) | AcquireError::TimedOut(busy)) if mode == Mode::Enforced => {
                acquired.is_refused = true;
                let wait = busy.estimated_wait().map(|wait| Micros::from(wait).max(WAIT_MIN));
                refused(busy.limit(), wait, now)
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
        asked.push((*place, decision.is_granted()));
        if acquired.is_refused {
            acquired.permits = Permits::default();
            break;
        }
    }
    Ok(acquired)
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
