//! What each algorithm computes about a key at one instant. `algorithm.rs` makes decisions from it.

use crate::{Change, Micros, Receipt};

/// Where a key stands at one instant: its state read under the limit's numbers, refilled, rolled or expired up to
/// now. Four implementations: debts, one count, two counts, lists.
pub(crate) trait Standing: Sized {
    /// The instant: `now`, or the state's own time where that is later (law 7).
    fn at(&self) -> Micros;

    /// How much more cost fits under `capacity` at this instant.
    fn room(&self, capacity: u64) -> u64;

    /// How long after [`at`](Self::at) a cost fits that does not fit now. Asked only for `cost <= capacity`.
    fn wait(&self, capacity: u64, cost: u64) -> Micros;

    /// How long after [`at`](Self::at) the key is as good as never seen; zero if it already is.
    fn drained(&self) -> Micros;

    /// The same key after a charge.
    fn charged(&self, cost: u64) -> Self;

    /// The same key after a refund of a part of a charge; `None` if there is nothing left to give back.
    fn refunded(&self, receipt: &Receipt, part: u64) -> Option<Self>;

    /// The change that brings the stored state to this standing.
    fn change(&self) -> Change;
}
