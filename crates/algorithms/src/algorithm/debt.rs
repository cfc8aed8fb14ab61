//! Debt that drains at a constant rate: the arithmetic of token bucket, leaky bucket and GCRA.

use super::standing::Usage;
use crate::{Change, Debt, Micros, Quota, Receipt, State};

/// The debt of a key at one instant, in units: one cell of cost is `period` units, and `count` units drain each microsecond.
///
/// `K` wraps a debt in the state of one of the three algorithms.
#[derive(Clone, Copy)]
pub(crate) struct DebtUsage<K> {
    quota: Quota,
    at: Micros,
    /// The debt, or [`BEYOND_COUNTING`].
    owed: u64,
    /// The debt if the state was written with another period, which may be beyond counting; otherwise 0.
    wide: u128,
    kind: K,
}

impl<K: Fn(Debt) -> State + Copy> DebtUsage<K> {
    #[inline]
    pub(crate) fn new(quota: &Quota, state: Option<&Debt>, now: Micros, kind: K) -> Self {
        let fresh = Self { quota: *quota, at: now, owed: 0, wide: 0, kind };
        let Some(state) = state else { return fresh };
        if state.at > now && state.at.saturating_sub(now) > quota.drain() {
            return fresh;
        }
        let at = now.max(state.at);
        let elapsed = at.saturating_sub(state.at).get();
        if state.period != quota.period() {
            let wide = converted_after(quota, state, elapsed);
            return Self { at, owed: u64::try_from(wide).unwrap_or(BEYOND_COUNTING), wide, ..fresh };
        }
        // Saturating is exact here: a debt is far below what it saturates at, so it is gone either way.
        let drained = elapsed.saturating_mul(quota.count());
        Self { at, owed: state.debt.saturating_sub(drained), ..fresh }
    }

    /// Time until the debt is at most `allowed`.
    #[inline]
    fn drain_to(&self, allowed: u64) -> Micros {
        if self.owed == BEYOND_COUNTING {
            let excess = self.wide.saturating_sub(u128::from(allowed));
            let wait = excess.div_ceil(u128::from(self.quota.count()));
            return Micros::new(u64::try_from(wait).unwrap_or(u64::MAX));
        }
        let units = self.owed.saturating_sub(allowed);
        Micros::new(units.div_ceil(self.quota.count()))
    }
}

/// The largest debt ever stored. A grant leaves at most one burst, a settled cost at most two.
const DEBT_MAX: u64 = (1 << 53) - 1;

/// From this many units, a debt needs 128 bits. Only a debt written with a much shorter period gets there.
const BEYOND_COUNTING: u64 = u64::MAX;

/// The debt of a state written with another period, after this many microseconds: converted exactly, then
/// rounded up by less than a unit.
///
/// Everything else in a decision is a whole number of units, so rounding up neither turns a grant into a refusal nor
/// creates capacity.
#[cold]
fn converted_after(quota: &Quota, state: &Debt, elapsed: u64) -> u128 {
    let scaled = u128::from(state.debt).saturating_mul(u128::from(quota.period()));
    let owed = scaled.div_ceil(u128::from(state.period.max(1)));
    let drained = u128::from(elapsed).saturating_mul(u128::from(quota.count()));
    owed.saturating_sub(drained)
}

/// A debt in the units of a quota, if it is representable.
pub(crate) fn converted(quota: &Quota, state: &Debt) -> Option<u64> {
    if state.period == quota.period() {
        return Some(state.debt);
    }
    u64::try_from(converted_after(quota, state, 0)).ok().filter(|debt| *debt <= DEBT_MAX)
}

impl<K: Fn(Debt) -> State + Copy> Usage for DebtUsage<K> {
    fn at(&self) -> Micros {
        self.at
    }

    #[inline]
    fn room(&self, capacity: u64) -> u64 {
        capacity.saturating_sub(self.owed.div_ceil(self.quota.period()))
    }

    fn wait(&self, capacity: u64, cost: u64) -> Micros {
        let allowed = capacity.saturating_sub(cost).saturating_mul(self.quota.period());
        self.drain_to(allowed)
    }

    #[inline]
    fn drained(&self) -> Micros {
        self.drain_to(0)
    }

    #[inline]
    fn charged(&self, cost: u64) -> Self {
        Self { owed: self.owed.saturating_add(cost.saturating_mul(self.quota.period())), ..*self }
    }

    fn refunded(&self, receipt: &Receipt, part: u64) -> Option<Self> {
        // If the clock went back so far that the charge was forgotten, what is owed now is owed for something else. And if the key was
        // charged under another period since, more may have drained by that one than by the receipt's, and been spent again.
        if receipt.at > self.at || self.wide > 0 {
            return None;
        }
        let charged = receipt.cost.saturating_mul(self.quota.period());
        let elapsed = self.at.saturating_sub(receipt.at).get();
        // What has drained since the charge has been given back already.
        let drained = elapsed.saturating_mul(self.quota.count());
        let weighs = charged.saturating_sub(drained).min(self.owed);
        let back = weighs.min(part.saturating_mul(self.quota.period()));
        (back > 0).then(|| Self { owed: self.owed.saturating_sub(back), ..*self })
    }

    #[inline]
    fn change(&self) -> Change {
        if self.owed == 0 {
            return Change::Forget;
        }
        let debt = Debt { at: self.at, debt: self.owed, period: self.quota.period() };
        Change::Replace((self.kind)(debt))
    }
}
