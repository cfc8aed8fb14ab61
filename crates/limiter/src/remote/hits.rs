//! The hits of a request, sorted by where they are counted. It charges nothing.

use smallvec::SmallVec;
use tollgate_redis::{Hit as FarHit, Name};

use crate::limit::Hit;
use crate::verdict::{HitResult, HitResults};

/// The hits of a request, with their names in the store.
pub(crate) struct Hits<'a> {
    pub(crate) all: &'a [Hit<'a>],
    /// One for each hit; `None` if it is counted here. Beside it, the stamp of the charge, from before anything was asked: a reset
    /// of the key that comes meanwhile makes the receipt of this charge void too.
    pub(super) names: SmallVec<[Option<(Name, u64)>; 4]>,
}

impl<'a> Hits<'a> {
    /// Which of those in the store are for good.
    pub(super) fn non_refundable(&self) -> SmallVec<[bool; 4]> {
        self.all.iter().filter(|hit| hit.limit.far.is_some()).map(|hit| hit.non_refundable).collect()
    }

    pub(crate) fn near(&self) -> SmallVec<[Hit<'a>; 4]> {
        let near = self.all.iter().filter(|hit| hit.limit.far.is_none());
        // On a receipt all the same: if the store refuses, they are given back.
        near.map(|hit| Hit { non_refundable: false, ..*hit }).collect()
    }

    pub(super) fn far(&self) -> SmallVec<[FarHit<'_>; 4]> {
        let far = self.all.iter().zip(&self.names).filter_map(|(hit, name)| {
            let (name, _) = name.as_ref()?;
            Some(FarHit { limit: &hit.limit.limit, name, cost: hit.cost, mode: hit.mode })
        });
        far.collect()
    }

    /// Answers of two places, in the order of the hits.
    pub(crate) fn merged(&self, near: &[HitResult], far: &[HitResult]) -> HitResults {
        let (mut near, mut far) = (near.iter(), far.iter());
        let one = |name: &Option<(Name, u64)>| if name.is_some() { far.next() } else { near.next() };
        self.names.iter().filter_map(one).copied().collect()
    }
}
