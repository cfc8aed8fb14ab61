//! The kinds of state: which algorithms share one, and how key names and states encode it.

use tollgate_algorithms::{Algorithm, Limit};

/// A kind of state. Each has its own keys, so that two processes that count one limit with different kinds never discard each
/// other's states: each enforces the limit separately, and together they grant at most twice the limit.
///
/// The token bucket, the leaky bucket and GCRA are the same arithmetic on the same state, and share one kind. Processes that
/// count a limit with any of them share its states.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StateKind {
    /// A debt: token bucket, leaky bucket, GCRA.
    Debt,
    /// The count of a fixed window.
    FixedWindow,
    /// The two counts of a sliding window.
    SlidingWindow,
    /// The list of a sliding window with buckets.
    Buckets,
    /// The list of a sliding window log.
    Log,
    /// Permits: which process has how many. No charge, and so no reset, concerns it.
    Permits,
    /// The schedule of a queue. No reset concerns it either.
    Queue,
    /// Since when there are data: see [`Permits`](Self::Permits).
    Marker,
}

impl StateKind {
    /// Every kind of state of a rate: what a reset forgets.
    pub const ALL: [Self; 5] = [Self::Debt, Self::FixedWindow, Self::SlidingWindow, Self::Buckets, Self::Log];

    /// The kind of an algorithm's states.
    #[must_use]
    pub const fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => Self::Debt,
            Algorithm::FixedWindow => Self::FixedWindow,
            Algorithm::SlidingWindow => Self::SlidingWindow,
            Algorithm::SlidingWindowBuckets => Self::Buckets,
            Algorithm::SlidingWindowLog => Self::Log,
        }
    }

    /// The kind of a limit's states. `None` for a limit that keeps none.
    #[must_use]
    pub fn of_limit(limit: &Limit) -> Option<Self> {
        limit.algorithm().map(Self::of)
    }

    /// The letter that says so in a key's name.
    #[must_use]
    pub const fn letter(self) -> u8 {
        match self {
            Self::Debt => b'd',
            Self::FixedWindow => b'f',
            Self::SlidingWindow => b's',
            Self::Buckets => b'b',
            Self::Log => b'l',
            Self::Permits => b'p',
            Self::Queue => b'q',
            Self::Marker => b'm',
        }
    }

    /// The first byte of a state: the layout in the upper half, the kind in the lower one.
    pub(crate) const fn tag(self) -> u8 {
        match self {
            Self::Debt => 0x31,
            Self::FixedWindow => 0x32,
            Self::SlidingWindow => 0x33,
            Self::Buckets => 0x34,
            Self::Log => 0x35,
            Self::Permits => 0x36,
            Self::Queue => 0x37,
            Self::Marker => 0x38,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_has_a_letter_and_a_tag_of_this_layout() {
        let letters: HashSet<_> = StateKind::ALL.map(StateKind::letter).into();
        let tags: HashSet<_> = StateKind::ALL.map(StateKind::tag).into();
        assert_eq!((letters.len(), tags.len()), (StateKind::ALL.len(), StateKind::ALL.len()));
        let layout = crate::LAYOUT.as_bytes()[2] - b'0';
        assert!(tags.iter().all(|tag| tag >> 4 == layout));
    }

    #[test]
    fn every_algorithm_has_one_of_the_kinds() {
        let kinds: HashSet<_> = Algorithm::ALL.map(StateKind::of).into();
        assert_eq!(kinds, StateKind::ALL.into());
    }
}
