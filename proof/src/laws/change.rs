//! Law 10: raising a limit's numbers turns no grant into a refusal at the same instant; lowering mints nothing; and what
//! was used stays used.

use super::bound::within_bounds;
use super::{Lived, ensure};
use crate::engine::{Act, Answer, Engine};
use crate::random::Random;
use crate::spec::Spec;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    if random.one_in(3) {
        return two_versions::<E>(algorithm, random);
    }
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
    let only_limit = Spec { limit: higher.limit, ..lower } == higher;
    if only_limit && less.remaining > 0 {
        let used = lower.limit - less.remaining;
        ensure(more.remaining == higher.limit - used, || {
            format!("{used} used of {}, but {} left of {}", lower.limit, more.remaining, higher.limit)
        })?;
    }
    Ok(())
}

/// Two versions of a limit on one key, in turn, as while a new policy is rolled out: together they admit no more than the
/// more generous one alone.
fn two_versions<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::new(algorithm, random)?;
    let (mut lower, higher) = pair(lived.spec, random);
    if !lower.is_debt() {
        lower = Spec { limit: lower.limit, ..higher };
    }
    let mut admitted = Vec::new();
    for _ in 0..random.within(8, 32) {
        lived.spec = if random.one_in(2) { lower } else { higher };
        lived.limit = E::limit(&lived.spec).ok_or("a version was refused")?;
        if random.one_in(8) {
            lived.act(Act::Settle(1));
        }
        let answer = lived.hit(random);
        if answer.charged > 0 {
            admitted.push((answer.at, answer.charged));
        }
    }
    within_bounds(&higher, &admitted).map_err(|why| format!("in turn with {lower:?}: {why}"))
}

/// The limit and another, of which the first is at most as generous as the second in every number.
fn pair(spec: Spec, random: &mut Random) -> (Spec, Spec) {
    for _ in 0..16 {
        let mut other = spec.changed(random);
        if spec.algorithm == Algorithm::SlidingWindow && spec.window.max(other.window) > 1 << 20 {
            // The weights of the two-count window are rounded to steps, which differ between lengths above 2^20.
            other.window = spec.window;
        }
        if !spec.is_debt() {
            other.count = spec.count;
        }
        match (at_most(&spec, &other), at_most(&other, &spec)) {
            (true, _) => return (spec, other),
            (_, true) => return (other, spec),
            _ => {}
        }
    }
    (spec, spec)
}

/// Whether every number of `a` is at most as generous as that of `b`.
fn at_most(a: &Spec, b: &Spec) -> bool {
    // A higher rate is a higher count or a shorter period; a shorter window forgets sooner.
    let rate = |this: &Spec, that: &Spec| u128::from(this.count) * u128::from(that.window);
    a.limit <= b.limit
        && match a.algorithm {
            Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => rate(a, b) <= rate(b, a),
            // A window in progress keeps its end, and the next one is fresh, whatever its length.
            Algorithm::FixedWindow => true,
            Algorithm::SlidingWindow | Algorithm::SlidingWindowBuckets | Algorithm::SlidingWindowLog => {
                a.window >= b.window
            }
        }
}
