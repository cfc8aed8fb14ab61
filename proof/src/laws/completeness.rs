//! Law 2: a hit is refused only if the algorithm's own usage plus its cost exceeds the limit; and under constant demand
//! a bucket admits exactly floor(capacity + rate × time).

use super::{Lived, ensure, in_time};
use crate::engine::{Act, Engine};
use crate::model;
use crate::random::Random;
use crate::trace;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::new(algorithm, random)?;
    if lived.spec.is_debt() && random.one_in(8) {
        return constant_demand(&mut lived, random);
    }
    let mut model = model::of(algorithm);
    for _ in 0..random.within(8, 24) {
        let now = lived.clock.step(&lived.spec, lived.last.as_ref(), random);
        let look = model.look(&lived.spec, now);
        let cost = trace::cost(&lived.spec, lived.last.as_ref(), random);
        let answer = lived.act(Act::Charge(cost));
        let fits = cost == 0 || model.fits(&lived.spec, look, lived.spec.limit, cost);
        ensure(answer.granted || !fits, || {
            format!("{cost} fits at {now} and was refused: {:?}", lived.spec)
        })?;
        if answer.charged > 0 {
            model.charge(&lived.spec, look, answer.charged);
        }
    }
    Ok(())
}

fn constant_demand<E: Engine>(lived: &mut Lived<E>, random: &mut Random) -> Result<(), String> {
    let spec = lived.spec;
    let start = lived.clock.now();
    let ticks = random.within(1, 60);
    let step = (spec.window / spec.count / 2).max(1);
    // What is left after taking all whole cells, and what comes until the next tick, must fit: or some of it spills.
    let most = u128::from(spec.window - 1) + u128::from(spec.count) * u128::from(step);
    if most > u128::from(spec.limit) * u128::from(spec.window) || !in_time(start + ticks * step) {
        return Ok(());
    }
    let mut admitted = 0_u128;
    for tick in 0..=ticks {
        let answer = E::act(&lived.limit, &mut lived.key, start + tick * step, Act::UpTo(u64::MAX));
        admitted += u128::from(answer.charged);
    }
    let refilled = u128::from(spec.count) * u128::from(ticks * step) / u128::from(spec.window);
    let expected = u128::from(spec.limit) + refilled;
    ensure(admitted == expected, || {
        format!("{admitted} admitted under constant demand, not {expected}: {spec:?}")
    })
}
