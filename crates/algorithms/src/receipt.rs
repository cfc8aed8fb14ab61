//! Proof of one charge, which a refund requires. It does not record whether it has been used.

use crate::{Limit, Micros};

/// Proof of one charge: when, how much, and under which numbers.
///
/// It is neither `Clone` nor `Copy`, so that a charge is not refunded twice by accident. [`refund`](crate::refund)
/// borrows it, because a pure function can be repeated; drop the receipt when you apply the change.
///
/// A receipt is void if the limit has changed since the charge. Three cases cannot be detected here and are left to
/// the issuer of the receipt: numbers that were changed and changed back (but a bucket last charged with
/// another period, in lowest terms, refunds nothing); a charge that the state lost because a clock ran back; and a charge into a
/// fixed window that had kept its end from earlier numbers, if that window's state was dropped.
#[derive(PartialEq, Eq, Debug)]
pub struct Receipt {
    /// The store's time of the charge ([`Decision::at`](crate::Decision::at)).
    pub at: Micros,
    /// The amount charged.
    pub cost: u64,
    /// The limit at the time of the charge.
    pub limit: Limit,
}
