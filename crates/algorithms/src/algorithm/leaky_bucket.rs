//! The leaky bucket as a meter: a level that hits raise and time drains. Not the queue: nothing waits.
//!
//! A hit adds its cost to a bucket of size `burst` that leaks `count` every `period`. A hit that would overflow the bucket is
//! refused and adds nothing. A key never seen has an empty bucket.
//!
//! **For** people who think of load as a level: it mirrors the [token bucket](super::token_bucket)
//! (level = burst − tokens) and makes the same decisions on every trace. **Not for** smoothing traffic: it refuses
//! instead of delaying.
//!
//! **State:** the level, as [`Debt`].
//!
//! **Bound:** no interval of length t admits more than `burst + count × t / period`. The level exceeds `burst` only after
//! a cost was [settled](crate::settle) or the burst was lowered.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, State, decide};
//! let limit = Limit::leaky_bucket(4, 2, Micros::SECOND)?;
//! let mut state = None;
//! let (change, decision) = decide(&limit, state.as_ref(), Micros::from_secs(1_000), 3);
//! change.apply(&mut state);
//! assert_eq!(decision.remaining, 1); // the level is 3 of 4
//! assert_eq!(decision.reset_after, Micros::from_millis(1_500)); // 3, drained at 2 per second
//! # Ok::<(), tollgate_algorithms::LimitError>(())
//! ```

use super::debt::DebtUsage;
use crate::{Debt, Micros, Quota, State};

#[inline]
pub(crate) fn standing(
    quota: &Quota,
    state: Option<&State>,
    now: Micros,
) -> DebtUsage<impl Fn(Debt) -> State + Copy> {
    let debt = if let Some(State::LeakyBucket(debt)) = state { Some(debt) } else { None };
    DebtUsage::new(quota, debt, now, State::LeakyBucket)
}
