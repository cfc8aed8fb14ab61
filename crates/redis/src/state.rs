//! Encodes and decodes states as the bytes that are stored in Redis.
//!
//! The first byte is the layout (3, in the upper half) and the [kind](StateKind). Then come the [mark](crate::ConfigTag) of the numbers
//! it was last charged by, and since when there were no others. Numbers are big-endian.

use tollgate_algorithms::algorithm::list::{Entry, List};
use tollgate_algorithms::{Algorithm, Count, Debt, Micros, State, TwoCounts};

use crate::call::Argument;
use crate::{ConfigTag, StateKind};

/// Every number of a state is below this.
const BEYOND: u64 = 1 << 53;

/// A debt in short, after its first byte.
const DEBT_BYTES: usize = 27;

/// From here on a debt is written at length: its count and its period in seven bytes each.
const LONG_PERIOD: u64 = 1 << 40;
const LONG_COUNT: u64 = 1 << 24;

/// So many entries are there at the most without being told of; there are never more than 1,025 buckets. What lies above is
/// left out.
const UNTOLD_MAX: u64 = 2_048;

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

/// Reads what stands under a key in Redis, as a state of this algorithm. `None` if it is not a state of its kind.
///
/// Algorithms of one kind share their states: a debt is read as that of whichever bucket is asked about.
#[must_use]
pub fn stored(algorithm: Algorithm, bytes: &[u8]) -> Option<State> {
    read(algorithm, bytes, stored_list)
}

/// Reads by which numbers a state was charged last, and since when there were no others.
#[must_use]
pub fn era(bytes: &[u8]) -> Option<ConfigTag> {
    let (first, mut rest) = bytes.split_first()?;
    let is_debt = *first == StateKind::Debt.tag();
    let is_long = is_debt && rest.len() > DEBT_BYTES;
    ConfigTag::take(&mut rest, is_long)
}

/// Reads what a script tells of a state: all of it, or a list in short.
pub(crate) fn told(algorithm: Algorithm, bytes: &[u8]) -> Option<State> {
    read(algorithm, bytes, told_list)
}

fn read(
    algorithm: Algorithm,
    bytes: &[u8],
    list: fn(Algorithm, &mut &[u8]) -> Option<List>,
) -> Option<State> {
    let (first, mut rest) = bytes.split_first()?;
    if *first != StateKind::of(algorithm).tag() {
        return None;
    }
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
    let is_long = bytes.len() > DEBT_BYTES;
    let count = ConfigTag::take(bytes, is_long)?.mark;
    let at = Micros::new(number::<7>(bytes)?);
    let debt = number::<7>(bytes)?;
    if !is_long {
        return Some(Debt { at, debt, period: number::<5>(bytes)? });
    }
    let period = number::<7>(bytes)?;
    // What fits is written in short.
    (period >= LONG_PERIOD || count >= LONG_COUNT).then_some(Debt { at, debt, period })
}

fn count(bytes: &mut &[u8]) -> Option<Count> {
    ConfigTag::take(bytes, false)?;
    let start = Micros::new(number::<7>(bytes)?);
    Some(Count { start, end: Micros::new(number::<7>(bytes)?), used: number::<7>(bytes)? })
}

fn two_counts(bytes: &mut &[u8]) -> Option<TwoCounts> {
    ConfigTag::take(bytes, false)?;
    let (start, end) = (Micros::new(number::<7>(bytes)?), Micros::new(number::<7>(bytes)?));
    Some(TwoCounts { start, end, previous: number::<5>(bytes)?, current: number::<5>(bytes)? })
}

/// How many entries are gone, the running total before the first that is not, and entries: time, and the running total
/// through it. Totals go round at 2^53.
fn stored_list(_: Algorithm, bytes: &mut &[u8]) -> Option<List> {
    ConfigTag::take(bytes, false)?;
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
    let missing = if algorithm == Algorithm::SlidingWindowLog { 0 } else { counting.min(UNTOLD_MAX) };
    let padding = (0..missing).map(|_| Entry { cost: 0, ..oldest });
    Some(List::from_entries(padding.chain(entries)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every state has after its first byte.
    const ERA: [u8; 8] = [1, 2, 3, 0, 0, 0, 2, 7];

    fn numbers(first: u8, sizes: &[(usize, u64)]) -> Vec<u8> {
        let mut bytes = vec![first];
        bytes.extend_from_slice(&ERA);
        plain(bytes, sizes)
    }

    /// What a script tells of a list is not a state.
    fn in_short(first: u8, sizes: &[(usize, u64)]) -> Vec<u8> {
        plain(vec![first], sizes)
    }

    fn plain(mut bytes: Vec<u8>, sizes: &[(usize, u64)]) -> Vec<u8> {
        for (size, number) in sizes {
            bytes.extend_from_slice(&number.to_be_bytes()[8 - size..]);
        }
        bytes
    }

    #[test]
    fn states_are_read_as_they_are_written_down_in_the_documentation() {
        let at = Micros::new(1_763_222_400_123_456);
        let debt = Debt { at, debt: BEYOND - 1, period: 7 };
        let written = [(7, at.get()), (7, debt.debt), (5, 7)];
        assert_eq!(stored(Algorithm::TokenBucket, &numbers(0x31, &written)), Some(State::TokenBucket(debt)));
        assert_eq!(stored(Algorithm::LeakyBucket, &numbers(0x31, &written)), Some(State::LeakyBucket(debt)));
        assert_eq!(stored(Algorithm::Gcra, &numbers(0x31, &written)), Some(State::Gcra(debt)));
        let long = |count, period| {
            plain(vec![0x31], &[(7, count), (5, 0x02_07), (7, at.get()), (7, debt.debt), (7, period)])
        };
        let read = |period| Some(State::TokenBucket(Debt { period, ..debt }));
        assert_eq!(stored(Algorithm::TokenBucket, &long(5, 1 << 40)), read(1 << 40));
        assert_eq!(stored(Algorithm::TokenBucket, &long(1 << 24, 7)), read(7));
        assert_eq!(
            stored(Algorithm::TokenBucket, &long((1 << 24) - 1, (1 << 40) - 1)),
            None,
            "there is one way to write a state"
        );
        assert_eq!(era(&long(1 << 24, 7)), Some(ConfigTag { mark: 1 << 24, since: 0x02_07 }));
        let count = Count { start: Micros::new(5), end: Micros::new(9), used: 3 };
        assert_eq!(
            stored(Algorithm::FixedWindow, &numbers(0x32, &[(7, 5), (7, 9), (7, 3)])),
            Some(State::FixedWindow(count))
        );
        let counts = TwoCounts { start: Micros::new(5), end: Micros::new(9), previous: 3, current: 1 << 32 };
        let written = [(7, 5), (7, 9), (5, 3), (5, 1 << 32)];
        assert_eq!(
            stored(Algorithm::SlidingWindow, &numbers(0x33, &written)),
            Some(State::SlidingWindow(counts))
        );
        assert_eq!(era(&numbers(0x33, &written)), Some(ConfigTag { mark: 0x01_02_03, since: 0x02_07 }));
    }

    #[test]
    fn totals_of_a_list_go_round_and_what_is_gone_is_not_read() {
        let entry = |at, cost| Entry { at: Micros::new(at), cost };
        let written = [(4, 1), (7, BEYOND - 2), (7, 1), (7, BEYOND - 2), (7, 5), (7, 1), (7, 6), (7, 4)];
        let list = List::from_entries([entry(5, 3), entry(6, 3)]);
        assert_eq!(
            stored(Algorithm::SlidingWindowLog, &numbers(0x35, &written)),
            Some(State::SlidingWindowLog(list.clone()))
        );
        assert_eq!(
            stored(Algorithm::SlidingWindowBuckets, &numbers(0x34, &written)),
            Some(State::SlidingWindowBuckets(list))
        );
    }

    #[test]
    fn entries_that_are_not_told_of_are_there_without_a_cost_where_their_number_matters() {
        let written = [(4, 3), (7, 5), (7, 2), (7, 9), (7, 1)];
        let length = |state| match state {
            Some(State::SlidingWindowBuckets(list) | State::SlidingWindowLog(list)) => list.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(length(told(Algorithm::SlidingWindowBuckets, &in_short(0x34, &written))), 3);
        assert_eq!(length(told(Algorithm::SlidingWindowLog, &in_short(0x35, &written))), 2);
        let many = [(4, u64::from(u32::MAX)), (7, 5), (7, 2)];
        assert_eq!(
            length(told(Algorithm::SlidingWindowBuckets, &in_short(0x34, &many))),
            2_049,
            "no answer makes us take much memory"
        );
    }

    #[test]
    fn what_is_cut_short_or_has_something_added_is_not_a_state() {
        let stored = |bytes: &[u8]| stored(Algorithm::FixedWindow, bytes);
        let written = |first| numbers(first, &[(7, 5), (7, 9), (7, 3)]);
        let whole = written(0x32);
        assert!(stored(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(stored(&whole[..length]), None);
        }
        assert_eq!(stored(&[whole.as_slice(), &[0]].concat()), None);
        for another_layout in [0x22, 0x42] {
            assert_eq!(stored(&written(another_layout)), None);
        }
        for another_kind in [0x31, 0x33] {
            assert_eq!(stored(&written(another_kind)), None);
        }
        let half_an_entry = numbers(0x35, &[(4, 0), (7, 0), (7, 5)]);
        assert_eq!(super::stored(Algorithm::SlidingWindowLog, &half_an_entry), None);
    }
}
