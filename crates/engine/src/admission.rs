//! An admission: what a request was charged, and what is still owed. It settles, refunds, and releases when it is dropped.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, StatusCode};
use smallvec::SmallVec;
use tollgate::Receipt;
use tollgate_algorithms::{Micros, Mode};

use crate::enforcer::Enforcer;
use crate::settlement::{PendingSettlement, contains};
use crate::status::{Degradation, LimitStatus, StoredStatus};

/// A request that may proceed: the status of its limits, its charges, and what is still owed.
///
/// Charges can be settled or refunded once; the first call does it. If the admission is dropped before, every charge stays: a
/// request that was begun has spent what it cost. Resources that a request holds while it is in flight belong to the admission
/// as well, and are released when it is dropped.
pub struct Admission {
    pub(crate) enforcer: Arc<Enforcer>,
    /// One for each hit, in the order of the hits.
    pub(crate) statuses: SmallVec<[StoredStatus; 2]>,
    pub(crate) decided_at: Option<Micros>,
    pub(crate) degradation: Degradation,
    pub(crate) is_degraded: bool,
    pub(crate) path: Option<String>,
    pub(crate) tier: Option<Box<str>>,
    /// The charges, until somebody settles or refunds them.
    pub(crate) receipt: Mutex<Option<Receipt>>,
    pub(crate) pending: PendingSettlement,
    #[cfg(feature = "policy")]
    pub(crate) matched: Option<tollgate_policy::Matched>,
}

impl Admission {
    /// An admission without any limits.
    pub(crate) fn unlimited(enforcer: &Arc<Enforcer>) -> Self {
        Self {
            enforcer: Arc::clone(enforcer),
            statuses: SmallVec::new(),
            decided_at: None,
            degradation: Degradation::None,
            is_degraded: false,
            path: None,
            tier: None,
            receipt: Mutex::new(None),
            pending: PendingSettlement::default(),
            #[cfg(feature = "policy")]
            matched: None,
        }
    }

    /// The enforcer that admitted the request.
    #[must_use]
    pub const fn enforcer(&self) -> &Arc<Enforcer> {
        &self.enforcer
    }

    /// The status of every limit of the request, in the policy's order.
    pub fn limits(&self) -> impl Iterator<Item = LimitStatus<'_>> {
        self.statuses.iter().filter_map(|status| self.enforcer.status(status))
    }

    /// The status of every limit that clients see after a response with this status code. A 401 refunds the charges to the
    /// identity that the client claimed, and clients never see the numbers of another identity.
    pub fn shown_limits(&self, status: StatusCode) -> impl Iterator<Item = LimitStatus<'_>> {
        let denied = self.pending.denied(status);
        let kept = self.statuses.iter().enumerate().filter(move |(place, _)| !contains(denied, *place));
        kept.filter_map(|(_, status)| self.enforcer.status(status)).filter(LimitStatus::is_shown)
    }

    /// The enforced limit with the least remaining quota. `None` if no enforced limit has numbers.
    #[must_use]
    pub fn binding_limit(&self) -> Option<LimitStatus<'_>> {
        let enforced =
            self.limits().filter(|status| status.mode == Mode::Enforced && status.source.has_numbers());
        enforced.min_by_key(LimitStatus::binding_rank)
    }

    /// When the limits were decided, by the calendar. `None` if no limit applied, or nothing decided them.
    #[must_use]
    pub const fn decided_at(&self) -> Option<Micros> {
        self.decided_at
    }

    /// What stood in for the states of the keys of enforced limits.
    #[must_use]
    pub const fn degradation(&self) -> Degradation {
        self.degradation
    }

    /// Whether something stood in for the state of a key of any limit, also of one in shadow mode.
    #[must_use]
    pub const fn is_degraded(&self) -> bool {
        self.is_degraded
    }

    /// The normalised path, if it differs from the path that was sent. It was matched, so it must be forwarded.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The tier whose numbers were charged. `None` if there is none, or if [only responses settle](crate::PolicyLimits::for_good).
    #[must_use]
    pub fn tier(&self) -> Option<&str> {
        self.tier.as_deref()
    }

    /// What the policy says the request is; `None` for rules.
    #[cfg(feature = "policy")]
    #[must_use]
    pub const fn matched(&self) -> Option<tollgate_policy::Matched> {
        self.matched
    }

    /// Replaces the cost of every charge with the actual cost: refunds what was charged in excess, and charges what is missing,
    /// by at most one capacity. Returns whether there was something to settle.
    ///
    /// Charges in a shared store are settled in the background. If the store fails then, they stay as they are.
    pub fn settle(&self, actual: u64) -> bool {
        let receipt = self.receipt().take();
        receipt.is_some_and(|receipt| {
            self.enforcer.limiter().settle_in_background(receipt, Some(actual)).is_ok()
        })
    }

    /// As [`settle`](Self::settle), but only the charges of the limit with this name, and of its wider limits.
    pub fn settle_limit(&self, limit: &str, actual: u64) -> bool {
        let is_its = |place: usize| {
            let status = self.statuses.get(place).and_then(|status| self.enforcer.descriptor(status.id));
            status.is_some_and(|descriptor| descriptor.belongs_to(limit))
        };
        let mut kept = self.receipt();
        let Some((its, rest)) = kept.take().map(|receipt| receipt.part(is_its)) else { return false };
        *kept = Some(rest).filter(|rest| !rest.is_empty());
        !its.is_empty() && self.enforcer.limiter().settle_in_background(its, Some(actual)).is_ok()
    }

    /// Refunds every charge, because no work was done. Returns whether there was something to refund. Charges in a shared store
    /// are refunded in the background.
    pub fn refund(&self) -> bool {
        let receipt = self.receipt().take();
        receipt.is_some_and(|receipt| self.enforcer.limiter().settle_in_background(receipt, None).is_ok())
    }

    /// Settles what the head of a response determines.
    ///
    /// A 401 denies the identity that the client claimed: its charges are refunded, so that nobody can spend another client's
    /// quota, and the client's address is charged on the same limits instead. A charge whose key contains the address stays. A
    /// cost that the response reports replaces the estimate: a whole number, at most the limit's `max`; if it is missing, sent
    /// twice or not a number, the estimate stays. All other charges can still be settled or refunded.
    pub fn settle_by_response(&self, status: StatusCode, headers: &HeaderMap) {
        if self.pending.may_settle(status) {
            let mut kept = self.receipt();
            let settled = |receipt| self.pending.settle(receipt, self.enforcer.limiter(), (status, headers));
            *kept = kept.take().map(settled).filter(|rest| !rest.is_empty());
        }
    }

    fn receipt(&self) -> MutexGuard<'_, Option<Receipt>> {
        self.receipt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.limits().map(|status| (status.name(), status.decision.remaining));
        f.write_str("Admission ")?;
        f.debug_map().entries(limits).finish()
    }
}
