//! A debt that drains: the arithmetic under the token bucket, the leaky bucket and GCRA. Not an algorithm to choose.

use super::standing::Standing;
use crate::{Change, Debt, Micros, Quota, Receipt, State};

/// What a key owes at one instant, in units of which one cell of cost is `period` and `count` drain each microsecond.
///
/// `K` makes the state of one of the three algorithms out of a debt.
#[derive(Clone, Copy)]
pub(crate) struct Owing<K> {
    quota: Quota,
    at: Micros,
    owed: u64,
    kind: K,
}

impl<K: Fn(Debt) -> State + Copy> Owing<K> {
    #[inline]
    pub(crate) fn new(quota: &Quota, state: Option<&Debt>, now: Micros, kind: K) -> Self {
        let fresh = Self { quota: *quota, at: now, owed: 0, kind };
        let Some(state) = state else { return fresh };
        if state.at > now && state.at.saturating_sub(now) > quota.drain() {
            return fresh;
        }
        let at = now.max(state.at);
        let elapsed = at.saturating_sub(state.at).get();
        // Saturating is exact here: a debt is far below what it saturates at, so it is gone either way.
        let drained = elapsed.saturating_mul(quota.count());
        Self { at, owed: read_debt(quota, state).saturating_sub(drained), ..fresh }
    }
}

/// An overdraft is read as less than this: together with a debt it stays below 2^53.
const OVERDRAFT_MAX: u64 = (1 << 52) - 1;

/// What was owed at the state's own time, in the quota's own units.
#[inline]
fn read_debt(quota: &Quota, state: &Debt) -> u64 {
    let full = quota.burst().saturating_mul(quota.period());
    let debt = in_period(quota, state.period, state.debt).min(full);
    if state.overdraft == 0 {
        return debt;
    }
    debt.saturating_add(in_period(quota, state.period, state.overdraft).min(OVERDRAFT_MAX))
}

/// Units of another period in the quota's own: converted exactly and rounded up by less than a unit.
///
/// Everything else in a verdict is a whole number of units, so rounding cannot turn a grant into a refusal, and it mints
/// nothing.
#[inline]
fn in_period(quota: &Quota, period: u64, units: u64) -> u64 {
    if period == quota.period() {
        return units;
    }
    let scaled = u128::from(units).saturating_mul(u128::from(quota.period()));
    u64::try_from(scaled.div_ceil(u128::from(period.max(1)))).unwrap_or(u64::MAX)
}

impl<K: Fn(Debt) -> State + Copy> Standing for Owing<K> {
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
    fn charged(&self, cost: u64) -> Self {
        Self { owed: self.owed.saturating_add(cost.saturating_mul(self.quota.period())), ..*self }
    }

    fn refunded(&self, receipt: &Receipt) -> Option<Self> {
        if receipt.at > self.at {
            // The clock went back so far that the charge was forgotten: what is owed now is owed for something else.
            return None;
        }
        let charged = receipt.cost.saturating_mul(self.quota.period());
        let elapsed = self.at.saturating_sub(receipt.at).get();
        // What has drained since the charge has been given back already.
        let drained = elapsed.saturating_mul(self.quota.count());
        let back = charged.saturating_sub(drained).min(self.owed);
        (back > 0).then(|| Self { owed: self.owed.saturating_sub(back), ..*self })
    }

    #[inline]
    fn change(&self) -> Change {
        if self.owed == 0 {
            return Change::Forget;
        }
        let period = self.quota.period();
        let debt = self.owed.min(self.quota.burst().saturating_mul(period));
        let overdraft = self.owed.saturating_sub(debt);
        Change::Replace((self.kind)(Debt { at: self.at, debt, overdraft, period }))
    }
}
