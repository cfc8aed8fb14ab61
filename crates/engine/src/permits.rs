//! Permits that a request holds while it is in progress. How they are acquired is `acquired.rs`.

use std::time::Duration;

use smallvec::SmallVec;
use tollgate::Permit;
use tollgate::adaptive::{AdaptivePermit, Outcome};

/// The permits that a request holds, until they are dropped.
#[derive(Debug, Default)]
#[must_use = "permits that are dropped limit nothing"]
pub struct Permits {
    pub(crate) fixed: SmallVec<[Permit; 1]>,
    /// Those of adaptive limits, with the longest time for which each may be held.
    pub(crate) adaptive: Vec<(AdaptivePermit, Option<Duration>)>,
}

impl Permits {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.adaptive.is_empty()
    }

    /// Whether one of them is void: see [`Permit::is_void`].
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.fixed.iter().any(Permit::is_void)
    }

    /// What says whether one of them has become void, for who does not hold them.
    #[cfg(feature = "redis")]
    #[must_use]
    pub fn validities(&self) -> Validities {
        Validities(self.fixed.iter().filter_map(|permit| permit.validity().cloned()).collect())
    }

    /// When the first of them has to be dropped, as a time from when they were acquired: the shortest
    /// [`max_hold`](tollgate::ConcurrencyLimit::max_hold). `None` if they may be held for any time.
    #[must_use]
    pub fn max_hold(&self) -> Option<Duration> {
        let fixed = self.fixed.iter().filter_map(|permit| permit.limit().max_hold());
        fixed.chain(self.adaptive.iter().filter_map(|(_, max_hold)| *max_hold)).min()
    }

    /// Tells adaptive limits how the request went, as soon as that is known: its latency ends here, and the permits last on.
    pub fn record(&mut self, outcome: Outcome) {
        self.adaptive.iter_mut().for_each(|(permit, _)| permit.record(outcome));
    }
}

/// What says whether permits of a request have become void: then it must not go on. Empty if it has no permits in a shared store.
#[cfg(feature = "redis")]
#[derive(Clone, Debug, Default)]
pub struct Validities(SmallVec<[tollgate::redis::Validity; 1]>);

#[cfg(feature = "redis")]
impl Validities {
    /// Whether one of the permits is void: see [`Permit::is_void`]. Ask before every step that the limit is to bound.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.0.iter().any(tollgate::redis::Validity::is_void)
    }
}
