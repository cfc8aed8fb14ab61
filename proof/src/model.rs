//! An independent model of every algorithm: one question, "does it fit?", answered from the list of all that was charged.
//!
//! Nothing here refills, rolls or remembers a sum. The model keeps what was charged and when, and answers from that
//! list, each time anew, in 128-bit integers (every fraction multiplied out). All other promises of an answer
//! (remaining, retry, reset) are checked by asking the same question at the neighbouring costs and instants.

mod counts;
mod debt;
mod list;

use crate::spec::Spec;
use tollgate_algorithms::Algorithm;

/// How a model reads a clock.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The instant as which `now` is read.
    pub at: u64,
    /// Whether what was charged counts; it does not when it lies too far ahead of the clock, or is over.
    pub counts: bool,
}

impl Look {
    /// The same key, looked at a little later.
    #[must_use]
    pub const fn later(self, at: u64) -> Self {
        Self { at: if at > self.at { at } else { self.at }, ..self }
    }
}

/// One key under one algorithm, as the list of what was charged.
pub trait Model: std::fmt::Debug {
    /// How `now` is read.
    fn look(&self, spec: &Spec, now: u64) -> Look;
    /// Whether `cost` fits under `capacity`.
    fn fits(&self, spec: &Spec, look: Look, capacity: u64, cost: u64) -> bool;
    /// Notes a charge.
    fn charge(&mut self, spec: &Spec, look: Look, cost: u64);
    /// Notes that a charge of `cost` at the instant `at` is given back, as far as law 11 allows.
    fn refund(&mut self, spec: &Spec, look: Look, at: u64, cost: u64);
    /// Forgets everything.
    fn clear(&mut self);
}

/// The model of an algorithm.
#[must_use]
pub fn of(algorithm: Algorithm) -> Box<dyn Model> {
    match algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => Box::new(debt::Debts::default()),
        Algorithm::FixedWindow => Box::new(counts::Counts::fixed()),
        Algorithm::SlidingWindow => Box::new(counts::Counts::sliding()),
        Algorithm::SlidingWindowBuckets | Algorithm::SlidingWindowLog => Box::new(list::Hits::default()),
    }
}
