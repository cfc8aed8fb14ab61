//! The debts that fit in one word: how they are read, charged, and told apart. Decides exactly as the core does, for the
//! buckets only; a test compares the two.
#![warn(clippy::arithmetic_side_effects)]

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use tollgate_core::{Algorithm, Debt, Decision, Limit, Micros, Outcome, Quota, Retry, State};

/// How many different rates can be told apart in one word; limits with further ones take more memory a key.
pub(crate) const RATES_MAX: u16 = 1_021;
/// A key that has been put in and not been charged yet.
pub(crate) const FRESH: u16 = RATES_MAX + 1;
/// A key whose value is the number of its cell.
pub(crate) const IN_A_CELL: u16 = RATES_MAX + 2;

/// A rate with a larger count does not fit in a word: time since the start, up to 2^52 us, times the count, plus a debt of
/// up to 2^53, stays below 2^63.
const COUNT_MAX: u64 = 2_045;

/// No debt is larger than this: more than twice what any quota allows.
const DEBT_MAX: u64 = (1 << 53) - 1;

/// How a debt drains, and which algorithm's it is. The burst does not matter for reading it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Rate {
    pub(crate) algorithm: Algorithm,
    pub(crate) count: u64,
    pub(crate) period: u64,
}

/// All rates in use. They are never forgotten.
#[derive(Debug)]
pub(crate) struct Rates {
    known: Box<[OnceLock<Rate>]>,
    numbers: Mutex<HashMap<Rate, u16>>,
}

impl Rates {
    pub(crate) fn new() -> Self {
        let known = (0..RATES_MAX).map(|_| OnceLock::new()).collect();
        Self { known, numbers: Mutex::new(HashMap::new()) }
    }

    /// The limit as a debt in one word, if its numbers allow.
    pub(crate) fn narrow(&self, limit: &Limit) -> Option<Narrow> {
        let (quota, algorithm) = match limit {
            Limit::TokenBucket(quota) => (quota, Algorithm::TokenBucket),
            Limit::LeakyBucket(quota) => (quota, Algorithm::LeakyBucket),
            Limit::Gcra(quota) => (quota, Algorithm::Gcra),
            Limit::Unlimited
            | Limit::FixedWindow(_)
            | Limit::SlidingWindow(_)
            | Limit::SlidingWindowBuckets(_)
            | Limit::SlidingWindowLog(_) => return None,
        };
        if quota.count() > COUNT_MAX {
            return None;
        }
        let rate = Rate { algorithm, count: quota.count(), period: quota.period() };
        let kind = self.number(rate)?;
        Some(Narrow { kind, quota: *quota, capacity: quota.burst().saturating_mul(quota.period()) })
    }

    /// The number of a rate, in 1..=[`RATES_MAX`]; `None` if there are too many.
    pub(crate) fn number(&self, rate: Rate) -> Option<u16> {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = numbers.get(&rate) {
            return Some(*number);
        }
        let next = u16::try_from(numbers.len()).ok().filter(|next| *next < RATES_MAX)?;
        let known = self.known.get(usize::from(next))?;
        known.get_or_init(|| rate);
        let number = next.saturating_add(1);
        numbers.insert(rate, number);
        Some(number)
    }

    /// The rate with a number.
    #[inline]
    pub(crate) fn get(&self, kind: u16) -> Option<&Rate> {
        self.known.get(usize::from(kind.wrapping_sub(1)))?.get()
    }

    /// Whether a debt of this kind has drained by an instant.
    #[inline]
    pub(crate) fn has_drained(&self, kind: u16, value: u64, since_start: u64) -> bool {
        self.get(kind).is_some_and(|rate| value <= since_start.saturating_mul(rate.count))
    }

    /// The word of a debt with so many cells more, whether they fit or not.
    pub(crate) fn charged(&self, kind: u16, value: u64, since_start: u64, cost: u64) -> u64 {
        let Some(rate) = self.get(kind) else { return value };
        let time = since_start.saturating_mul(rate.count);
        let owed = value.saturating_sub(time).saturating_add(cost.saturating_mul(rate.period));
        time.saturating_add(owed.min(DEBT_MAX))
    }

    /// The state that a word stands for, brought to an instant.
    pub(crate) fn state(&self, kind: u16, value: u64, since_start: u64, now: Micros) -> Option<State> {
        let rate = self.get(kind)?;
        let debt = value.saturating_sub(since_start.saturating_mul(rate.count));
        let debt = Debt { at: now, debt, period: rate.period };
        let state = match rate.algorithm {
            Algorithm::LeakyBucket => State::LeakyBucket(debt),
            Algorithm::Gcra => State::Gcra(debt),
            Algorithm::TokenBucket
            | Algorithm::FixedWindow
            | Algorithm::SlidingWindow
            | Algorithm::SlidingWindowBuckets
            | Algorithm::SlidingWindowLog => State::TokenBucket(debt),
        };
        (debt.debt > 0).then_some(state)
    }
}

/// A limit whose debts fit in one word: the instant, in units of 1/count us from the start, at which nothing is owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Narrow {
    pub(crate) kind: u16,
    pub(crate) quota: Quota,
    /// The burst in units of debt.
    capacity: u64,
}

/// A decision before its numbers are worked out: what is asked of most is only whether it was granted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Raw {
    /// What is owed, in units: after the charge, if there was one.
    owed: u64,
    cost: u64,
    pub(crate) granted: bool,
}

impl Narrow {
    /// Decides one hit on a key that owes nothing from the instant `zero` on (0 for a key never seen). Returns that instant
    /// after the hit, if it changes.
    #[inline]
    pub(crate) fn weigh(&self, zero: u64, since_start: u64, cost: u64) -> (Option<u64>, Raw) {
        // Nothing here is larger than `COUNT_MAX` allows, but for the charge of a cost above the burst, which does not count.
        let time = since_start.wrapping_mul(self.quota.count());
        let owed = zero.saturating_sub(time);
        let charge = cost.wrapping_mul(self.quota.period());
        let after = owed.wrapping_add(charge);
        if after <= self.capacity && cost <= self.quota.burst() && cost > 0 {
            return (Some(zero.max(time).wrapping_add(charge)), Raw { owed: after, cost, granted: true });
        }
        (None, Raw { owed, cost, granted: cost == 0 })
    }

    /// The same outcome with nothing charged: another hit of the batch was refused.
    pub(crate) fn uncharged(&self, raw: &Raw) -> Raw {
        if !raw.granted {
            return *raw;
        }
        let charge = raw.cost.saturating_mul(self.quota.period());
        Raw { owed: raw.owed.saturating_sub(charge), cost: 0, granted: true }
    }

    /// The decision with its numbers.
    pub(crate) fn decision(&self, raw: &Raw, now: Micros) -> Decision {
        let Raw { owed, cost, granted } = *raw;
        let (burst, period) = (self.quota.burst(), self.quota.period());
        let outcome = if granted {
            Outcome::Granted
        } else if cost > burst {
            Outcome::Refused(Retry::Never)
        } else {
            let allowed = burst.saturating_sub(cost).saturating_mul(period);
            Outcome::Refused(Retry::After(self.drained(owed.saturating_sub(allowed))))
        };
        self.report(owed, outcome, if granted { cost } else { 0 }, now)
    }

    #[inline]
    fn report(&self, owed: u64, outcome: Outcome, charged: u64, now: Micros) -> Decision {
        let remaining = self.capacity.saturating_sub(owed).checked_div(self.quota.period()).unwrap_or(0);
        let limit = self.quota.burst();
        Decision { outcome, charged, limit, remaining, reset_after: self.drained(owed), at: now }
    }

    /// How long so many units take to drain.
    #[inline]
    fn drained(&self, units: u64) -> Micros {
        let count = self.quota.count();
        Micros::new(units.div_ceil(count))
    }

    /// The word for a state under this limit; `None` if it is another algorithm's or in other units.
    pub(crate) fn word(&self, state: &State, start: Micros, rate: &Rate) -> Option<u64> {
        let ((State::TokenBucket(debt), Algorithm::TokenBucket)
        | (State::LeakyBucket(debt), Algorithm::LeakyBucket)
        | (State::Gcra(debt), Algorithm::Gcra)) = (state, rate.algorithm)
        else {
            return None;
        };
        let time = debt.at.saturating_sub(start).get().saturating_mul(rate.count);
        (debt.period == rate.period).then(|| time.saturating_add(debt.debt))
    }

    /// The same state in this limit's units, if it is of the same algorithm.
    pub(crate) fn converted(&self, state: &State, rate: &Rate) -> Option<State> {
        match (state, rate.algorithm) {
            (State::TokenBucket(debt), Algorithm::TokenBucket) => {
                debt.in_units_of(&self.quota).map(State::TokenBucket)
            }
            (State::LeakyBucket(debt), Algorithm::LeakyBucket) => {
                debt.in_units_of(&self.quota).map(State::LeakyBucket)
            }
            (State::Gcra(debt), Algorithm::Gcra) => debt.in_units_of(&self.quota).map(State::Gcra),
            _ => None,
        }
    }
}
