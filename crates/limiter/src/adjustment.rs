//! The result of a refund, settlement, commit or cancellation: what it gave back or charged.

/// What was changed about charges afterwards: by [`refund`](crate::Limiter::refund), [`settle`](crate::Limiter::settle),
/// [`commit`](crate::Limiter::commit) or [`cancel`](crate::Limiter::cancel). Sums over all charges of a receipt.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct Adjustment {
    /// How much was given back, in units of cost: as many more hits of cost 1 fit. Less than was charged where time has given back
    /// some of it already, and nothing if the receipt was [void](crate::Receipt).
    pub refunded: u64,
    /// How much was charged on top. Less than was missing if the key is overdrawn by a whole capacity.
    pub charged: u64,
    /// How many charges stay as they were because their store gave no decision: they may be too high or too low now.
    pub unsettled: usize,
}

impl Adjustment {
    /// Nothing was changed.
    pub(crate) const NONE: Self = Self { refunded: 0, charged: 0, unsettled: 0 };

    /// One charge that should have been changed was not.
    pub(crate) const UNSETTLED: Self = Self { unsettled: 1, ..Self::NONE };

    pub(crate) const fn refunded(refunded: u64) -> Self {
        Self { refunded, ..Self::NONE }
    }

    #[cfg(feature = "redis")]
    pub(crate) const fn charged(charged: u64) -> Self {
        Self { charged, ..Self::NONE }
    }

    /// Both together.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            refunded: self.refunded.saturating_add(other.refunded),
            charged: self.charged.saturating_add(other.charged),
            unsettled: self.unsettled.saturating_add(other.unsettled),
        }
    }
}
