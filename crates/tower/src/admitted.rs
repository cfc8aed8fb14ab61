//! What a handler can see of its request's limits, and settle or refund. An extension of the request.

use std::fmt;
use std::sync::Arc;

use tollgate_engine::{Admission, LimitStatus};

/// The admission of a request, for its handler.
///
/// The layer puts it into the request's extensions; with the feature `axum` it is an extractor. Clones share one admission, and
/// its charges can be settled or refunded once: the first call does it.
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
pub struct Admitted(Arc<Admission>);

impl Admitted {
    #[inline]
    pub(crate) fn new(admission: Admission) -> Self {
        Self(Arc::new(admission))
    }

    pub(crate) fn admission(&self) -> &Admission {
        &self.0
    }

    /// The status of every limit of the request, in the policy's order.
    pub fn limits(&self) -> impl Iterator<Item = LimitStatus<'_>> {
        self.0.limits()
    }

    /// The enforced limit with the least remaining quota. `None` if no enforced limit has numbers.
    #[must_use]
    pub fn binding_limit(&self) -> Option<LimitStatus<'_>> {
        self.0.binding_limit()
    }

    /// Whether something stood in for the state of a key: a share, because a store failed, the overflow bucket, because the
    /// memory had no room, or nothing. Each limit's [source](LimitStatus::source) says which.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.0.is_degraded()
    }

    /// The tier whose numbers were charged, if there is one.
    #[must_use]
    pub fn tier(&self) -> Option<&str> {
        self.0.tier()
    }

    /// Replaces the cost of every charge with the actual cost: refunds what was charged in excess, and charges what is missing,
    /// by at most one capacity. Returns whether there was something to settle.
    ///
    /// Charges in a shared store are settled in the background. If the store fails then, they stay as they are.
    #[expect(clippy::must_use_candidate, reason = "settling has an effect of its own")]
    pub fn settle(self, actual: u64) -> bool {
        self.0.settle(actual)
    }

    /// Like [`settle`](Self::settle), but only the charges of the limit with this name.
    #[expect(clippy::must_use_candidate, reason = "settling has an effect of its own")]
    pub fn settle_limit(&self, limit: &str, actual: u64) -> bool {
        self.0.settle_limit(limit, actual)
    }

    /// Refunds every charge, because no work was done. Returns whether there was something to refund. Charges in a shared store
    /// are refunded in the background.
    #[expect(clippy::must_use_candidate, reason = "refunding has an effect of its own")]
    pub fn refund(self) -> bool {
        self.0.refund()
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.limits()).finish()
    }
}
