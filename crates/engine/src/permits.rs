//! Permits that a request holds while it is in progress. How they are acquired is `acquired.rs`.

use smallvec::SmallVec;
use tollgate::Permit;

/// The permits that a request holds, until they are dropped.
#[derive(Debug, Default)]
#[must_use = "permits that are dropped limit nothing"]
pub struct Permits(pub(crate) SmallVec<[Permit; 1]>);

impl Permits {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When the first of them has to be dropped, as a time from when they were acquired: the shortest
    /// [`max_hold`](tollgate::ConcurrencyLimit::max_hold). `None` if they may be held for any time.
    #[must_use]
    pub fn max_hold(&self) -> Option<std::time::Duration> {
        self.0.iter().filter_map(|permit| permit.limit().max_hold()).min()
    }
}
