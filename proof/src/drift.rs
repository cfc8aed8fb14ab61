//! Constant demand over very many steps: nothing is lost to rounding, and nothing is gained. One run, no model.

use tollgate_algorithms::Micros;

use crate::engine::{Act, Engine};
use crate::random::Random;
use crate::spec::Spec;

/// How a run of constant demand ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drift {
    /// What was admitted.
    pub admitted: u128,
    /// floor(capacity + rate × time).
    pub exact: u128,
    /// How long it lasted, in microseconds.
    pub micros: u64,
}

/// Takes all that is left at each of `steps` instants, up to `step_max` apart.
///
/// Between two instants no more than a capacity comes back, so nothing spills.
///
/// # Errors
/// When the limit cannot be built, a step could spill, or time would end.
pub fn run<E: Engine>(spec: &Spec, seed: u64, steps: u64, step_max: u64) -> Result<Drift, String> {
    let limit = E::limit(spec).ok_or_else(|| format!("{spec:?} was refused"))?;
    let most = u128::from(spec.window - 1) + u128::from(spec.count) * u128::from(step_max);
    if most > u128::from(spec.limit) * u128::from(spec.window) {
        return Err(format!("steps of {step_max} us spill over a capacity of {}", spec.limit));
    }
    if steps.saturating_mul(step_max) > Micros::INSTANT_MAX.get() / 2 {
        return Err(format!("{steps} steps of {step_max} us run past the end of time"));
    }
    let mut random = Random::new(seed);
    let start = 1_763_222_400_000_000;
    let (mut key, mut now, mut admitted) = (None, start, 0_u128);
    for _ in 0..steps {
        admitted += u128::from(E::act(&limit, &mut key, now, Act::UpTo(u64::MAX)).charged);
        now += random.within(1, step_max);
    }
    admitted += u128::from(E::act(&limit, &mut key, now, Act::UpTo(u64::MAX)).charged);
    let refilled = u128::from(spec.count) * u128::from(now - start) / u128::from(spec.window);
    Ok(Drift { admitted, exact: u128::from(spec.limit) + refilled, micros: now - start })
}
