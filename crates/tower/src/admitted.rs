//! What a handler may know of its request's limits, and do about them: settle, or give back. An extension of the request.

use std::fmt;
use std::sync::{Arc, MutexGuard};

use http::{HeaderMap, StatusCode};
use tollgate::{Receipt, Source};
use tollgate_algorithms::{Micros, Mode};

use crate::fields::binds;
use crate::front::{Admission, Entry, Front};

/// A request that its limits have let through: for its handler.
///
/// The layer puts it into the request's extensions; with the feature `axum` it is an extractor. Copies are of one admission, and
/// what was charged can be settled or given back once: whoever comes first does it.
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
pub struct Admitted(Arc<Inner>);

struct Inner {
    front: Front,
    admission: Admission,
}

/// How a request stands with one limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing<'a> {
    /// The limit's name.
    pub name: &'a str,
    /// How much there is.
    pub limit: u64,
    /// How much is left.
    pub remaining: u64,
    /// After how long, if nothing more is charged, all of it is there again.
    pub reset_after: Micros,
    /// Whether a refusal counts.
    pub mode: Mode,
    /// Whether the limit would have let it through. Only one that does not count may say no.
    pub granted: bool,
    /// By what it was decided. By nothing, the numbers are those of a client never seen.
    pub source: Source,
}

impl Admitted {
    /// What a handler gets.
    #[inline]
    pub(crate) fn new(front: &Front, admission: Admission) -> Self {
        Self(Arc::new(Inner { front: front.clone(), admission }))
    }

    /// Every limit that the request met, in the policy's order.
    pub fn limits(&self) -> impl Iterator<Item = Standing<'_>> {
        self.0.admission.entries.iter().map(|entry| self.standing(entry))
    }

    /// The enforced limit that binds: the one with the least remaining. `None` if there is none whose numbers are known.
    #[must_use]
    pub fn binding(&self) -> Option<Standing<'_>> {
        let known = self.0.admission.entries.iter().filter(|entry| entry.source.has_numbers());
        let enforced = known.filter(|entry| entry.mode == Mode::Enforced);
        enforced.min_by_key(|entry| binds(&entry.decision)).map(|entry| self.standing(entry))
    }

    /// Whether it was let through without its limits' own count: a shared store gave no decision, so that a share was charged
    /// or nothing; or there was no room for a key, so that a cell was charged which new keys have in common. Each limit's
    /// [source](Standing::source) says which.
    #[must_use]
    pub fn degraded(&self) -> bool {
        self.0.admission.degraded
    }

    /// The tier whose numbers were charged, if there is one.
    #[must_use]
    pub fn tier(&self) -> Option<&str> {
        self.0.admission.tier.as_deref()
    }

    /// Brings every charge to what the work turned out to cost: too much is given back, too little is charged on top, by at
    /// most one capacity. Whether there was something to settle.
    ///
    /// What was charged in a shared store is changed in the background, so that nobody waits for it; if the store gives no
    /// answer then, what was charged stays charged.
    #[expect(clippy::must_use_candidate, reason = "it is done all the same")]
    pub fn settle(self, actual: u64) -> bool {
        self.take()
            .is_some_and(|receipt| self.0.front.limiter().settle_in_background(receipt, Some(actual)).is_ok())
    }

    /// As [`settle`](Self::settle), but only the charges of the limit with this name.
    #[expect(clippy::must_use_candidate, reason = "it is done all the same")]
    pub fn settle_only(&self, limit: &str, actual: u64) -> bool {
        let is_its = |place: usize| {
            self.0.admission.entries.get(place).is_some_and(|entry| self.0.front.name(entry.card) == limit)
        };
        let mut kept = self.receipt();
        let Some((its, rest)) = kept.take().map(|receipt| receipt.part(is_its)) else { return false };
        *kept = Some(rest).filter(|rest| !rest.is_empty());
        !its.is_empty() && self.0.front.limiter().settle_in_background(its, Some(actual)).is_ok()
    }

    /// Gives every charge back: nothing was done. Whether there was something to give back. In a shared store as
    /// [`settle`](Self::settle).
    #[expect(clippy::must_use_candidate, reason = "it is done all the same")]
    pub fn refund(self) -> bool {
        self.take().is_some_and(|receipt| self.0.front.limiter().settle_in_background(receipt, None).is_ok())
    }

    /// Does with the response what is to be done, and writes what it has to carry.
    pub(crate) fn responded(&self, status: StatusCode, headers: &mut HeaderMap) {
        self.0.admission.responded(&self.0.front, status, headers);
    }

    fn receipt(&self) -> MutexGuard<'_, Option<Receipt>> {
        self.0.admission.receipt()
    }

    fn take(&self) -> Option<Receipt> {
        self.receipt().take()
    }

    fn standing(&self, entry: &Entry) -> Standing<'_> {
        Standing {
            name: self.0.front.name(entry.card),
            limit: entry.decision.limit,
            remaining: entry.decision.remaining,
            reset_after: entry.decision.reset_after,
            mode: entry.mode,
            granted: entry.decision.granted(),
            source: entry.source,
        }
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.limits()).finish()
    }
}
