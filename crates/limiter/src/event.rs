//! One event per verdict, for metrics. Costs nothing without a listener.

use std::fmt;
use std::sync::Arc;

use tollgate_algorithms::Micros;

use crate::limit::Hit;
use crate::verdict::Verdict;

/// An event for the listener of a limiter: see [`Builder::on_event`](crate::Builder::on_event).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event<'a> {
    /// The verb that was called.
    pub verb: Verb,
    /// The hits with their [names](Hit::name), costs and modes. Keys are not accessible.
    pub hits: &'a [Hit<'a>],
    /// The verdict. [`Verdict::is_overflow`] reports that the store is full.
    pub verdict: &'a Verdict,
    /// The instant of the decision.
    pub at: Micros,
}

/// The verbs that return a verdict.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Verb {
    /// [`Limiter::charge`](crate::Limiter::charge) and its variants.
    Charge,
    /// [`Limiter::peek`](crate::Limiter::peek).
    Peek,
    /// [`Limiter::reserve`](crate::Limiter::reserve).
    Reserve,
}

/// The listener's function.
#[derive(Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn Fn(&Event<'_>) + Send + Sync>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener(..)")
    }
}
