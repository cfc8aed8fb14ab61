//! What a handler can see of its request's limits, and settle or refund. An extension of the request.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use tollgate_engine::{Admission, Degradation, LimitStatus};

/// The admission of a request, for its handler.
///
/// The layer puts it into the request's extensions; with the feature `axum` it is an extractor. Clones share one admission, and
/// its charges can be settled or refunded once: the first call does it. Headers show what was settled or refunded before the
/// head of the response was complete.
///
/// If [layers are nested](crate::TollgateLayer#layers-inside-layers), it is the admission by all of them.
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use tollgate_tower::Admitted;
/// async fn complete(admitted: Admitted) -> String {
///     let tokens = 7; // what it took in the end
///     admitted.settle(tokens);
///     "done".into()
/// }
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::get(complete));
/// # }
/// ```
#[derive(Clone)]
pub struct Admitted(Arc<Layered>);

/// The admission by one layer, and those by the layers around it.
struct Layered {
    admission: Admission,
    outer: Option<Admitted>,
    inside: Mutex<InnerAdmissions>,
}

/// What the layers inside made of the request that a layer admitted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct InnerAdmissions {
    /// Whether the last of them to be asked refused it. Middleware in between may have tried more than once.
    pub(crate) is_refused: bool,
    /// What stood in for the states of their keys.
    pub(crate) degradation: Degradation,
}

impl Admitted {
    /// The admission by a layer inside the ones that admitted the request before.
    #[inline]
    pub(crate) fn new(admission: Admission, outer: Option<Self>) -> Self {
        if let Some(outer) = &outer {
            outer.note_inside(false, admission.degradation());
        }
        Self(Arc::new(Layered { admission, outer, inside: Mutex::default() }))
    }

    /// Notes for this layer, and those around it, what a layer inside made of the request.
    pub(crate) fn note_inside(&self, is_refused: bool, degradation: Degradation) {
        for layered in self.inside_out() {
            let mut inside = lock(&layered.inside);
            inside.is_refused = is_refused;
            inside.degradation = inside.degradation.max(degradation);
        }
    }

    /// What the layers inside made of the request.
    pub(crate) fn inside(&self) -> InnerAdmissions {
        *lock(&self.0.inside)
    }

    /// The admission by this layer.
    pub(crate) fn admission(&self) -> &Admission {
        &self.0.admission
    }

    /// This layer and those around it, from the inside out.
    fn inside_out(&self) -> impl Iterator<Item = &Layered> {
        std::iter::successors(Some(&*self.0), |layered| layered.outer.as_ref().map(|outer| &*outer.0))
    }

    /// The admissions, those of outer layers first.
    fn admissions(&self) -> impl DoubleEndedIterator<Item = &Admission> {
        let admissions: SmallVec<[&Admission; 2]> =
            self.inside_out().map(|layered| &layered.admission).collect();
        admissions.into_iter().rev()
    }

    /// The status of every limit of the request, in the order of the rules or of the policy; those of outer layers first.
    pub fn limits(&self) -> impl Iterator<Item = LimitStatus<'_>> {
        self.admissions().flat_map(Admission::limits)
    }

    /// The enforced limit with the least remaining quota. `None` if no enforced limit has numbers.
    #[must_use]
    pub fn binding_limit(&self) -> Option<LimitStatus<'_>> {
        self.admissions().filter_map(Admission::binding_limit).min_by_key(LimitStatus::binding_rank)
    }

    /// Whether something stood in for the state of a key: a share, because a store failed, the overflow bucket, because the
    /// memory had no room, or nothing. Each limit's [source](LimitStatus::source) says which.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.admissions().any(Admission::is_degraded)
    }

    /// What stood in for the states of the keys of enforced limits.
    pub(crate) fn degradation(&self) -> Degradation {
        self.admissions().map(Admission::degradation).fold(Degradation::None, Degradation::max)
    }

    /// The tier whose numbers were charged, if there is one; of several, the innermost layer's.
    #[must_use]
    pub fn tier(&self) -> Option<&str> {
        self.admissions().rev().find_map(Admission::tier)
    }

    /// Replaces every cost that was an [estimate](crate::Rule::estimated) with the actual cost: refunds what was charged in
    /// excess, and charges what is missing, by at most one capacity. Other costs stay. Returns whether there was something to
    /// settle.
    ///
    /// Charges in a shared store are settled in the background. If the store fails then, they stay as they are.
    #[expect(clippy::must_use_candidate, reason = "settling has an effect of its own")]
    pub fn settle(self, actual: u64) -> bool {
        self.admissions().filter(|admission| admission.settle(actual)).count() > 0
    }

    /// Like [`settle`](Self::settle), but only the charges of the limit with this name, whether or not they were estimates.
    #[expect(clippy::must_use_candidate, reason = "settling has an effect of its own")]
    pub fn settle_limit(&self, limit: &str, actual: u64) -> bool {
        self.admissions().filter(|admission| admission.settle_limit(limit, actual)).count() > 0
    }

    /// Refunds every charge that was not settled, because no work was done. Returns whether there was something to refund.
    /// Charges in a shared store are refunded in the background.
    #[expect(clippy::must_use_candidate, reason = "refunding has an effect of its own")]
    pub fn refund(self) -> bool {
        self.admissions().filter(|admission| admission.refund()).count() > 0
    }
}

fn lock(inside: &Mutex<InnerAdmissions>) -> MutexGuard<'_, InnerAdmissions> {
    inside.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.limits()).finish()
    }
}
