//! Proof of one charge, without which nothing is given back. It does not know whether it has been used.

use crate::{Limit, Micros};

/// Proof of one charge: when, how much, and under which numbers.
///
/// It is deliberately neither `Clone` nor `Copy`: one charge is given back once. [`refund`](crate::refund) borrows
/// it, because a pure function may be tried again; whoever applies the change drops the receipt.
///
/// A receipt is void under other numbers than those of its charge. Numbers that were changed and changed back in
/// between cannot be told apart here: whoever changes limits while receipts are out also voids those.
#[derive(PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The store's time of the charge ([`Decision::at`](crate::Decision::at)).
    pub at: Micros,
    /// What was charged.
    pub cost: u64,
    /// The limit as it was.
    pub limit: Limit,
}
