//! Encodes one key of a snapshot as numbers. Changing their order changes the layout version.

use tollgate_algorithms::algorithm::list::{Entry, List};
use tollgate_algorithms::{Algorithm, Count, Debt, Micros, State, TwoCounts};

use super::paper::{Reader, Writer};
use crate::store::memory::packed_rates::Rate;
use crate::store::memory::snapshot::{SavedKey, SavedUsage};

/// The numbers do not make sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

/// What comes next.
pub(super) const END: u64 = 0;
const DEBT: u64 = 1;
const STATE: u64 = 2;

pub(super) fn write_end(paper: &mut Writer) {
    paper.number(END);
}

pub(super) fn write(paper: &mut Writer, saved: &SavedKey) {
    match &saved.what {
        SavedUsage::Debt(rate, debt) => {
            let algorithm = number_of(rate.algorithm);
            for number in [DEBT, saved.id, algorithm, rate.count, rate.period, *debt] {
                paper.number(number);
            }
        }
        SavedUsage::State(state, over) => {
            for number in [STATE, saved.id, over.get()] {
                paper.number(number);
            }
            write_state(paper, state);
        }
    }
}

/// `None` at the end.
pub(super) fn read(paper: &mut Reader<'_>) -> Result<Option<SavedKey>, Malformed> {
    let (kind, id) = match paper.number()? {
        END => return Ok(None),
        kind => (kind, paper.number()?),
    };
    let what = match kind {
        DEBT => {
            let algorithm = algorithm_of(paper.number()?)?;
            let rate = Rate { algorithm, count: paper.number()?, period: paper.number()? };
            SavedUsage::Debt(rate, paper.number()?)
        }
        STATE => {
            let over = Micros::new(paper.number()?);
            SavedUsage::State(read_state(paper)?, over)
        }
        _ => return Err(Malformed),
    };
    Ok(Some(SavedKey { id, what }))
}

pub(super) const fn number_of(algorithm: Algorithm) -> u64 {
    match algorithm {
        Algorithm::TokenBucket => 1,
        Algorithm::LeakyBucket => 2,
        Algorithm::Gcra => 3,
        Algorithm::FixedWindow => 4,
        Algorithm::SlidingWindow => 5,
        Algorithm::SlidingWindowBuckets => 6,
        Algorithm::SlidingWindowLog => 7,
    }
}

pub(super) fn algorithm_of(number: u64) -> Result<Algorithm, Malformed> {
    Algorithm::ALL.into_iter().find(|algorithm| number_of(*algorithm) == number).ok_or(Malformed)
}

pub(super) fn write_state(paper: &mut Writer, state: &State) {
    let mut all = |algorithm: Algorithm, numbers: &[u64]| {
        paper.number(number_of(algorithm));
        numbers.iter().for_each(|number| paper.number(*number));
    };
    match state {
        State::TokenBucket(debt) => all(Algorithm::TokenBucket, &[debt.at.get(), debt.debt, debt.period]),
        State::LeakyBucket(debt) => all(Algorithm::LeakyBucket, &[debt.at.get(), debt.debt, debt.period]),
        State::Gcra(debt) => all(Algorithm::Gcra, &[debt.at.get(), debt.debt, debt.period]),
        State::FixedWindow(count) => {
            all(Algorithm::FixedWindow, &[count.start.get(), count.end.get(), count.used]);
        }
        State::SlidingWindow(counts) => {
            let numbers = [counts.start.get(), counts.end.get(), counts.previous, counts.current];
            all(Algorithm::SlidingWindow, &numbers);
        }
        State::SlidingWindowBuckets(list) => {
            all(Algorithm::SlidingWindowBuckets, &[list.len() as u64]);
            write_list(paper, list);
        }
        State::SlidingWindowLog(list) => {
            all(Algorithm::SlidingWindowLog, &[list.len() as u64]);
            write_list(paper, list);
        }
    }
}

fn write_list(paper: &mut Writer, list: &List) {
    for entry in list.entries() {
        paper.number(entry.at.get());
        paper.number(entry.cost);
    }
}

pub(super) fn read_state(paper: &mut Reader<'_>) -> Result<State, Malformed> {
    Ok(match algorithm_of(paper.number()?)? {
        Algorithm::TokenBucket => State::TokenBucket(read_debt(paper)?),
        Algorithm::LeakyBucket => State::LeakyBucket(read_debt(paper)?),
        Algorithm::Gcra => State::Gcra(read_debt(paper)?),
        Algorithm::FixedWindow => State::FixedWindow(Count {
            start: Micros::new(paper.number()?),
            end: Micros::new(paper.number()?),
            used: paper.number()?,
        }),
        Algorithm::SlidingWindow => State::SlidingWindow(TwoCounts {
            start: Micros::new(paper.number()?),
            end: Micros::new(paper.number()?),
            previous: paper.number()?,
            current: paper.number()?,
        }),
        Algorithm::SlidingWindowBuckets => State::SlidingWindowBuckets(read_list(paper)?),
        Algorithm::SlidingWindowLog => State::SlidingWindowLog(read_list(paper)?),
    })
}

fn read_debt(paper: &mut Reader<'_>) -> Result<Debt, Malformed> {
    Ok(Debt { at: Micros::new(paper.number()?), debt: paper.number()?, period: paper.number()? })
}

fn read_list(paper: &mut Reader<'_>) -> Result<List, Malformed> {
    let mut entries = Vec::new();
    for _ in 0..paper.number()? {
        entries.push(Entry { at: Micros::new(paper.number()?), cost: paper.number()? });
    }
    Ok(List::from_entries(entries))
}
