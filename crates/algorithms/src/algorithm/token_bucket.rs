//! The token bucket: a burst, and a rate in the long run. It does not guarantee "at most N in any minute".
//!
//! A bucket holds up to `burst` tokens, and gains `count` tokens every `period`. A hit takes its cost in
//! tokens, or is refused and takes nothing. A key never seen has a full bucket.
//!
//! **For** protecting capacity: clients may be bursty if they are moderate on average. **Not for** guarantees
//! such as "at most 100 in any minute": a full bucket and a minute's refill add up to 200 (see the bound). The
//! [log](super::sliding_window_log) and the [buckets](super::sliding_window_buckets) guarantee that.
//!
//! **State:** the tokens missing from the bucket, as [`Debt`]; refilled lazily, when it is read.
//!
//! **Bound:** no interval of length t admits more than `burst + count × t / period`. Under constant demand,
//! exactly the floor of that is admitted, forever, because the rate is never rounded. (Tokens that arrive while the
//! bucket is full are lost, as in any token bucket.)
//!
//! **When its numbers change**, the debt stays, in cells, and drains at the new rate. A key whose debt exceeds
//! a lowered burst waits until enough of it has drained.
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
//!     if decision.is_granted() {
//!         granted.push(second);
//!     }
//! }
//! assert_eq!(granted, [0, 1, 10, 30, 50]); // hits of cost 2, tried every second
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
    let debt = if let Some(State::TokenBucket(debt)) = state { Some(debt) } else { None };
    DebtUsage::new(quota, debt, now, State::TokenBucket)
}
