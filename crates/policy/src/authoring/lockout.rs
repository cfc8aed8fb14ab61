//! How long a key that was used up under some numbers waits under lower ones: a debt survives a change of its numbers whole.

use tollgate_algorithms::{Limit, Micros, Retry, State, decide, peek, settle};

use crate::compile::variants::{VariantKind, for_budget};
use crate::model::{Identity, PolicyLimit};
use crate::numbers::Numbers;
use crate::parse::settings::Settings;

/// An instant at which every window of whole seconds, minutes, hours and days begins.
const NOW: Micros = Micros::new(20_000 * Micros::DAY.get());

/// A limit, its numbers for some tier, and the settings of its policy.
#[derive(Clone, Copy)]
pub(crate) struct LockoutSide<'a> {
    pub(crate) limit: &'a PolicyLimit,
    pub(crate) numbers: &'a Numbers,
    pub(crate) settings: &'a Settings,
}

/// The longest wait of a key that was used up before a change of numbers, rounded up to whole seconds. `None` if no key waits
/// longer than the new numbers take to be restored in full.
pub(crate) fn longest(old: LockoutSide<'_>, new: LockoutSide<'_>) -> Option<Micros> {
    let budgets =
        [VariantKind::Own, VariantKind::AddressCeiling, VariantKind::WideAddress, VariantKind::WideCeiling];
    let may_overdraw = may_overdraw(old.limit) || may_overdraw(new.limit);
    let cost = new.limit.cost.range().1.max(1);
    let each = budgets.into_iter().filter_map(|budget| {
        let (before, after) = (old.numbers_of(budget)?, new.numbers_of(budget)?);
        of_limits(&before, &after, (cost, may_overdraw))
    });
    each.max()
}

impl LockoutSide<'_> {
    /// The numbers of one of the limit's budgets; `None` if it has no such budget.
    fn numbers_of(&self, budget: VariantKind) -> Option<Limit> {
        let wide = self.settings.prefixes.ipv6_wide().map(|_| self.settings.wide_multiple);
        let ceiling = self.limit.address_ceiling;
        let multiple = match budget {
            VariantKind::Own => 1,
            VariantKind::AddressCeiling => ceiling?,
            VariantKind::WideAddress => wide?,
            VariantKind::WideCeiling => ceiling?.saturating_mul(wide?),
        };
        for_budget(self.numbers, (budget, multiple), self.settings).ok()?.limit()
    }
}

/// The same of two limits, for a request of this cost.
fn of_limits(old: &Limit, new: &Limit, (cost, may_overdraw): (u64, bool)) -> Option<Micros> {
    let cost = cost.min(new.capacity());
    let restored = |limit: &Limit| {
        let state = used_up(limit, may_overdraw);
        peek(new, state.as_ref(), NOW, cost)
    };
    let Some(Retry::After(wait)) = restored(old).retry() else { return None };
    (wait > restored(new).reset_after).then(|| Micros::from_secs(wait.secs_rounded_up()))
}

/// The state of a key that has used all it can.
fn used_up(limit: &Limit, may_overdraw: bool) -> Option<State> {
    let mut state = None;
    decide(limit, None, NOW, limit.capacity()).0.apply(&mut state);
    if may_overdraw {
        settle(limit, state.as_ref(), NOW, limit.capacity()).0.apply(&mut state);
    }
    state
}

/// Whether a response may charge more than fits: it reports the cost, or denies an identity, whose address is charged then.
fn may_overdraw(limit: &PolicyLimit) -> bool {
    let is_claimed = |identity: &Identity| match identity {
        Identity::ApiKey
        | Identity::Header(_)
        | Identity::Cookie(_)
        | Identity::Query(_)
        | Identity::JwtUnverified(_) => true,
        Identity::Address
        | Identity::Body(_)
        | Identity::Jwt(_)
        | Identity::Consumer
        | Identity::Organisation
        | Identity::Everyone => false,
    };
    limit.cost.reported_in().is_some() || limit.key.chain.iter().flatten().any(is_claimed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_algorithms::Window;

    fn waits(old: &Limit, new: &Limit) -> Option<u64> {
        of_limits(old, new, (1, false)).map(Micros::secs_rounded_up)
    }

    /// The wait that is worked out is the one that a key meets, second by second.
    #[test]
    fn the_longest_wait_is_the_one_that_a_key_meets() {
        let bucket = |burst, count| Limit::token_bucket(burst, count, Micros::MINUTE).unwrap();
        let log = |limit| Limit::sliding_window_log(limit, Micros::MINUTE).unwrap();
        let fixed = |limit| Limit::fixed_window(limit, Window::Every(Micros::MINUTE)).unwrap();
        let table = [
            (bucket(1_000, 1_000), bucket(10, 10), Some(5_946)),
            (bucket(10, 10), bucket(10, 5), None),
            (bucket(10, 10), bucket(1_000, 1_000), None),
            (bucket(10, 10), bucket(9, 10), None),
            (log(1_000), log(10), None),
            (fixed(1_000), fixed(10), None),
            (bucket(10, 10), Limit::Unlimited, None),
            (Limit::Unlimited, bucket(10, 10), None),
            (bucket(10, 10), bucket(0, 10), None),
        ];
        for (old, new, expected) in table {
            assert_eq!(waits(&old, &new), expected, "{old} to {new}");
            let state = used_up(&old, false);
            let is_granted = |second: u64| {
                let now = NOW.saturating_add(Micros::from_secs(second));
                peek(&new, state.as_ref(), now, 1).is_granted()
            };
            if let Some(wait) = expected {
                assert!(is_granted(wait) && !is_granted(wait - 1), "{old} to {new}");
            }
        }
    }

    #[test]
    fn an_overdraft_waits_longer() {
        let bucket = |burst| Limit::token_bucket(burst, burst, Micros::MINUTE).unwrap();
        let wait = |may_overdraw| of_limits(&bucket(100), &bucket(10), (1, may_overdraw));
        assert_eq!(wait(false), Some(Micros::from_secs(546)));
        assert_eq!(wait(true), Some(Micros::from_secs(1_146)));
    }
}
