//! One event per verdict, for metrics. Costs nothing without a listener.

use std::fmt;
use std::sync::Arc;

use tollgate_algorithms::Micros;

use crate::limit::Hit;
use crate::verdict::Verdict;

/// What happened, as told to the listener of a limiter: see [`Builder::listen`](crate::Builder::listen).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// Which verb it was.
    pub verb: Verb,
    /// What was asked: [names](Hit::name), costs and modes. The keys are not told.
    pub hits: &'a [Hit<'a>],
    /// What was answered. [`Verdict::shared`] tells that the store is full.
    pub verdict: &'a Verdict,
    /// The instant at which it was decided.
    pub at: Micros,
}

/// The verbs that give a verdict.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Verb {
    /// [`Limiter::charge`](crate::Limiter::charge), and those like it.
    Charge,
    /// [`Limiter::peek`](crate::Limiter::peek).
    Peek,
    /// [`Limiter::reserve`](crate::Limiter::reserve).
    Reserve,
}

/// Whoever wants to know.
#[derive(Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn Fn(&Event<'_>) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener(..)")
    }
}
