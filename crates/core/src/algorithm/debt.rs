//! A debt that drains: the arithmetic under the token bucket, the leaky bucket and GCRA. Not an algorithm to choose.

use super::standing::Standing;
use crate::{Change, Debt, Micros, Quota, Receipt, State};

/// What a key owes at one instant, in units of which one cell of cost is `period` and `count` drain each microsecond.
pub(crate) struct Owing {
    quota: Quota,
    at: Micros,
    owed: u64,
    /// Which algorithm's state this becomes.
    kind: fn(Debt) -> State,
}

impl Owing {
    #[inline]
    pub(crate) fn new(quota: &Quota, state: Option<&Debt>, now: Micros, kind: fn(Debt) -> State) -> Self {
        let fresh = Self { quota: *quota, at: now, owed: 0, kind };
        let Some(state) = state else { return fresh };
        if state.at > now && state.at.saturating_sub(now) > quota.drain() {
            return fresh;
        }
        let at = now.max(state.at);
        let elapsed = at.saturating_sub(state.at).get();
        // Saturating is exact here: a debt is far below what it saturates at, so it is gone either way.
        let drained = quota.count().saturating_mul(elapsed);
        Self { at, owed: read_debt(quota, state).saturating_sub(drained), ..fresh }
    }
}

/// The stored debt in the quota's own units, never more than one capacity overdrawn.
///
/// A debt written in another period is converted exactly and rounded up by less than a unit. Everything else in the
/// verdict is a whole number of units, so rounding cannot turn a grant into a refusal, and it mints nothing.
#[inline]
fn read_debt(quota: &Quota, state: &Debt) -> u64 {
    let overdrawn_max = quota.burst().saturating_mul(2).saturating_mul(quota.period());
    if state.period == quota.period() {
        return state.debt.min(overdrawn_max);
    }
    let scaled = u128::from(state.debt) * u128::from(quota.period());
    let debt = scaled.div_ceil(u128::from(state.period.max(1)));
    u64::try_from(debt).unwrap_or(u64::MAX).min(overdrawn_max)
}

impl Standing for Owing {
    fn at(&self) -> Micros {
        self.at
    }

    #[inline]
    fn room(&self, capacity: u64) -> u64 {
        capacity.saturating_sub(self.owed.div_ceil(self.quota.period()))
    }

    fn wait(&self, capacity: u64, cost: u64) -> Micros {
        let allowed = capacity.saturating_sub(cost).saturating_mul(self.quota.period());
        Micros::new(self.owed.saturating_sub(allowed).div_ceil(self.quota.count()))
    }

    #[inline]
    fn drained(&self) -> Micros {
        Micros::new(self.owed.div_ceil(self.quota.count()))
    }

    #[inline]
    fn charged(self, cost: u64) -> Self {
        Self { owed: self.owed.saturating_add(cost.saturating_mul(self.quota.period())), ..self }
    }

    fn refunded(&self, receipt: &Receipt) -> Option<Self> {
        let charged = receipt.cost.saturating_mul(self.quota.period());
        let elapsed = self.at.saturating_sub(receipt.at).get();
        // What has drained since the charge has been given back already.
        let drained = self.quota.count().saturating_mul(elapsed);
        let back = charged.saturating_sub(drained).min(self.owed);
        (back > 0).then(|| Self { owed: self.owed.saturating_sub(back), ..*self })
    }

    #[inline]
    fn change(&self) -> Change {
        if self.owed == 0 {
            return Change::Forget;
        }
        Change::Replace((self.kind)(Debt { at: self.at, debt: self.owed, period: self.quota.period() }))
    }
}
