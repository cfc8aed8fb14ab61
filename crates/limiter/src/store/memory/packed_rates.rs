//! Packed rates: reads, charges and compares debts that fit in one word. Decides exactly like the reference algorithm; a test
//! compares them.
#![warn(clippy::arithmetic_side_effects)]

use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use tollgate_algorithms::{Algorithm, Debt, Decision, Limit, Micros, Outcome, Quota, Retry, State};

/// How many different rates can be told apart in one word; limits with further ones take more memory a key.
pub(crate) const RATES_MAX: u16 = 65_533;
/// A key that has been put in and not been charged yet.
pub(crate) const FRESH: u16 = RATES_MAX + 1;
/// A key whose value is the number of its cell.
pub(crate) const IN_A_CELL: u16 = RATES_MAX + 2;

/// A value has so many bits.
const VALUE_MAX: u64 = (1 << 63) - 1;

/// Up to when, in microseconds since the start, debts at a rate with this count fit in a word: the time times the count, plus a debt
/// of up to 2^53, has to stay below 2^63. Up to a count of 2,045 that is always; at the largest, 65,535, it is 4.4 years.
const fn word_lasts(count: u64) -> u64 {
    match (VALUE_MAX - 2 * DEBT_MAX).checked_div(count) {
        Some(lasts) => lasts,
        None => u64::MAX,
    }
}

/// No debt is larger than this: more than twice what any quota allows.
const DEBT_MAX: u64 = (1 << 53) - 1;

/// How a debt drains, and which algorithm's it is. The burst does not matter for reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rate {
    pub(crate) algorithm: Algorithm,
    pub(crate) count: u64,
    pub(crate) period: u64,
}

/// All rates in use. They are never forgotten.
#[derive(Debug)]
pub(crate) struct Rates {
    known: [OnceLock<Box<Chunk>>; CHUNKS],
    index: Mutex<RateIndex>,
    bytes: AtomicUsize,
}

/// Rates per allocation.
const CHUNK_RATES: usize = 1_024;
const CHUNKS: usize = 64;

/// Rates in the order of their numbers.
#[derive(Debug)]
struct Chunk {
    /// The period, times four, and the number of the algorithm; 0 for a rate that is not there.
    periods: [AtomicU64; CHUNK_RATES],
    counts: [AtomicU16; CHUNK_RATES],
}

/// Finds the number of a rate: each number stands in the first free place from the one that the rate hashes to. 0 is a free
/// place. There is a power of two of them.
#[derive(Debug, Default)]
struct RateIndex {
    places: Vec<u16>,
    known: u16,
}

impl Rates {
    /// What all of them take, if there are as many as there can be, in bytes.
    pub(crate) const BYTES_MAX: usize = CHUNKS * size_of::<Chunk>() + (2 << 17);
    /// So much of that is not counted: what a store with few rates takes is part of its fixed size.
    const BYTES_FREE: usize = size_of::<Chunk>() + 2 * PLACES_MIN;

    pub(crate) fn new() -> Self {
        let known = [const { OnceLock::new() }; CHUNKS];
        Self { known, index: Mutex::default(), bytes: AtomicUsize::new(0) }
    }

    /// What they take, beyond what a store with few rates takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed).saturating_sub(Self::BYTES_FREE)
    }

    /// The limit as a debt in one word, if its numbers allow and rates may take so many bytes.
    pub(crate) fn narrow(&self, limit: &Limit, may_take: impl Fn(usize) -> bool) -> Option<PackedLimit> {
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
        let rate = Rate { algorithm, count: quota.count(), period: quota.period() };
        let kind = self.number(rate, may_take)?;
        let capacity = quota.burst().saturating_mul(quota.period());
        Some(PackedLimit { kind, quota: *quota, capacity, until: word_lasts(quota.count()) })
    }

    /// The number of a rate, in 1..=[`RATES_MAX`]; `None` if its count is too large, there are too many, or there is no room.
    pub(crate) fn number(&self, rate: Rate, may_take: impl Fn(usize) -> bool) -> Option<u16> {
        let count = u16::try_from(rate.count).ok()?;
        let period = rate.period.checked_mul(4)?.checked_add(number_of(rate.algorithm)?)?;
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(number) = self.search(&index.places, rate) {
            return Some(number);
        }
        if index.known >= RATES_MAX {
            return None;
        }
        let (chunk, place) = (usize::from(index.known) / CHUNK_RATES, usize::from(index.known) % CHUNK_RATES);
        let places = index.places_wanted();
        let bytes = size_of::<Chunk>()
            .saturating_mul(chunk.saturating_add(1))
            .saturating_add(places.saturating_mul(2));
        if bytes > Self::BYTES_FREE && !may_take(bytes.saturating_sub(Self::BYTES_FREE)) {
            return None;
        }
        let chunk = self.known.get(chunk)?.get_or_init(Chunk::new);
        chunk.counts.get(place)?.store(count, Ordering::Relaxed);
        chunk.periods.get(place)?.store(period, Ordering::Release);
        index.known = index.known.saturating_add(1);
        let number = index.known;
        if places > index.places.len() {
            index.places = vec![0; places];
            (1..number).for_each(|known| self.enter(&mut index.places, known));
        }
        self.enter(&mut index.places, number);
        self.bytes.store(bytes, Ordering::Relaxed);
        Some(number)
    }

    /// The number of a rate, or the place where it belongs.
    fn search(&self, places: &[u16], rate: Rate) -> Result<u16, Option<usize>> {
        let Some(mask) = places.len().checked_sub(1) else { return Err(None) };
        let first = rate.hash();
        for step in 0..places.len() {
            let place = first.wrapping_add(step) & mask;
            match places.get(place) {
                Some(0) | None => return Err(Some(place)),
                Some(number) if self.get(*number) == Some(rate) => return Ok(*number),
                Some(_) => {}
            }
        }
        Err(None)
    }

    fn enter(&self, places: &mut [u16], number: u16) {
        let Some(rate) = self.get(number) else { return };
        if let Err(Some(place)) = self.search(places, rate)
            && let Some(place) = places.get_mut(place)
        {
            *place = number;
        }
    }

    /// The rate with a number.
    #[inline]
    pub(crate) fn get(&self, kind: u16) -> Option<Rate> {
        let number = usize::from(kind.wrapping_sub(1));
        let chunk = self.known.get(number / CHUNK_RATES)?.get()?;
        let period = chunk.periods.get(number % CHUNK_RATES)?.load(Ordering::Acquire);
        let count = chunk.counts.get(number % CHUNK_RATES)?.load(Ordering::Relaxed);
        Some(Rate { algorithm: algorithm_of(period % 4)?, count: count.into(), period: period / 4 })
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
        time.saturating_add(owed.min(DEBT_MAX)).min(VALUE_MAX)
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

/// An index has at least so many places.
const PLACES_MIN: usize = 2_048;

impl RateIndex {
    /// How many places there should be for one rate more: no more than seven of eight are taken.
    fn places_wanted(&self) -> usize {
        let (wanted, places) = (usize::from(self.known).saturating_add(1), self.places.len().max(PLACES_MIN));
        if wanted.saturating_mul(8) > places.saturating_mul(7) { places.saturating_mul(2) } else { places }
    }
}

impl Chunk {
    fn new() -> Box<Self> {
        let periods = [const { AtomicU64::new(0) }; CHUNK_RATES];
        Box::new(Self { periods, counts: [const { AtomicU16::new(0) }; CHUNK_RATES] })
    }
}

impl Rate {
    /// A number from which a search begins. Rates are not chosen by strangers.
    const fn hash(self) -> usize {
        let mixed = (self.period ^ self.count.rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as usize
    }
}

/// Algorithms whose debts fit in a word, in two bits. 0 is none.
const fn number_of(algorithm: Algorithm) -> Option<u64> {
    match algorithm {
        Algorithm::TokenBucket => Some(1),
        Algorithm::LeakyBucket => Some(2),
        Algorithm::Gcra => Some(3),
        Algorithm::FixedWindow
        | Algorithm::SlidingWindow
        | Algorithm::SlidingWindowBuckets
        | Algorithm::SlidingWindowLog => None,
    }
}

const fn algorithm_of(number: u64) -> Option<Algorithm> {
    match number {
        1 => Some(Algorithm::TokenBucket),
        2 => Some(Algorithm::LeakyBucket),
        3 => Some(Algorithm::Gcra),
        _ => None,
    }
}

/// A limit whose debts fit in one word: the instant, in units of 1/count us from the start, at which nothing is owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedLimit {
    pub(crate) kind: u16,
    pub(crate) quota: Quota,
    /// The burst in units of debt.
    capacity: u64,
    /// In microseconds since the store began: later its debts do not fit in a word any more.
    pub(crate) until: u64,
}

/// A decision before its numbers are worked out: what is asked of most is only whether it was granted.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct PackedDecision {
    /// What is owed, in units: after the charge, if there was one.
    owed: u64,
    cost: u64,
    pub(crate) granted: bool,
}

impl PackedLimit {
    /// Decides one hit on a key that owes nothing from the instant `zero` on (0 for a key never seen). Returns that instant
    /// after the hit, if it changes.
    #[inline]
    pub(crate) fn weigh(&self, zero: u64, since_start: u64, cost: u64) -> (Option<u64>, PackedDecision) {
        // Nothing here is larger than a word up to `until`, but for the charge of a cost above the burst, which does not count.
        let time = since_start.wrapping_mul(self.quota.count());
        let owed = zero.saturating_sub(time);
        let charge = cost.wrapping_mul(self.quota.period());
        let after = owed.wrapping_add(charge);
        if after <= self.capacity && cost <= self.quota.burst() && cost > 0 {
            return (
                Some(zero.max(time).wrapping_add(charge)),
                PackedDecision { owed: after, cost, granted: true },
            );
        }
        (None, PackedDecision { owed, cost, granted: cost == 0 })
    }

    /// The same outcome with nothing charged: another hit of the batch was refused.
    pub(crate) fn uncharged(&self, raw: &PackedDecision) -> PackedDecision {
        if !raw.granted {
            return *raw;
        }
        let charge = raw.cost.saturating_mul(self.quota.period());
        PackedDecision { owed: raw.owed.saturating_sub(charge), cost: 0, granted: true }
    }

    /// The decision with its numbers.
    pub(crate) fn decision(&self, raw: &PackedDecision, now: Micros) -> Decision {
        let PackedDecision { owed, cost, granted } = *raw;
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

    /// The word for a state under this limit; `None` if it is another algorithm's, in other units, or too late for a word.
    pub(crate) fn word(&self, state: &State, start: Micros, rate: &Rate) -> Option<u64> {
        let ((State::TokenBucket(debt), Algorithm::TokenBucket)
        | (State::LeakyBucket(debt), Algorithm::LeakyBucket)
        | (State::Gcra(debt), Algorithm::Gcra)) = (state, rate.algorithm)
        else {
            return None;
        };
        let time = debt.at.saturating_sub(start).get().saturating_mul(rate.count);
        let word = time.saturating_add(debt.debt);
        (debt.period == rate.period && word <= VALUE_MAX).then_some(word)
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
