//! The generic cell rate algorithm: a schedule that a key may run ahead of. The same decisions as the token bucket.
//!
//! Arrivals are due `period / count` apart. A key has a *theoretical arrival time*; a hit of cost c moves it to
//! `max(it, now) + c × period / count`, and is refused if that would lie more than `burst × period / count` ahead of
//! now. A key never seen is due now.
//!
//! **For** people who know it from ATM, redis-cell or governor. **Not for** anything else than the
//! [token bucket](super::token_bucket) is for: the two decide alike on every trace, which a test shows against a model
//! that keeps arrival times.
//!
//! **State:** how far the key is ahead of its timetable, as [`Debt`]: (arrival time − now) × count,
//! which stays an integer where the arrival time itself would be a fraction. While no clock runs back, the pair of
//! time and debt is worth one number, the arrival time: see [`arrival`].
//!
//! **Bound:** no interval of length t admits more than `burst + count × t / period`.
//!
//! ```
//! use tollgate_algorithms::algorithm::gcra;
//! use tollgate_algorithms::{Limit, Micros, Quota, State, decide};
//! let quota = Quota::new(3, 1, Micros::SECOND)?;
//! let (mut state, now) = (None, Micros::from_secs(1_000));
//! decide(&Limit::Gcra(quota), None, now, 2).0.apply(&mut state);
//! let Some(State::Gcra(debt)) = state else { unreachable!() };
//! assert_eq!(gcra::arrival(&quota, &debt), Micros::from_secs(1_002));
//! # Ok::<(), tollgate_algorithms::LimitError>(())
//! ```

use super::debt::Owing;
use super::standing::Standing;
use crate::{Debt, Micros, Quota, State};

/// The theoretical arrival time: the first microsecond at which the key owes nothing.
#[must_use]
pub fn arrival(quota: &Quota, state: &Debt) -> Micros {
    let owing = Owing::new(quota, Some(state), state.at, State::Gcra);
    state.at.saturating_add(owing.drained())
}

#[inline]
pub(crate) fn standing(
    quota: &Quota,
    state: Option<&State>,
    now: Micros,
) -> Owing<impl Fn(Debt) -> State + Copy> {
    let debt = if let Some(State::Gcra(debt)) = state { Some(debt) } else { None };
    Owing::new(quota, debt, now, State::Gcra)
}
