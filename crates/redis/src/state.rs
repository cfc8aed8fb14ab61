//! A state as bytes: what stands in Redis, and what a script tells of it. It decides nothing.
//!
//! The first byte is the layout (1, in the upper half) and the algorithm. Numbers are big-endian.

use tollgate_core::algorithm::list::{Entry, List};
use tollgate_core::{Algorithm, Count, Debt, Micros, State, TwoCounts};

use crate::call::Argument;

/// Every number of a state is below this.
const BEYOND: u64 = 1 << 53;

/// The first byte of an algorithm's states.
pub(crate) const fn tag(algorithm: Algorithm) -> u8 {
    match algorithm {
        Algorithm::TokenBucket => 0x11,
        Algorithm::LeakyBucket => 0x12,
        Algorithm::Gcra => 0x13,
        Algorithm::FixedWindow => 0x14,
        Algorithm::SlidingWindow => 0x15,
        Algorithm::SlidingWindowBuckets => 0x16,
        Algorithm::SlidingWindowLog => 0x17,
    }
}

/// Adds a number below 2^56, as seven bytes.
pub(crate) fn numbered(argument: &mut Argument, number: u64) {
    let [_, bytes @ ..] = number.to_be_bytes();
    argument.extend_from_slice(&bytes);
}

/// Takes a number of so many bytes off the front.
pub(crate) fn number<const BYTES: usize>(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk::<BYTES>()?;
    *bytes = rest;
    Some(number.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte)))
}

/// Reads what stands under a key in Redis. `None` if it is not a state of ours.
#[must_use]
pub fn stored(bytes: &[u8]) -> Option<State> {
    read(bytes, stored_list)
}

/// Reads what a script tells of a state: all of it, or a list in short.
pub(crate) fn told(bytes: &[u8]) -> Option<State> {
    read(bytes, told_list)
}

fn read(bytes: &[u8], list: fn(Algorithm, &mut &[u8]) -> Option<List>) -> Option<State> {
    let (first, mut rest) = bytes.split_first()?;
    let algorithm = Algorithm::ALL.into_iter().find(|algorithm| tag(*algorithm) == *first)?;
    let bytes = &mut rest;
    let state = match algorithm {
        Algorithm::TokenBucket => State::TokenBucket(debt(bytes)?),
        Algorithm::LeakyBucket => State::LeakyBucket(debt(bytes)?),
        Algorithm::Gcra => State::Gcra(debt(bytes)?),
        Algorithm::FixedWindow => State::FixedWindow(count(bytes)?),
        Algorithm::SlidingWindow => State::SlidingWindow(two_counts(bytes)?),
        Algorithm::SlidingWindowBuckets => State::SlidingWindowBuckets(list(algorithm, bytes)?),
        Algorithm::SlidingWindowLog => State::SlidingWindowLog(list(algorithm, bytes)?),
    };
    rest.is_empty().then_some(state)
}

fn debt(bytes: &mut &[u8]) -> Option<Debt> {
    let at = Micros::new(number::<7>(bytes)?);
    Some(Debt { at, debt: number::<7>(bytes)?, period: number::<7>(bytes)? })
}

fn count(bytes: &mut &[u8]) -> Option<Count> {
    let start = Micros::new(number::<7>(bytes)?);
    Some(Count { start, end: Micros::new(number::<7>(bytes)?), used: number::<7>(bytes)? })
}

fn two_counts(bytes: &mut &[u8]) -> Option<TwoCounts> {
    let (start, end) = (Micros::new(number::<7>(bytes)?), Micros::new(number::<7>(bytes)?));
    Some(TwoCounts { start, end, previous: number::<5>(bytes)?, current: number::<5>(bytes)? })
}

/// How many entries are gone, the running total before the first that is not, and entries: time, and the running total
/// through it. Totals go round at 2^53.
fn stored_list(_: Algorithm, bytes: &mut &[u8]) -> Option<List> {
    let (gone, mut before) = (number::<4>(bytes)?, number::<7>(bytes)?);
    let mut entries = Vec::new();
    let mut position = 0;
    while !bytes.is_empty() {
        let (at, through) = (Micros::new(number::<7>(bytes)?), number::<7>(bytes)?);
        if position >= gone {
            let cost = through.wrapping_sub(before) % BEYOND;
            entries.push(Entry { at, cost });
            before = through;
        }
        position = position.saturating_add(1);
    }
    Some(List::from_entries(entries))
}

/// How many entries count, and some of them: time, and what was charged up to it since the one before that is told.
///
/// Where it matters how many there are, those that are not told are there without a cost.
fn told_list(algorithm: Algorithm, bytes: &mut &[u8]) -> Option<List> {
    let mut counting = number::<4>(bytes)?;
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        entries.push(Entry { at: Micros::new(number::<7>(bytes)?), cost: number::<7>(bytes)? });
        counting = counting.saturating_sub(1);
    }
    let oldest = *entries.first()?;
    // The log has no number of entries at which charges merge.
    let missing = if algorithm == Algorithm::SlidingWindowLog { 0 } else { counting.min(2_048) };
    let padding = (0..missing).map(|_| Entry { cost: 0, ..oldest });
    Some(List::from_entries(padding.chain(entries)))
}
