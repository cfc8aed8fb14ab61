//! Reusable buffers, so that a check hardly allocates. One per thread or connection.

use tollgate::Verdict;
#[cfg(feature = "policy")]
use tollgate_algorithms::Micros;

/// The buffers of a check, and its details: the hits and the verdict of the last check.
#[derive(Debug, Default)]
pub struct Scratch {
    #[cfg(feature = "policy")]
    pub(crate) target: String,
    #[cfg(feature = "policy")]
    pub(crate) request: tollgate_policy::Scratch,
    #[cfg(feature = "policy")]
    pub(crate) hits: tollgate_policy::Hits,
    pub(crate) keys: Vec<u8>,
    pub(crate) verdict: Option<Verdict>,
    /// Which concurrency limits and queues were asked, and whether each admits the request.
    #[cfg(feature = "policy")]
    pub(crate) asked: HeldLimit,
    /// How long the request waited for its turn; `None` if it did not have to.
    #[cfg(feature = "policy")]
    pub(crate) waited: Option<Micros>,
}

/// The place of a held limit, and whether it admits the request.
#[cfg(feature = "policy")]
pub(crate) type HeldLimit = smallvec::SmallVec<[(usize, bool); 2]>;

impl Scratch {
    /// The hits of the last check against a policy.
    #[cfg(feature = "policy")]
    #[must_use]
    pub const fn hits(&self) -> &tollgate_policy::Hits {
        &self.hits
    }

    /// Which of the [held limits](tollgate_policy::Hits::held) of the last check were asked, by place, and whether each admitted the
    /// request. Those after the first one that refuses were not asked.
    #[cfg(feature = "policy")]
    #[must_use]
    pub fn asked(&self) -> &[(usize, bool)] {
        &self.asked
    }

    /// How long the request of the last check waited for its turn; `None` if it did not have to.
    #[cfg(feature = "policy")]
    #[must_use]
    pub const fn waited(&self) -> Option<Micros> {
        self.waited
    }

    /// The verdict of the last check, with one decision for each hit; `None` if no limit applied.
    #[must_use]
    pub const fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }
}
