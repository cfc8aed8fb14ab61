//! The enforcer: limits in force, and the one way to check a request against them.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use smallvec::SmallVec;
use tollgate::{FailureRule, Kind, Limiter, Receipt, Unavailable, Verdict};
use tollgate_algorithms::Micros;

use crate::admission::Admission;
use crate::descriptor::{LimitDescriptor, Visibility, ZeroStatus};
use crate::error::CheckError;
use crate::failure::{self, Undecided};
use crate::fingerprint::fingerprint;
use crate::head::RequestHead;
use crate::ids::DescriptorId;
use crate::outcome::{Outcome, Refusal, Undetermined, refusing};
#[cfg(feature = "policy")]
use crate::policy_limits::PolicyLimits;
use crate::rules::Rules;
use crate::scratch::Scratch;
use crate::settlement::{PendingSettlement, contains};
use crate::status::{Degradation, LimitStatus, StoredStatus, binding};

/// Limits in force: those of a policy document, or [`Rules`] written in Rust.
///
/// An enforcer does not change. To change limits, create another enforcer on the same limiter and replace the old one as a
/// whole: a limit is identified by its name, so keys keep what they have used.
///
/// Check requests from any number of threads, each with a [`Scratch`] of its own.
pub struct Enforcer {
    source: LimitSource,
    descriptors: Vec<Option<LimitDescriptor>>,
    waits: bool,
    /// Whether some descriptor is of a wider limit.
    has_wider: bool,
    fingerprints: AtomicBool,
}

/// Where the limits come from.
pub(crate) enum LimitSource {
    #[cfg(feature = "policy")]
    Policy(Arc<PolicyLimits>),
    Rules(Rules),
}

/// What a source knows after a charge, before it becomes an outcome.
pub(crate) struct SourceCharge {
    pub(crate) receipt: Option<Receipt>,
    pub(crate) decided_at: Micros,
    pub(crate) path: Option<String>,
    #[cfg(feature = "policy")]
    pub(crate) matched: Option<tollgate_policy::RequestMatch>,
}

impl From<Rules> for Enforcer {
    fn from(rules: Rules) -> Self {
        let (descriptors, waits) = (rules.descriptors(), rules.waits());
        Self::new(LimitSource::Rules(rules), descriptors, waits)
    }
}

#[cfg(feature = "policy")]
impl From<PolicyLimits> for Enforcer {
    fn from(limits: PolicyLimits) -> Self {
        Arc::new(limits).into()
    }
}

#[cfg(feature = "policy")]
impl From<Arc<PolicyLimits>> for Enforcer {
    fn from(limits: Arc<PolicyLimits>) -> Self {
        let (descriptors, waits) = (limits.descriptors(), limits.waits());
        Self::new(LimitSource::Policy(limits), descriptors, waits)
    }
}

impl Enforcer {
    fn new(source: LimitSource, descriptors: Vec<Option<LimitDescriptor>>, waits: bool) -> Self {
        let has_wider = descriptors.iter().flatten().any(LimitDescriptor::is_wider);
        Self { source, descriptors, waits, has_wider, fingerprints: AtomicBool::new(false) }
    }

    /// Makes every check from now on compute a [fingerprint](LimitStatus::key_fingerprint) of each key.
    pub fn enable_key_fingerprints(&self) {
        self.fingerprints.store(true, Ordering::Relaxed);
    }

    /// The limiter that holds the state.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        match &self.source {
            #[cfg(feature = "policy")]
            LimitSource::Policy(limits) => limits.limiter(),
            LimitSource::Rules(rules) => rules.limiter(),
        }
    }

    /// The limits of a policy document; `None` for rules.
    #[cfg(feature = "policy")]
    #[must_use]
    pub fn policy_limits(&self) -> Option<&PolicyLimits> {
        match &self.source {
            LimitSource::Policy(limits) => Some(limits),
            LimitSource::Rules(_) => None,
        }
    }

    /// The rules; `None` for a policy document.
    #[must_use]
    pub fn rules(&self) -> Option<&Rules> {
        match &self.source {
            #[cfg(feature = "policy")]
            LimitSource::Policy(_) => None,
            LimitSource::Rules(rules) => Some(rules),
        }
    }

    /// Every set of numbers, by [`DescriptorId`]. `None` for those that charge nothing.
    #[must_use]
    pub fn descriptors(&self) -> &[Option<LimitDescriptor>] {
        &self.descriptors
    }

    /// The descriptor with this id.
    #[must_use]
    pub fn descriptor(&self, id: DescriptorId) -> Option<&LimitDescriptor> {
        self.descriptors.get(id.index())?.as_ref()
    }

    /// The descriptor of a limit that refused, which always exists.
    pub(crate) fn descriptor_or_empty(&self, id: DescriptorId) -> &LimitDescriptor {
        static EMPTY: std::sync::LazyLock<LimitDescriptor> = std::sync::LazyLock::new(|| {
            let (visibility, zero_status) = (Visibility::Hidden, ZeroStatus::Forbidden);
            let limit = tollgate_algorithms::Limit::Unlimited;
            LimitDescriptor::new("", limit).with_visibility(visibility).with_zero_status(zero_status)
        });
        self.descriptor(id).unwrap_or(&EMPTY)
    }

    pub(crate) fn status(&self, stored: &StoredStatus) -> Option<LimitStatus<'_>> {
        self.descriptor(stored.id).map(|descriptor| stored.with(descriptor))
    }

    /// Whether a check may wait: for a shared store, or because a limit lets requests wait for their turn. Then use [`check`](Self::check).
    #[must_use]
    pub const fn waits(&self) -> bool {
        self.waits
    }

    /// Checks a request against its limits, and charges it if all of them admit it. The future is ready at once unless a limit
    /// is counted in a shared store. If it is dropped before it is ready, nothing was charged in this process.
    ///
    /// # Errors
    /// If the request cannot be checked: see [`CheckError`]. Nothing is charged then.
    pub async fn check(
        self: &Arc<Self>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        scratch.verdict = None;
        match &self.source {
            #[cfg(feature = "policy")]
            LimitSource::Policy(limits) => limits.check(self, head, scratch).await,
            LimitSource::Rules(rules) => rules.check(self, head, scratch).await,
        }
    }

    /// Like [`check`](Self::check), for callers without a runtime. If a limit is counted in a shared store, it blocks the thread.
    ///
    /// # Errors
    /// Like [`check`](Self::check).
    pub fn try_check(
        self: &Arc<Self>,
        head: &RequestHead<'_>,
        scratch: &mut Scratch,
    ) -> Result<Outcome, CheckError> {
        scratch.verdict = None;
        match &self.source {
            #[cfg(feature = "policy")]
            LimitSource::Policy(limits) => limits.try_check(self, head, scratch),
            LimitSource::Rules(rules) => rules.try_check(self, head, scratch),
        }
    }

    /// The status of each hit of a verdict. `hits` are their descriptors and keys.
    #[inline]
    pub(crate) fn statuses<'a>(
        &self,
        verdict: &Verdict,
        hits: impl Iterator<Item = (DescriptorId, &'a [u8])>,
    ) -> SmallVec<[StoredStatus; 2]> {
        let mut statuses = SmallVec::new();
        // Pushed one by one: `collect` takes as long as a charge.
        for ((id, key), answer) in hits.zip(verdict.results()) {
            let key_fingerprint = self.fingerprint(id, key);
            statuses.push(StoredStatus {
                id,
                decision: answer.decision(),
                mode: answer.mode(),
                source: answer.source(),
                is_binding: false,
                key_fingerprint,
                computed: None,
            });
        }
        self.mark_binding(&mut statuses);
        statuses
    }

    /// The fingerprint of a key, if they are computed.
    #[inline]
    pub(crate) fn fingerprint(&self, id: DescriptorId, key: &[u8]) -> u64 {
        match self.descriptor(id) {
            Some(descriptor) if self.fingerprints.load(Ordering::Relaxed) => {
                fingerprint(descriptor.name(), key)
            }
            _ => 0,
        }
    }

    /// The outcome where the store of a concurrency limit gave no answer, and the limit denies then.
    #[cfg(feature = "policy")]
    pub(crate) fn unknown(
        why: &'static str,
        (decided_at, matched): (Micros, tollgate_policy::RequestMatch),
    ) -> Outcome {
        let charged = SourceCharge { receipt: None, decided_at, path: None, matched: Some(matched) };
        undetermined(Unavailable::Store(why), &charged)
    }

    /// The outcome where a concurrency limit refuses: nothing was charged, and no permit is held.
    #[cfg(feature = "policy")]
    pub(crate) fn busy(
        self: &Arc<Self>,
        statuses: SmallVec<[StoredStatus; 2]>,
        (decided_at, matched): (Micros, tollgate_policy::RequestMatch),
    ) -> Outcome {
        let charged = SourceCharge { receipt: None, decided_at, path: None, matched: Some(matched) };
        let Some((place, retry)) = refusing(self, &statuses) else {
            return undetermined(Unavailable::Store("undecided"), &charged);
        };
        Outcome::Refused(Refusal {
            enforcer: Arc::clone(self),
            statuses,
            decided_at,
            degradation: Degradation::None,
            place,
            retry,
            hit: place,
            matched: charged.matched,
        })
    }

    /// Finds out which wider limits are closer to refusing than the limits that they belong to. Most requests meet none.
    fn mark_binding(&self, statuses: &mut [StoredStatus]) {
        let is_wider =
            |status: &StoredStatus| self.descriptor(status.id).is_some_and(LimitDescriptor::is_wider);
        if !self.has_wider || !statuses.iter().any(is_wider) {
            return;
        }
        let binding = binding(statuses.iter().map(|status| self.status(status)));
        for (place, status) in statuses.iter_mut().enumerate() {
            status.is_binding = contains(binding, place);
        }
    }

    /// The outcome of a charge. `finish` completes an admission with what only its source knows.
    #[inline]
    pub(crate) fn outcome(
        self: &Arc<Self>,
        verdict: Option<&Verdict>,
        (statuses, charged): (SmallVec<[StoredStatus; 2]>, SourceCharge),
        fails: impl Iterator<Item = FailureRule>,
        finish: impl FnOnce(&mut Admission),
    ) -> Outcome {
        let degradation = Degradation::of(verdict);
        let decided_at = match verdict {
            None => None,
            Some(verdict) => match verdict.kind() {
                Kind::Granted => Some(charged.decided_at),
                Kind::Refused => return self.refused(verdict, (statuses, charged), degradation),
                Kind::Unavailable(why) => match failure::decide(why, fails) {
                    Undecided::Proceeds => None,
                    Undecided::Undetermined(why) => return undetermined(why, &charged),
                },
            },
        };
        let mut admission = Admission {
            enforcer: Arc::clone(self),
            statuses,
            decided_at,
            degradation,
            is_degraded: verdict.is_some_and(Verdict::is_degraded),
            path: charged.path,
            tier: None,
            receipt: Mutex::new(charged.receipt),
            settled: OnceLock::new(),
            pending: PendingSettlement::default(),
            permits: Mutex::default(),
            #[cfg(feature = "policy")]
            matched: charged.matched,
        };
        finish(&mut admission);
        Outcome::Admitted(admission)
    }

    fn refused(
        self: &Arc<Self>,
        verdict: &Verdict,
        (statuses, charged): (SmallVec<[StoredStatus; 2]>, SourceCharge),
        degradation: Degradation,
    ) -> Outcome {
        // A refusal without a limit that refuses cannot be explained, and it is not a grant.
        let Some((place, retry)) = refusing(self, &statuses) else {
            return undetermined(Unavailable::Store("undecided"), &charged);
        };
        Outcome::Refused(Refusal {
            enforcer: Arc::clone(self),
            statuses,
            decided_at: charged.decided_at,
            degradation,
            place,
            retry,
            hit: verdict.refused_by().unwrap_or(place),
            #[cfg(feature = "policy")]
            matched: charged.matched,
        })
    }
}

const fn undetermined(why: Unavailable, _charged: &SourceCharge) -> Outcome {
    Outcome::Undetermined(Undetermined {
        why,
        #[cfg(feature = "policy")]
        matched: _charged.matched,
    })
}

impl fmt::Debug for Enforcer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            #[cfg(feature = "policy")]
            LimitSource::Policy(limits) => write!(f, "Enforcer({limits:?})"),
            LimitSource::Rules(rules) => write!(f, "Enforcer({rules:?})"),
        }
    }
}
