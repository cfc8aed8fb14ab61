//! The token bucket: a burst, and a rate in the long run. It does not guarantee "at most N in any minute".
//!
//! A bucket holds `burst` tokens and gets `count` more every `period`, never above `burst`. A hit takes its cost in
//! tokens, or is refused and takes nothing. A key never seen has a full bucket.
//!
//! **For** protecting capacity: clients may be bursty as long as they are moderate on average. **Not for** a promise
//! such as "at most 100 in any minute": a full bucket and a minute's refill together are 200 (see the bound); the
//! [log](super::sliding_window_log) and the [buckets](super::sliding_window_buckets) keep that promise.
//!
//! **State:** what is missing from the bucket, as [`Debt`]; refilled lazily, when it is looked at.
//!
//! **Bound:** no interval of length t admits more than `burst + count × t / period`; and under constant demand
//! exactly the floor of that is admitted, for ever, because the rate is never rounded. (What comes back while the
//! bucket is full is lost, here as everywhere.)
//!
//! **When its numbers change** what is owed stays owed, in cells, and drains at the new rate. A key that owes more than
//! a lowered burst waits until the new rate has paid for it.
//!
//! ```
//! use tollgate_algorithms::{Limit, Micros, decide};
//! // Five at once, and one more every ten seconds.
//! let limit = Limit::token_bucket(5, 1, Micros::from_secs(10))?;
//! let (mut state, start) = (None, Micros::from_secs(1_000));
//! let mut granted = Vec::new();
//! for second in 0..=60 {
//!     let (change, decision) = decide(&limit, state.as_ref(), start.saturating_add(Micros::from_secs(second)), 2);
//!     change.apply(&mut state);
//!     if decision.granted() {
//!         granted.push(second);
//!     }
//! }
//! assert_eq!(granted, [0, 1, 10, 30, 50]); // hits of cost 2, tried every second
//! # Ok::<(), tollgate_algorithms::LimitError>(())
//! ```

use super::debt::Owing;
use crate::{Debt, Micros, Quota, State};

#[inline]
pub(crate) fn standing(
    quota: &Quota,
    state: Option<&State>,
    now: Micros,
) -> Owing<impl Fn(Debt) -> State + Copy> {
    let debt = if let Some(State::TokenBucket(debt)) = state { Some(debt) } else { None };
    Owing::new(quota, debt, now, State::TokenBucket)
}
