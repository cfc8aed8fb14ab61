//! The generic cell rate algorithm: a schedule that a key may run ahead of. The same decisions as the token bucket.
//!
//! Cells are due `period / count` apart. A key has a *theoretical arrival time* (TAT); a hit of cost c moves it to
//! `max(TAT, now) + c × period / count`, and is refused if that is more than `burst × period / count` ahead of
//! now. The TAT of a key never seen is now.
//!
//! **For** people who know it from ATM, redis-cell or governor. It has the same uses as the
//! [token bucket](super::token_bucket): the two make the same decisions on every trace, which a test shows with a model
//! that stores arrival times.
//!
//! **State:** how far the key is ahead of its schedule, as [`Debt`]: (TAT − now) × count,
//! which is an integer even if the TAT is not. As long as no clock runs back, time and debt
//! are equivalent to one number, the TAT: see [`arrival`].
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

use super::debt::DebtUsage;
use super::standing::Usage;
use crate::{Debt, Micros, Quota, State};

/// The theoretical arrival time: the first microsecond at which the key has no debt.
#[must_use]
pub fn arrival(quota: &Quota, state: &Debt) -> Micros {
    let owing = DebtUsage::new(quota, Some(state), state.at, State::Gcra);
    state.at.saturating_add(owing.drained())
}

#[inline]
pub(crate) fn standing(
    quota: &Quota,
    state: Option<&State>,
    now: Micros,
) -> DebtUsage<impl Fn(Debt) -> State + Copy> {
    let debt = if let Some(State::Gcra(debt)) = state { Some(debt) } else { None };
    DebtUsage::new(quota, debt, now, State::Gcra)
}
