//! Decides hits for every algorithm. The modules below compute how much of a limit a key has used.

pub(crate) mod debt;
pub mod fixed_window;
pub mod gcra;
pub mod leaky_bucket;
pub mod list;
pub mod sliding_window;
pub mod sliding_window_buckets;
pub mod sliding_window_log;
pub(crate) mod standing;
pub mod token_bucket;

use crate::{Change, Decision, Limit, Micros, Outcome, Receipt, Retry, State};
use standing::Usage;

/// Decides one hit. Total and pure: no clock, no I/O, no errors. A state of `None` is a key never seen.
///
/// Borrows the state and returns the change to it. A refusal changes nothing, and nothing is charged until the
/// caller [applies](Change::apply) the change. A cost of 0 is always granted and charges nothing.
///
/// ```
/// use tollgate_algorithms::{Limit, Micros, Outcome, Retry, decide};
/// let limit = Limit::token_bucket(2, 1, Micros::SECOND)?;
/// let (mut state, now) = (None, Micros::from_secs(1_000));
///
/// let (change, decision) = decide(&limit, state.as_ref(), now, 2);
/// assert!(decision.is_granted());
/// change.apply(&mut state);
///
/// let (_, decision) = decide(&limit, state.as_ref(), now, 1);
/// assert_eq!(decision.outcome, Outcome::Refused(Retry::After(Micros::SECOND)));
/// # Ok::<(), tollgate_algorithms::LimitError>(())
/// ```
#[inline]
pub fn decide(limit: &Limit, state: Option<&State>, now: Micros, cost: u64) -> (Change, Decision) {
    resolve(limit, state, now, Operation::Cost(cost))
}

/// Decides like [`decide`] without charging: the decision has the numbers of the current state.
#[must_use]
pub fn peek(limit: &Limit, state: Option<&State>, now: Micros, cost: u64) -> Decision {
    let (_, asked) = decide(limit, state, now, cost);
    let (_, uncharged) = decide(limit, state, now, 0);
    Decision { outcome: asked.outcome, ..uncharged }
}

/// Charges as much as fits, up to `most`: see [`Decision::charged`].
///
/// It refuses only if not even a cost of 1 fits; the retry is then that of a cost of 1.
pub fn decide_up_to(limit: &Limit, state: Option<&State>, now: Micros, most: u64) -> (Change, Decision) {
    resolve(limit, state, now, Operation::UpTo(most))
}

/// Charges a cost that became known only after the work was done, even if it does not fit.
///
/// It may overdraw the key by at most one capacity. Anything above that is not charged, so that it locks nobody out for
/// longer than two drains (two windows). [`Decision::charged`] is what was charged.
pub fn settle(limit: &Limit, state: Option<&State>, now: Micros, cost: u64) -> (Change, Decision) {
    resolve(limit, state, now, Operation::Settle(cost))
}

/// Refunds what is left of the receipt's charge: never more, possibly less, and nothing if the limit has changed.
///
/// The decision has the numbers after the refund.
pub fn refund(limit: &Limit, state: Option<&State>, now: Micros, receipt: &Receipt) -> (Change, Decision) {
    resolve(limit, state, now, Operation::Refund(receipt, receipt.cost))
}

/// Refunds a part of the receipt's charge, for a cost that was an estimate.
///
/// After a charge of 100 and a refund of 70, the key has the usage of a charge of 30 (or more, if something else happened in
/// between; never less). A part above the charge refunds the whole charge.
pub fn refund_part(
    limit: &Limit,
    state: Option<&State>,
    now: Micros,
    receipt: &Receipt,
    part: u64,
) -> (Change, Decision) {
    resolve(limit, state, now, Operation::Refund(receipt, part.min(receipt.cost)))
}

/// How much a key can still be charged after the fact: what is left of the limit, and of the one capacity by which
/// [`settle`] may overdraw it.
///
/// The difference before and after a refund is what was given back, in units of cost.
#[must_use]
pub fn headroom(limit: &Limit, state: Option<&State>, now: Micros) -> u64 {
    settle(limit, state, now, u64::MAX).1.charged
}

/// The operation on a key, in which the functions above differ.
#[derive(Clone, Copy)]
enum Operation<'a> {
    Cost(u64),
    UpTo(u64),
    Settle(u64),
    /// A receipt, and how much of it to refund.
    Refund(&'a Receipt, u64),
}

// Inlined into each of the functions above, so that each is compiled for its own question alone.
#[inline(always)]
fn resolve(limit: &Limit, state: Option<&State>, now: Micros, ask: Operation<'_>) -> (Change, Decision) {
    let now = now.min(Micros::INSTANT_MAX);
    match limit {
        Limit::Unlimited => (Change::Keep, unlimited(now, ask)),
        Limit::TokenBucket(quota) => answer(token_bucket::standing(quota, state, now), limit, now, ask),
        Limit::LeakyBucket(quota) => answer(leaky_bucket::standing(quota, state, now), limit, now, ask),
        Limit::Gcra(quota) => answer(gcra::standing(quota, state, now), limit, now, ask),
        Limit::FixedWindow(rule) => answer(fixed_window::standing(rule, state, now), limit, now, ask),
        Limit::SlidingWindow(rule) => answer(sliding_window::standing(rule, state, now), limit, now, ask),
        Limit::SlidingWindowBuckets(rule) => {
            answer(sliding_window_buckets::standing(rule, state, now), limit, now, ask)
        }
        Limit::SlidingWindowLog(rule) => {
            answer(sliding_window_log::standing(rule, state, now), limit, now, ask)
        }
    }
}

fn unlimited(now: Micros, ask: Operation<'_>) -> Decision {
    let charged = match ask {
        Operation::Cost(cost) | Operation::UpTo(cost) | Operation::Settle(cost) => cost,
        Operation::Refund(..) => 0,
    };
    Decision {
        outcome: Outcome::Granted,
        charged,
        limit: Decision::UNLIMITED,
        remaining: Decision::UNLIMITED,
        reset_after: Micros::ZERO,
        at: now,
    }
}

#[inline(always)]
fn answer<S: Usage>(standing: S, limit: &Limit, now: Micros, ask: Operation<'_>) -> (Change, Decision) {
    let capacity = limit.capacity();
    let room = standing.room(capacity);
    let late = standing.at().saturating_sub(now);
    let refused = |cost: u64| {
        if cost > capacity {
            return Outcome::Refused(Retry::Never);
        }
        Outcome::Refused(Retry::After(late.saturating_add(standing.wait(capacity, cost))))
    };
    let report = |after: &S, outcome: Outcome, charged: u64, remaining: u64| {
        let reset_after = match after.drained() {
            Micros::ZERO => Micros::ZERO,
            drained => late.saturating_add(drained),
        };
        Decision { outcome, charged, limit: capacity, remaining, reset_after, at: standing.at() }
    };
    let (outcome, charged) = match ask {
        Operation::Cost(cost) if cost <= room => (Outcome::Granted, cost),
        Operation::Cost(cost) => (refused(cost), 0),
        Operation::UpTo(most) if most == 0 || room > 0 => (Outcome::Granted, most.min(room)),
        Operation::UpTo(_) => (refused(1), 0),
        // Doubled: a settled cost may overdraw by one capacity.
        Operation::Settle(cost) => (Outcome::Granted, cost.min(standing.room(capacity.saturating_mul(2)))),
        Operation::Refund(receipt, part) => {
            let refunded = if receipt.limit == *limit { standing.refunded(receipt, part) } else { None };
            return match refunded {
                Some(after) => (after.change(), report(&after, Outcome::Granted, 0, after.room(capacity))),
                None => (Change::Keep, report(&standing, Outcome::Granted, 0, room)),
            };
        }
    };
    if charged == 0 {
        return (Change::Keep, report(&standing, outcome, 0, room));
    }
    let after = standing.charged(charged);
    let decision = report(&after, outcome, charged, room.saturating_sub(charged));
    (after.change(), decision)
}
