//! A cost after the fact that meets a key under other numbers: it joins what is owed, and does not bring its own numbers back.
//!
//! Written apart from the scripts, and not by way of the core, which knows only the numbers that it is given.

use super::{Key, rate};
use tollgate_algorithms::algorithm::list::{Entry, List};
use tollgate_algorithms::{Debt, Limit, Micros, Quota, State, TwoCounts, settle};

/// The longest window, and the most units of a quota.
const WINDOW_MAX: u64 = (1 << 51) - 1;
const UNITS_MAX: u64 = (1 << 52) - 1;

/// From so many entries on, costs that join buckets merge.
const BUCKETS_MAX: usize = 2_048;

/// What is charged of a cost, and what is left then. `None` if nothing counts of what there is: then it is settled as ever.
pub(super) fn joined(limit: &Limit, key: &Key, now: Micros, cost: u64) -> Option<(u64, State)> {
    let state = &key.state;
    let cost = cost.min(limit.capacity().saturating_mul(2));
    let now = now.min(Micros::INSTANT_MAX);
    match (limit, state) {
        (Limit::TokenBucket(quota), State::TokenBucket(debt)) => {
            debts((quota, rate(&key.by)?), debt, now, cost)
                .map(|(charged, debt)| (charged, State::TokenBucket(debt)))
        }
        (Limit::LeakyBucket(quota), State::LeakyBucket(debt)) => {
            debts((quota, rate(&key.by)?), debt, now, cost)
                .map(|(charged, debt)| (charged, State::LeakyBucket(debt)))
        }
        (Limit::Gcra(quota), State::Gcra(debt)) => debts((quota, rate(&key.by)?), debt, now, cost)
            .map(|(charged, debt)| (charged, State::Gcra(debt))),
        (Limit::SlidingWindow(_), State::SlidingWindow(counts)) => two_counts(limit, counts, now, cost),
        (Limit::SlidingWindowBuckets(rule), State::SlidingWindowBuckets(list)) => {
            lists((limit.capacity(), rule.window()), (list, true), now, cost)
                .map(|(charged, list)| (charged, State::SlidingWindowBuckets(list)))
        }
        (Limit::SlidingWindowLog(rule), State::SlidingWindowLog(list)) => {
            lists((limit.capacity(), rule.window()), (list, false), now, cost)
                .map(|(charged, list)| (charged, State::SlidingWindowLog(list)))
        }
        // A fixed window keeps its end under whatever numbers.
        _ => None,
    }
}

/// Drains as it did, and so much more is owed.
fn debts((quota, by): (&Quota, Quota), debt: &Debt, now: Micros, cost: u64) -> Option<(u64, Debt)> {
    // So far ahead that it counts as none.
    let is_none = debt.at > now && debt.at.saturating_sub(now) > quota.drain();
    if is_none {
        return None;
    }
    let at = now.max(debt.at);
    let owed = debt.debt.saturating_sub(at.saturating_sub(debt.at).get().saturating_mul(by.count()));
    let capacity = quota.burst().min(UNITS_MAX / debt.period);
    let charged = cost.min((2 * capacity).saturating_sub(owed.div_ceil(debt.period)));
    Some((charged, Debt { at, debt: owed + charged * debt.period, ..*debt }))
}

/// Counted by windows as long as the last; or where the last was, though that is over: whether it is by others, they know.
fn two_counts(limit: &Limit, counts: &TwoCounts, now: Micros, cost: u64) -> Option<(u64, State)> {
    let at = now.max(counts.start);
    if at.saturating_sub(now) > counts.end.saturating_sub(counts.start) {
        return None;
    }
    if at < counts.end {
        let mut state = Some(State::SlidingWindow(*counts));
        let (change, decision) = settle(limit, state.as_ref(), now, cost);
        change.apply(&mut state);
        return Some((decision.charged, state?));
    }
    let length = counts.end.saturating_sub(counts.start);
    if counts.current > 0 && at < counts.end.saturating_add(length) {
        let alike = Limit::sliding_window(limit.capacity(), length).ok()?;
        let mut state = Some(State::SlidingWindow(*counts));
        let (change, decision) = settle(&alike, state.as_ref(), now, cost);
        change.apply(&mut state);
        return Some((decision.charged, state?));
    }
    let charged = cost.min((2 * limit.capacity()).saturating_sub(counts.current));
    let joined = TwoCounts { previous: 0, current: counts.current + charged, ..*counts };
    Some((charged, State::SlidingWindow(joined)))
}

/// An entry of its own, among all that there are.
fn lists(
    (capacity, window): (u64, Micros),
    (list, is_buckets): (&List, bool),
    now: Micros,
    cost: u64,
) -> Option<(u64, List)> {
    let entries: Vec<Entry> = list.entries().collect();
    let newest = entries.last()?.at;
    let at = now.max(newest);
    if newest.saturating_sub(now) > window {
        return None;
    }
    let mut kept: Vec<Entry> =
        entries.into_iter().filter(|entry| entry.at.get() + WINDOW_MAX > at.get()).collect();
    let used: u64 = kept.iter().map(|entry| entry.cost).sum();
    let charged = cost.min((2 * capacity).saturating_sub(used));
    let merges = is_buckets && kept.len() >= BUCKETS_MAX;
    match kept.last_mut()? {
        _ if charged == 0 => return Some((0, list.clone())),
        last if last.at == at || merges => {
            last.cost += charged;
            last.at = at;
        }
        _ => kept.push(Entry { at, cost: charged }),
    }
    Some((charged, List::from_entries(kept)))
}
