//! An admission: what a request was charged, and what is still owed. It settles, refunds, and releases when it is dropped.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use smallvec::SmallVec;
use tollgate::Receipt;
use tollgate_algorithms::{Decision, Micros, Mode};

use crate::enforcer::Enforcer;
use crate::permits::Permits;
use crate::settlement::{PendingSettlement, contains};
use crate::status::{Degradation, LimitStatus, StoredStatus};

/// A request that may proceed: the status of its limits, its charges, and what is still owed.
///
/// Charges can be settled or refunded once; the first call wins. If the admission is dropped before, every charge stays: a
/// request that was started has used its quota. The admission also owns resources that a request holds while it is in
/// flight, and releases them when it is dropped.
pub struct Admission {
    pub(crate) enforcer: Arc<Enforcer>,
    /// One for each hit, in the order of the hits, and then one for each permit.
    pub(crate) statuses: SmallVec<[StoredStatus; 2]>,
    pub(crate) decided_at: Option<Micros>,
    pub(crate) degradation: Degradation,
    pub(crate) is_degraded: bool,
    pub(crate) path: Option<String>,
    pub(crate) tier: Option<Box<str>>,
    /// The charges, until somebody settles or refunds them.
    pub(crate) receipt: Mutex<Option<Receipt>>,
    /// The decisions after charges were settled or refunded, by the place of the hit; the last one counts.
    pub(crate) settled: OnceLock<Mutex<Vec<(usize, Decision)>>>,
    pub(crate) pending: PendingSettlement,
    pub(crate) permits: Mutex<Permits>,
    #[cfg(feature = "policy")]
    pub(crate) matched: Option<tollgate_policy::RequestMatch>,
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
            settled: OnceLock::new(),
            pending: PendingSettlement::default(),
            permits: Mutex::default(),
            #[cfg(feature = "policy")]
            matched: None,
        }
    }

    /// The enforcer that admitted the request.
    #[must_use]
    pub const fn enforcer(&self) -> &Arc<Enforcer> {
        &self.enforcer
    }

    /// The status of every limit of the request, in the policy's order. A charge that was settled or refunded is reported as it
    /// is now; in a shared store, where settling takes its time, as it was charged, or less if it cost more.
    pub fn limits(&self) -> impl Iterator<Item = LimitStatus<'_>> {
        self.places().map(|(_, status)| status)
    }

    /// The status of every limit, with the place of its hit.
    fn places(&self) -> impl Iterator<Item = (usize, LimitStatus<'_>)> {
        let settled = self.settled.get().map(|settled| lock(settled).clone()).unwrap_or_default();
        self.statuses.iter().enumerate().filter_map(move |(place, status)| {
            let mut status = self.enforcer.status(status)?;
            if let Some((_, decision)) = settled.iter().rfind(|(other, _)| *other == place) {
                status.decision = *decision;
            }
            Some((place, status))
        })
    }

    /// Whether a rule [computed](crate::Rule::limit_for) the numbers of some limit for this request.
    #[must_use]
    pub fn has_computed_limits(&self) -> bool {
        self.statuses.iter().any(|status| status.computed.is_some())
    }

    /// The status of every limit that clients see after a response with this status code. A 401 refunds the charges to the
    /// identity that the client claimed, and clients never see the numbers of another identity.
    pub fn shown_limits(&self, status: StatusCode) -> impl Iterator<Item = LimitStatus<'_>> {
        let denied = self.pending.denied(status);
        let kept = self.places().filter(move |(place, _)| !contains(denied, *place));
        kept.map(|(_, status)| status).filter(LimitStatus::is_shown)
    }

    /// The enforced limit with the least remaining quota. `None` if no enforced limit has numbers.
    #[must_use]
    pub fn binding_limit(&self) -> Option<LimitStatus<'_>> {
        let enforced =
            self.limits().filter(|status| status.mode == Mode::Enforced && status.source.has_numbers());
        enforced.min_by_key(LimitStatus::binding_rank)
    }

    /// The wall-clock time of the decision. `None` if no limit applied or no decision was possible.
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

    /// The tier whose numbers were charged. `None` if there is none, or if [only responses settle](crate::PolicyLimits::non_refundable).
    #[must_use]
    pub fn tier(&self) -> Option<&str> {
        self.tier.as_deref()
    }

    /// The operation that the request matched; `None` for rules.
    #[cfg(feature = "policy")]
    #[must_use]
    pub const fn matched(&self) -> Option<tollgate_policy::RequestMatch> {
        self.matched
    }

    /// Takes the permits out, for whoever knows when the work ends. If they stay, they are released with the admission.
    pub fn take_permits(&self) -> Permits {
        std::mem::take(&mut self.permits.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What says whether permits of the request have become void. Ask for it before they are [taken out](Self::take_permits).
    #[cfg(feature = "redis")]
    pub fn validities(&self) -> crate::Validities {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner).validities()
    }

    /// Tells adaptive limits how the request went, as soon as that is known: see [`Permits::record`]. An admission that is dropped
    /// before teaches them nothing.
    pub fn record(&self, outcome: tollgate::adaptive::Outcome) {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner).record(outcome);
    }

    /// How long the request may hold its permits, from when they were acquired: see [`Permits::max_hold`].
    #[must_use]
    pub fn max_hold(&self) -> Option<Duration> {
        self.permits.lock().unwrap_or_else(PoisonError::into_inner).max_hold()
    }

    /// Replaces every cost that was an estimate with the actual cost: refunds what was charged in excess, and charges what is
    /// missing, by at most one capacity. Costs that were no estimates stay. Returns whether there was something to settle.
    ///
    /// Charges in a shared store are settled in the background. If the store fails then, they stay as they are.
    pub fn settle(&self, actual: u64) -> bool {
        self.adjust(Some(actual), |place| contains(self.pending.estimates, place))
    }

    /// Like [`settle`](Self::settle), but only the charges of the limit with this name and of its wider limits, whether or not they
    /// were estimates.
    pub fn settle_limit(&self, limit: &str, actual: u64) -> bool {
        self.adjust(Some(actual), |place| {
            let status = self.statuses.get(place).and_then(|status| self.enforcer.descriptor(status.id));
            status.is_some_and(|descriptor| descriptor.belongs_to(limit))
        })
    }

    /// Refunds every charge that was not settled, because no work was done. Returns whether there was something to refund.
    /// Charges in a shared store are refunded in the background.
    pub fn refund(&self) -> bool {
        self.adjust(None, |_| true)
    }

    /// Brings some charges to their actual cost, or refunds them. Returns whether there were any.
    fn adjust(&self, actual: Option<u64>, which: impl Fn(usize) -> bool) -> bool {
        let mut kept = lock(&self.receipt);
        let Some((its, rest)) = kept.take().map(|receipt| receipt.part(which)) else { return false };
        *kept = Some(rest).filter(|rest| !rest.is_empty());
        !its.is_empty() && self.apply(its, actual)
    }

    /// Brings the charges of a receipt to their actual cost, or refunds them, and remembers the numbers after that.
    fn apply(&self, receipt: Receipt, actual: Option<u64>) -> bool {
        let mut settled = lock(self.settled.get_or_init(Mutex::default));
        let remember = |place: usize, decision: Option<Decision>| {
            let Some(charged) = self.statuses.get(place).map(|status| status.decision) else { return };
            settled.push((place, after(&charged, decision, actual)));
        };
        self.enforcer.limiter().settle_for_status(receipt, actual, remember).is_ok()
    }

    /// Settles what the head of a response determines.
    ///
    /// A 401 denies the identity that the client claimed: its charges are refunded, so that nobody can spend another client's
    /// quota, and the client's address is charged on the same limits instead. A charge whose key contains the address stays. A
    /// cost that the response reports replaces the estimate: a whole number, at most the limit's `max`; if it is missing, sent
    /// twice or not a number, the estimate stays. All other charges can still be settled or refunded.
    pub fn settle_by_response(&self, status: StatusCode, headers: &HeaderMap) {
        if self.pending.may_settle(status) {
            let settle = |receipt: Receipt, actual| {
                self.apply(receipt, Some(actual));
            };
            let settle_all =
                |receipt| self.pending.settle(receipt, self.enforcer.limiter(), (status, headers), settle);
            let mut kept = lock(&self.receipt);
            *kept = kept.take().map(settle_all).filter(|rest| !rest.is_empty());
        }
    }
}

/// The decision on a hit after its charge was brought to the actual cost. `now` is the status of its key, if it is known.
fn after(charged: &Decision, now: Option<Decision>, actual: Option<u64>) -> Decision {
    match now {
        // All waits of an admission count from the instant of the charge.
        Some(now) => {
            let later = now.at.saturating_sub(charged.at);
            Decision { reset_after: now.reset_after.saturating_add(later), ..now }
        }
        None => {
            let missing = actual.unwrap_or(0).saturating_sub(charged.charged);
            Decision { remaining: charged.remaining.saturating_sub(missing), ..*charged }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = self.limits().map(|status| (status.name(), status.decision.remaining));
        f.write_str("Admission ")?;
        f.debug_map().entries(limits).finish()
    }
}
