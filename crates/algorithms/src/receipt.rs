//! Proof of one charge, which a refund requires. It does not record whether it has been used.

use crate::{Limit, Micros};

/// Proof of one charge: when, how much, and under which numbers.
///
/// It is neither `Clone` nor `Copy`, so that one charge is not given back twice by oversight. [`refund`](crate::refund)
/// borrows it, because a pure function may be tried again; whoever applies the change drops the receipt.
///
/// A receipt is void under other numbers than those of its charge. Three things cannot be told apart here and are left to
/// whoever hands out receipts: numbers that were changed and changed back in between (but a bucket that was last charged under
/// another period, in lowest terms, gives nothing back); a charge that a clock running back made a state forget; and a charge into a fixed window that had kept its end from earlier numbers, once that window's
/// state was dropped.
#[derive(PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The store's time of the charge ([`Decision::at`](crate::Decision::at)).
    pub at: Micros,
    /// What was charged.
    pub cost: u64,
    /// The limit as it was.
    pub limit: Limit,
}
