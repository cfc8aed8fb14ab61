//! Law 1: no interval admits more than the algorithm's stated bound, whatever the demand.

use super::{Lived, ensure};
use crate::engine::{Act, Engine};
use crate::random::Random;
use crate::spec::Spec;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::new(algorithm, random)?;
    let mut admitted: Vec<(u64, u64)> = Vec::new();
    for _ in 0..random.within(8, 32) {
        // A settled cost is counted apart: it takes room, but it was not admitted.
        if random.one_in(12) {
            lived.clock.step(&lived.spec, lived.last.as_ref(), random);
            lived.act(Act::Settle(1));
            continue;
        }
        let answer = lived.hit(random);
        if answer.charged > 0 {
            admitted.push((answer.at, answer.charged));
        }
    }
    within_bounds(&lived.spec, &admitted)?;
    overdraft(Lived::<E>::new(algorithm, random)?, random)
}

/// Costs settled after the fact overdraw a key by at most one capacity, however many of them come.
fn overdraft<E: Engine>(mut lived: Lived<E>, random: &mut Random) -> Result<(), String> {
    let mut used = u128::from(lived.act(Act::UpTo(random.magnitude(lived.spec.limit))).charged);
    for _ in 0..3 {
        used +=
            u128::from(lived.act(Act::Settle(random.magnitude(lived.spec.limit.saturating_mul(2)))).charged);
    }
    ensure(used <= 2 * u128::from(lived.spec.limit), || format!("{used} used at once: {:?}", lived.spec))
}

/// Checks every interval between two admissions.
pub(super) fn within_bounds(spec: &Spec, admitted: &[(u64, u64)]) -> Result<(), String> {
    for (from, &(start, _)) in admitted.iter().enumerate() {
        let mut sum = 0_u128;
        for &(end, cost) in &admitted[from..] {
            sum += u128::from(cost);
            let length = end - start;
            ensure(interval_holds(spec, sum, start, end), || {
                format!("{sum} admitted in {length} us from {start}: {spec:?}\n{admitted:?}")
            })?;
        }
    }
    Ok(())
}

fn interval_holds(spec: &Spec, sum: u128, start: u64, end: u64) -> bool {
    let limit = u128::from(spec.limit);
    let (window, length) = (u128::from(spec.window), u128::from(end - start));
    let one_window = spec.window_of(start) == spec.window_of(end);
    let within_a_window = end - start < spec.window_min();
    match spec.algorithm {
        Algorithm::TokenBucket | Algorithm::LeakyBucket | Algorithm::Gcra => {
            sum * window <= limit * window + u128::from(spec.count) * length
        }
        Algorithm::FixedWindow => (!one_window || sum <= limit) && (!within_a_window || sum <= 2 * limit),
        Algorithm::SlidingWindow => {
            (!one_window || sum <= limit) && (!within_a_window || sum * window <= limit * (window + length))
        }
        Algorithm::SlidingWindowBuckets | Algorithm::SlidingWindowLog => !within_a_window || sum <= limit,
    }
}
