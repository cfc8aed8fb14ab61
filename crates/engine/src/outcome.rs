//! The outcome of a check: admitted, refused with everything a client may see, or undetermined.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tollgate::Unavailable;
use tollgate_algorithms::{Micros, Mode, Retry};

use crate::admission::Admission;
use crate::descriptor::{LimitDescriptor, ZeroStatus};
use crate::enforcer::Enforcer;
use crate::ids::DescriptorId;
use crate::status::{Degradation, LimitStatus, StoredStatus};

/// The outcome of a check.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "it is moved once or twice; a box would be an allocation for each request"
)]
#[must_use = "only an admitted request may proceed"]
pub enum Outcome {
    /// The request may proceed, and was charged.
    Admitted(Admission),
    /// A limit refuses the request. Nothing was charged.
    Refused(Refusal),
    /// The limits could not be decided, and they do not allow requests then. Nothing was charged.
    Undetermined(Undetermined),
    /// The request was not checked, because a limit counts the operations in the body: read it, and check again with
    /// [`Body::Read`](crate::Body::Read). Only for heads with [`Body::Unread`](crate::Body::Unread).
    #[cfg(feature = "policy")]
    NeedsBody {
        /// How the body is counted, and how much of it to read.
        wanted: crate::RequiredBody,
        /// For [`Body::Read`](crate::Body::Read).
        matched: tollgate_policy::RequestMatch,
    },
}

/// A refusal, with everything that a client may see.
pub struct Refusal {
    pub(crate) enforcer: Arc<Enforcer>,
    pub(crate) statuses: SmallVec<[StoredStatus; 2]>,
    pub(crate) decided_at: Micros,
    pub(crate) degradation: Degradation,
    /// Of `statuses`, the one that refuses for the longest.
    pub(crate) place: usize,
    pub(crate) retry: Retry,
    pub(crate) hit: usize,
    #[cfg(feature = "policy")]
    pub(crate) matched: Option<tollgate_policy::RequestMatch>,
}

/// Why a limit refuses a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The limit is exhausted: the same request is granted later.
    Exhausted,
    /// As many requests as the limit are in progress. The [wait](Refusal::retry) is an estimate.
    Busy,
    /// The request costs more than the limit's capacity, so it is never granted.
    Never,
    /// The limit is 0, so it grants no request.
    Zero,
}

/// A check whose limits could not be decided.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Undetermined {
    /// Why.
    pub why: Unavailable,
    /// What the policy says the request is, if there is a policy.
    #[cfg(feature = "policy")]
    pub matched: Option<tollgate_policy::RequestMatch>,
}

impl Refusal {
    /// The enforcer that refused the request.
    #[must_use]
    pub const fn enforcer(&self) -> &Arc<Enforcer> {
        &self.enforcer
    }

    /// The status of every limit of the request that has numbers.
    pub fn limits(&self) -> impl Iterator<Item = LimitStatus<'_>> {
        self.statuses
            .iter()
            .filter_map(|status| self.enforcer.status(status))
            .filter(|status| status.source.has_numbers())
    }

    /// The limit that refuses the request: of several, the one with the longest wait.
    #[must_use]
    pub fn limit(&self) -> &LimitDescriptor {
        self.enforcer.descriptor_or_empty(self.id())
    }

    /// The descriptor of the limit that refuses.
    #[must_use]
    pub fn id(&self) -> DescriptorId {
        self.statuses.get(self.place).map_or(DescriptorId::new(usize::MAX), |status| status.id)
    }

    /// When the same request is granted, if nothing more is charged until then.
    #[must_use]
    pub const fn retry(&self) -> Retry {
        self.retry
    }

    /// How long to wait until the same request is granted, if nothing more is charged until then. `None` if waiting never helps.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self.retry {
            Retry::After(wait) => Some(wait.into()),
            Retry::Never => None,
        }
    }

    /// Why the limit refuses.
    #[must_use]
    pub fn kind(&self) -> RefusalKind {
        match self.retry {
            Retry::After(_) if self.limit().concurrency.is_some() => RefusalKind::Busy,
            Retry::After(_) => RefusalKind::Exhausted,
            Retry::Never if self.is_zero() => RefusalKind::Zero,
            Retry::Never => RefusalKind::Never,
        }
    }

    /// Whether the limit that refuses is 0, by the numbers for this request.
    fn is_zero(&self) -> bool {
        let computed = self.statuses.get(self.place).and_then(|status| status.computed);
        computed.map_or_else(|| self.limit().capacity(), |limit| limit.capacity()) == 0
    }

    /// The status that the policy wants for a limit of 0.
    #[must_use]
    pub fn zero_status(&self) -> ZeroStatus {
        self.limit().zero_status
    }

    /// When it was decided, by the calendar.
    #[must_use]
    pub const fn decided_at(&self) -> Micros {
        self.decided_at
    }

    /// What stood in for the keys' own states.
    #[must_use]
    pub const fn degradation(&self) -> Degradation {
        self.degradation
    }

    /// The position, among the hits of the request, of the hit that was refused.
    #[must_use]
    pub const fn hit(&self) -> usize {
        self.hit
    }

    /// How many hits the request has.
    #[must_use]
    pub fn hits(&self) -> usize {
        self.statuses.len()
    }

    /// What the policy says the request is.
    #[cfg(feature = "policy")]
    #[must_use]
    pub const fn matched(&self) -> Option<tollgate_policy::RequestMatch> {
        self.matched
    }
}

/// The status that refuses for the longest: its place, and its retry. Of two that never grant the request, one that grants no
/// request at all. `None` if no enforced limit with numbers refuses.
pub(crate) fn refusing(enforcer: &Enforcer, statuses: &[StoredStatus]) -> Option<(usize, Retry)> {
    let mut longest = None;
    for (place, status) in statuses.iter().enumerate() {
        let counts = status.mode == Mode::Enforced && status.source.has_numbers();
        let Some(retry) = status.decision.retry().filter(|_| counts) else { continue };
        let descriptor = || Some(enforcer.descriptor(status.id)?.capacity());
        let is_zero = status.computed.map(|limit| limit.capacity()).or_else(descriptor) == Some(0);
        if longest.is_none_or(|(_, other)| (retry, is_zero) > other) {
            longest = Some((place, (retry, is_zero)));
        }
    }
    longest.map(|(place, (retry, _))| (place, retry))
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Refusal({:?}, {:?})", self.limit().name(), self.retry)
    }
}

/// One line for a person: `refused by "per client", retry after 10 s`.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by {:?}, ", self.limit().name())?;
        match self.retry {
            Retry::After(wait) => write!(f, "retry after {} s", wait.secs_rounded_up()),
            Retry::Never => f.write_str("retrying will never succeed"),
        }
    }
}
