//! The usage of a key under one limit: only what a store must keep, nothing derived.

use crate::algorithm::debt;
use crate::algorithm::list::List;
use crate::{Micros, Quota};

/// The usage of a key under one limit. A store keeps it by key and passes it to [`decide`](crate::decide).
///
/// A state is plain numbers. Any numbers are safe: invalid ones (from a corrupt store)
/// give some decision, never a panic. A state of a different algorithm than the limit's counts as none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// See [`token_bucket`](crate::algorithm::token_bucket).
    TokenBucket(Debt),
    /// See [`leaky_bucket`](crate::algorithm::leaky_bucket).
    LeakyBucket(Debt),
    /// See [`gcra`](crate::algorithm::gcra).
    Gcra(Debt),
    /// See [`fixed_window`](crate::algorithm::fixed_window).
    FixedWindow(Count),
    /// See [`sliding_window`](crate::algorithm::sliding_window).
    SlidingWindow(TwoCounts),
    /// See [`sliding_window_buckets`](crate::algorithm::sliding_window_buckets).
    SlidingWindowBuckets(List),
    /// See [`sliding_window_log`](crate::algorithm::sliding_window_log).
    SlidingWindowLog(List),
}

/// The debt of a key of a bucket or GCRA: `debt` units at the instant `at`, draining since.
///
/// One cell of cost is `period` units, and `count` units drain each microsecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Debt {
    /// The state's time: the latest charge (or refund).
    pub at: Micros,
    /// Units owed at that time. More than a burst if a cost was [settled](crate::settle) or if the burst
    /// was larger then.
    pub debt: u64,
    /// Units per cell when this was written. A quota with another period converts the debt.
    pub period: u64,
}

impl Debt {
    /// The same debt in the units of a quota: converted exactly, then rounded up by less than a unit. `None` if the result
    /// is not representable.
    #[must_use]
    pub fn in_units_of(&self, quota: &Quota) -> Option<Self> {
        debt::converted(quota, self).map(|debt| Self { at: self.at, debt, period: quota.period() })
    }
}

/// The usage of a key in one aligned window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The start of the window.
    pub start: Micros,
    /// The first instant after the window. Stored, so that the current window keeps its end when the limit changes.
    pub end: Micros,
    /// The amount charged in the window.
    pub used: u64,
}

/// The usage of a key in an aligned window and the previous one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TwoCounts {
    /// The start of the current window.
    pub start: Micros,
    /// The first instant after it.
    pub end: Micros,
    /// The amount charged in the previous window.
    pub previous: u64,
    /// The amount charged in the current window.
    pub current: u64,
}
