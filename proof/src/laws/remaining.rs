//! Law 4: exactly `remaining` more hits of cost 1 are granted at this instant; an answer does not contradict itself.

use super::{Lived, ensure};
use crate::engine::{Act, Engine, Wait};
use crate::random::Random;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    let answer = lived.step(random);
    let spec = lived.spec;
    let mut key = lived.key.clone();
    let mut hit = |cost| E::act(&lived.limit, &mut key, lived.clock.now(), Act::Charge(cost));
    let in_one = answer.remaining.saturating_sub(32);
    let mut granted = in_one == 0 || hit(in_one).granted;
    for _ in in_one..answer.remaining {
        granted &= hit(1).granted;
    }
    ensure(granted, || format!("less than {} was left: {spec:?}", answer.remaining))?;
    let next = hit(1);
    ensure(!next.granted && next.remaining == 0, || {
        format!("more than {} was left: {spec:?}", answer.remaining)
    })?;
    ensure(answer.limit == spec.limit && answer.remaining <= spec.limit, || format!("{answer:?}: {spec:?}"))?;
    ensure(answer.granted == (answer.retry == Wait::None), || format!("{answer:?}: {spec:?}"))?;
    if let Wait::After(retry) = answer.retry {
        ensure(answer.reset >= retry, || format!("reset before retry: {answer:?}"))?;
    }
    let full = answer.remaining == spec.limit;
    ensure(spec.limit == 0 || full == (answer.reset == 0), || format!("full, or not: {answer:?}"))?;
    let refused = lived.ask(lived.clock.now(), Act::Charge(answer.remaining + 1));
    ensure(!refused.granted && refused.remaining == answer.remaining, || format!("{refused:?}"))
}
