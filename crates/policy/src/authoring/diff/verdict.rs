//! Compares two sets of numbers for a client: looser, tighter, or both. Exact, without floats.

use std::cmp::Ordering;

use tollgate_algorithms::adaptive::AdaptiveConfig;

use crate::authoring::impact::{Impact, SustainedRate};
use crate::model::Cost;
use crate::numbers::Numbers;

/// How something compares with what it was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// No difference for a client.
    Same,
    /// It lets more through in some respect, and less in none.
    Looser,
    /// It lets less through in some respect, and more in none.
    Tighter,
    /// More in one respect and less in another; or it cannot be compared.
    Mixed,
}

impl Verdict {
    /// Both together.
    pub(super) const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Same, same) | (same, Self::Same) => same,
            (Self::Looser, Self::Looser) => Self::Looser,
            (Self::Tighter, Self::Tighter) => Self::Tighter,
            _ => Self::Mixed,
        }
    }

    /// Of something of which more means looser.
    pub(super) const fn of(ordering: Ordering) -> Self {
        match ordering {
            Ordering::Less => Self::Tighter,
            Ordering::Equal => Self::Same,
            Ordering::Greater => Self::Looser,
        }
    }
}

/// What changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// No difference for a client. Only an operation's verdict is this: something changed and has no effect there.
    Same,
    /// Its numbers let more through in some respect, and less in none.
    Looser,
    /// Its numbers let less through in some respect, and more in none.
    Tighter,
    /// Its numbers let more through in one respect and less in another.
    Mixed,
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// It had another name, and all else is the same. Its keys start afresh.
    Renamed {
        /// The name it had.
        from: String,
    },
    /// It is counted in another way. Its keys start afresh.
    OtherAlgorithm {
        /// Whether both algorithms have the same kind of state, as the buckets and GCRA do: in a shared store, keys then keep what
        /// they owe. Otherwise processes with either policy count apart during a rollout, and together grant up to twice the
        /// limit.
        same_state: bool,
    },
    /// It is counted for other keys. They start afresh.
    OtherKey,
    /// From enforced to shadow, or back.
    ModeChanged {
        /// Whether it is enforced now.
        enforced: bool,
    },
    /// Its cost is another.
    CostChanged,
    /// Something else, such as the owner.
    Other {
        /// The field in the document.
        field: &'static str,
        /// Before, in words.
        before: String,
        /// After, in words.
        after: String,
    },
}

impl From<Verdict> for Change {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Same => Self::Same,
            Verdict::Looser => Self::Looser,
            Verdict::Tighter => Self::Tighter,
            Verdict::Mixed => Self::Mixed,
        }
    }
}

/// No limit at all.
pub(super) const UNLIMITED: Impact =
    Impact { sustained: SustainedRate::UNLIMITED, burst: None, worst_minute: None };

/// How numbers compare. Numbers that do not limit how often are compared by how many they let in at the same time.
pub(super) fn numbers(old: &Numbers, new: &Numbers) -> Verdict {
    match (Impact::of(old), Impact::of(new)) {
        (Some(old), Some(new)) => impacts(&old, &new),
        (None, None) => match (old, new) {
            (Numbers::Adaptive { config: old, .. }, Numbers::Adaptive { config: new, .. }) => {
                adaptive(old, new)
            }
            (Numbers::Adaptive { .. }, _) | (_, Numbers::Adaptive { .. }) => Verdict::Mixed,
            _ => Verdict::of(new.burst().cmp(&old.burst())),
        },
        _ => Verdict::Mixed,
    }
}

/// How two adaptive limits compare: by their range. Of the same range, two methods admit more at one time and less at another.
fn adaptive(old: &AdaptiveConfig, new: &AdaptiveConfig) -> Verdict {
    let ((old_min, old_max), (new_min, new_max)) = (old.range(), new.range());
    let range = Verdict::of(new_max.cmp(&old_max)).and(Verdict::of(new_min.cmp(&old_min)));
    if old.method() == new.method() && (range != Verdict::Same || old == new) {
        range
    } else {
        Verdict::Mixed
    }
}

/// How two meanings compare, in all three respects.
pub(super) fn impacts(old: &Impact, new: &Impact) -> Verdict {
    let sustained = Verdict::of(new.sustained.compare(&old.sustained));
    let number = |new: Option<u64>, old: Option<u64>| Verdict::of(most(new).cmp(&most(old)));
    sustained.and(number(new.burst, old.burst)).and(number(new.worst_minute, old.worst_minute))
}

/// A number to compare by, of which none is the most.
fn most(number: Option<u64>) -> u128 {
    number.map_or(u128::MAX, u128::from)
}

/// The less of two in each respect.
pub(super) fn least(one: Impact, other: Impact) -> Impact {
    let slower = one.sustained.compare(&other.sustained) != Ordering::Greater;
    let fewer = |a: Option<u64>, b: Option<u64>| if most(a) <= most(b) { a } else { b };
    Impact {
        sustained: if slower { one.sustained } else { other.sustained },
        burst: fewer(one.burst, other.burst),
        worst_minute: fewer(one.worst_minute, other.worst_minute),
    }
}

/// How costs compare, by the least, the usual and the most that a request costs. Less is looser.
pub(super) fn costs(old: &Cost, new: &Cost) -> Verdict {
    let ((old_least, old_most), (new_least, new_most)) = (old.range(), new.range());
    let cheaper = |old: u64, new: u64| Verdict::of(old.cmp(&new));
    let usually = cheaper(usual(old), usual(new));
    cheaper(old_least, new_least).and(usually).and(cheaper(old_most, new_most))
}

/// What a request costs that says nothing special.
const fn usual(cost: &Cost) -> u64 {
    match cost {
        Cost::Fixed(cost) => *cost,
        Cost::Asked { default, .. } => *default,
        Cost::Reported { estimate, .. } => *estimate,
        Cost::Operations { .. } => 1,
    }
}

/// What numbers mean in requests, if every request costs the same; else in cost, as they are.
pub(super) fn in_requests(impact: Impact, cost: &Cost) -> Impact {
    let Cost::Fixed(cost) = cost else { return impact };
    if *cost == 0 {
        return UNLIMITED;
    }
    let times = |number: Option<u64>| number.map(|number| number.checked_div(*cost).unwrap_or(number));
    let SustainedRate { count, micros } = impact.sustained;
    // Thrice as dear is a third as often: the time is longer, because the count may not divide.
    let sustained = SustainedRate { count, micros: micros.saturating_mul(*cost) };
    Impact { sustained, burst: times(impact.burst), worst_minute: times(impact.worst_minute) }
}
