//! Groups the hits of a batch by key, as the algorithms expect them.

use smallvec::SmallVec;
use tollgate_algorithms::Limit;

use crate::{Hit, KeyName, Name, StateKind};

/// One key under one limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) limit: &'a Limit,
    /// `None` if it keeps no state.
    pub(crate) name: Option<&'a Name>,
}

impl Target<'_> {
    /// Its key in Redis. `None` if it keeps no state.
    pub(crate) fn key(&self) -> Option<KeyName> {
        self.name.and_then(|name| key_of(self.limit, name))
    }
}

/// The key of a budget that is counted by a limit. `None` if the limit keeps no state.
pub(crate) fn key_of(limit: &Limit, name: &Name) -> Option<KeyName> {
    StateKind::of_limit(limit).map(|kind| name.of(kind))
}

/// The targets of some hits, in the order of the first hit on each. Two hits on one name are on one target, under the limit of the first.
#[derive(Debug)]
pub(crate) struct Targets<'a>(SmallVec<[Target<'a>; 4]>);

impl<'a> Targets<'a> {
    pub(crate) fn of(hits: &[Hit<'a>]) -> Self {
        let mut targets = Self(SmallVec::new());
        for hit in hits {
            if targets.place_of(hit).is_none() {
                let name = (*hit.limit != Limit::Unlimited).then_some(hit.name);
                targets.0.push(Target { limit: hit.limit, name });
            }
        }
        targets
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Target<'a>> {
        self.0.iter()
    }

    /// How many of them keep a state.
    pub(crate) fn keys(&self) -> usize {
        self.0.iter().filter(|target| target.name.is_some()).count()
    }

    /// Which target a hit is on. All that keep no state are one.
    pub(crate) fn place_of(&self, hit: &Hit<'_>) -> Option<usize> {
        let name = (*hit.limit != Limit::Unlimited).then_some(hit.name);
        self.0.iter().position(|target| target.name == name)
    }
}
