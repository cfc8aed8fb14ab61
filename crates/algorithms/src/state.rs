//! The usage of a key under one limit: only what a store must keep, nothing derived.

use crate::algorithm::debt;
use crate::algorithm::list::List;
use crate::{Micros, Quota};

/// Where a key stands under one limit. A store keeps it by key and hands it back to [`decide`](crate::decide).
///
/// A state is plain numbers. Any numbers are safe to decide on; those that no decision has written (a corrupt store)
/// give some decision, never a panic. A state of another algorithm than the limit's counts as none.
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

/// What a key of a bucket or of GCRA owes: `debt` units at the instant `at`, draining ever since.
///
/// One cell of cost is `period` units, and `count` units drain each microsecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Debt {
    /// The state's time: the latest charge (or refund).
    pub at: Micros,
    /// Units owed at that time. More than a burst if a cost was [settled](crate::settle) after the fact, or if the burst
    /// was larger then.
    pub debt: u64,
    /// Units in a cell when this was written: a quota with another period reads the debt in its own.
    pub period: u64,
}

impl Debt {
    /// The same debt in the units of a quota: converted exactly, and rounded up by less than a unit. `None` if the numbers
    /// are so different that it cannot be written down.
    #[must_use]
    pub fn in_units_of(&self, quota: &Quota) -> Option<Self> {
        debt::converted(quota, self).map(|debt| Self { at: self.at, debt, period: quota.period() })
    }
}

/// What a key has used of one aligned window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count {
    /// The window's first instant.
    pub start: Micros,
    /// The first instant after it. Stored, so that a window in progress keeps its end when the limit changes.
    pub end: Micros,
    /// What was charged in it.
    pub used: u64,
}

/// What a key has used of an aligned window and of the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TwoCounts {
    /// The current window's first instant.
    pub start: Micros,
    /// The first instant after it.
    pub end: Micros,
    /// What was charged in the window before.
    pub previous: u64,
    /// What was charged in the current window.
    pub current: u64,
}
