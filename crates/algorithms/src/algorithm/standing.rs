//! What each algorithm computes about a key at one instant. `algorithm.rs` makes decisions from it.

use crate::{Change, Micros, Receipt};

/// The usage of a key at one instant: its state under the limit's numbers, drained, rolled or expired up to
/// now. Four implementations: debts, one count, two counts, lists.
pub(crate) trait Usage: Sized {
    /// The instant: `now`, or the state's own time if that is later (law 7).
    fn at(&self) -> Micros;

    /// How much more cost fits under `capacity` at this instant.
    fn room(&self, capacity: u64) -> u64;

    /// Time after [`at`](Self::at) until a cost fits that does not fit now. Requires `cost <= capacity`.
    fn wait(&self, capacity: u64, cost: u64) -> Micros;

    /// Time after [`at`](Self::at) until the state equals no state; zero if it already does.
    fn drained(&self) -> Micros;

    /// The same key after a charge.
    fn charged(&self, cost: u64) -> Self;

    /// The same key after a refund of a part of a charge; `None` if there is nothing left to give back.
    fn refunded(&self, receipt: &Receipt, part: u64) -> Option<Self>;

    /// The change from the stored state to this usage.
    fn change(&self) -> Change;
}
