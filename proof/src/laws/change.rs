//! Law 10: raising a limit's numbers turns no grant into a refusal at the same instant; lowering mints nothing; and what
//! was used stays used.

use super::{Lived, ensure};
use crate::engine::{Act, Answer, Engine};
use crate::random::Random;
use crate::spec::Spec;
use tollgate_core::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    // Through a change or two first, so that the state may be in other units already.
    for _ in 0..random.below(3) {
        lived.spec = lived.spec.changed(random);
        lived.limit = E::limit(&lived.spec).ok_or("the changed limit was refused")?;
        lived.step(random);
        lived.step(random);
    }
    lived.clock.step(&lived.spec, lived.last.as_ref(), random);
    let (lower, higher) = pair(lived.spec, random);
    let ask = |spec: &Spec| -> Result<Answer, String> {
        let limit = E::limit(spec).ok_or("the changed limit was refused")?;
        Ok(E::act(&limit, &mut lived.key.clone(), lived.clock.now(), Act::Peek(1)))
    };
    let (less, more) = (ask(&lower)?, ask(&higher)?);
    ensure(less.remaining <= more.remaining, || {
        format!(
            "{} left, but {} after raising {lower:?} to {higher:?}: {:?} at {}",
            less.remaining,
            more.remaining,
            lived.key,
            lived.clock.now()
        )
    })?;
    // A debt that was written under a larger limit still is read as a full one under this.
    let only_limit = Spec { limit: higher.limit, ..lower } == higher && lived.written == Some(lower);
    if only_limit && less.remaining > 0 {
        let used = lower.limit - less.remaining;
        ensure(more.remaining == higher.limit - used, || {
            format!("{used} used of {}, but {} left of {}", lower.limit, more.remaining, higher.limit)
        })?;
    }
    Ok(())
}

/// The limit and another that is at least as generous in every number.
fn pair(spec: Spec, random: &mut Random) -> (Spec, Spec) {
    let up = |number: u64, random: &mut Random| match random.below(4) {
        0 => number.saturating_add(1),
        1 => number.saturating_mul(random.within(2, 5)),
        2 => number.saturating_mul(7) / 5,
        _ => number,
    };
    // The two-count window's weights are rounded to steps, which differ between lengths above 2^20.
    let exact_steps = spec.algorithm != Algorithm::SlidingWindow || spec.window < 1 << 17;
    let grown = |spec: Spec, random: &mut Random| {
        let limit = up(spec.limit, random);
        let count = if spec.is_debt() { up(spec.count, random) } else { spec.count };
        Spec { limit, count, ..spec }.reduced()
    };
    let shortened = |spec: Spec, random: &mut Random| {
        let window = (spec.window / random.within(1, 4)).max(1);
        Spec { window: if exact_steps { window } else { spec.window }, ..spec }.reduced()
    };
    for _ in 0..8 {
        let higher = match random.below(3) {
            0 => grown(spec, random),
            1 => shortened(spec, random),
            _ => shortened(grown(spec, random), random),
        };
        if higher.fits() {
            return if random.one_in(2) { (spec, higher) } else { lowered(spec, higher) };
        }
    }
    (spec, spec)
}

/// The same relation seen from the other side: the limit that the state was written under is the higher one.
fn lowered(spec: Spec, higher: Spec) -> (Spec, Spec) {
    let limit = spec.limit.saturating_sub(higher.limit - spec.limit);
    let lower = Spec { limit, ..spec };
    if lower.fits() { (lower, spec) } else { (spec, higher) }
}
