//! Encodes the overflow buckets of a snapshot, with their limits.

use tollgate_algorithms::{Algorithm, Limit, Micros, UtcOffset, Window};

use super::coding::{Malformed, algorithm_of, number_of, read_state, write_state};
use super::paper::{Reader, Writer};
use crate::store::memory::overflow::{LimitOfName, OverflowBucket};
use crate::store::memory::snapshot::SavedOverflow;

/// Which windows a fixed window has.
const EVERY: u64 = 0;
const DAY: u64 = 1;
const WEEK: u64 = 2;
const MONTH: u64 = 3;
const YEAR: u64 = 4;

pub(super) fn write_all(paper: &mut Writer, all: &[SavedOverflow]) {
    paper.number(all.len() as u64);
    for SavedOverflow { family: (space, limit), share, common } in all {
        for number in [*space, *share, common.at.get(), common.over.get()] {
            paper.number(number);
        }
        write_limit(paper, limit);
        write_state(paper, &common.state);
    }
}

pub(super) fn read_all(paper: &mut Reader<'_>) -> Result<Vec<SavedOverflow>, Malformed> {
    (0..paper.number()?).map(|_| read(paper)).collect()
}

fn read(paper: &mut Reader<'_>) -> Result<SavedOverflow, Malformed> {
    let (space, share) = (paper.number()?, paper.number()?);
    let (at, over) = (Micros::new(paper.number()?), Micros::new(paper.number()?));
    let family: LimitOfName = (space, read_limit(paper)?);
    Ok(SavedOverflow { family, share, common: OverflowBucket { state: read_state(paper)?, at, over } })
}

/// A limit is its algorithm and four numbers, some of which may mean nothing.
fn write_limit(paper: &mut Writer, limit: &Limit) {
    let numbers = match limit {
        Limit::Unlimited => [0; 4],
        Limit::TokenBucket(quota) | Limit::LeakyBucket(quota) | Limit::Gcra(quota) => {
            [quota.burst(), quota.count(), quota.period(), 0]
        }
        Limit::FixedWindow(rule) => {
            // A rule of summer time is above all numbers of minutes.
            let offset = |offset: UtcOffset| match offset.summer_time() {
                None => u64::from(offset.minutes().cast_unsigned()),
                Some(_) => offset.code(),
            };
            let (kind, length) = match rule.window() {
                Window::Every(length) => (EVERY, length.get()),
                Window::Day(from) => (DAY, offset(from)),
                Window::Week(from) => (WEEK, offset(from)),
                Window::Month(from) => (MONTH, offset(from)),
                Window::Year(from) => (YEAR, offset(from)),
            };
            [rule.limit(), kind, length, 0]
        }
        Limit::SlidingWindow(rule) => [rule.limit(), rule.window().get(), 0, 0],
        Limit::SlidingWindowBuckets(rule) => [rule.limit(), rule.window().get(), rule.buckets().into(), 0],
        Limit::SlidingWindowLog(rule) => [rule.limit(), rule.window().get(), 0, 0],
    };
    paper.number(limit.algorithm().map_or(0, number_of));
    numbers.into_iter().for_each(|number| paper.number(number));
}

fn read_limit(paper: &mut Reader<'_>) -> Result<Limit, Malformed> {
    let algorithm = algorithm_of(paper.number()?)?;
    let [limit, second, third, _] = [paper.number()?, paper.number()?, paper.number()?, paper.number()?];
    let (period, window) = (Micros::new(third), Micros::new(second));
    let read = match algorithm {
        Algorithm::TokenBucket => Limit::token_bucket(limit, second, period),
        Algorithm::LeakyBucket => Limit::leaky_bucket(limit, second, period),
        Algorithm::Gcra => Limit::gcra(limit, second, period),
        Algorithm::FixedWindow => Limit::fixed_window(limit, read_window(second, third)?),
        Algorithm::SlidingWindow => Limit::sliding_window(limit, window),
        Algorithm::SlidingWindowBuckets => {
            Limit::sliding_window_buckets(limit, window, u32::try_from(third).map_err(|_| Malformed)?)
        }
        Algorithm::SlidingWindowLog => Limit::sliding_window_log(limit, window),
    };
    read.map_err(|_| Malformed)
}

fn read_window(kind: u64, length: u64) -> Result<Window, Malformed> {
    let offset = || match u32::try_from(length) {
        Ok(minutes) => UtcOffset::from_minutes(minutes.cast_signed()).map_err(|_| Malformed),
        Err(_) => UtcOffset::from_code(length).ok_or(Malformed),
    };
    Ok(match kind {
        EVERY => Window::Every(Micros::new(length)),
        DAY => Window::Day(offset()?),
        WEEK => Window::Week(offset()?),
        MONTH => Window::Month(offset()?),
        YEAR => Window::Year(offset()?),
        _ => return Err(Malformed),
    })
}
