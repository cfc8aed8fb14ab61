//! Law 3: granted at `retry_after`, refused one tick earlier; a cost over the capacity is never, and only that.

use super::{Lived, ensure, in_time};
use crate::engine::{Act, Engine, Wait};
use crate::random::Random;
use crate::trace;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    let now = lived.clock.step(&lived.spec, lived.last.as_ref(), random);
    let cost = trace::cost(&lived.spec, lived.last.as_ref(), random);
    let answer = lived.act(Act::Peek(cost));
    let granted = |at| lived.ask(at, Act::Charge(cost)).granted;
    ensure(answer.granted == granted(now), || "a peek and a charge differ".into())?;
    match answer.retry {
        Wait::None => ensure(answer.granted, || "refused without a retry".into()),
        Wait::Never => ensure(!answer.granted && cost > lived.spec.limit, || format!("never: cost {cost}")),
        Wait::After(wait) if !in_time(now + wait) => Ok(()),
        Wait::After(wait) => {
            ensure(!answer.granted && cost <= lived.spec.limit, || {
                format!("a wait for {cost}: {:?}", lived.spec)
            })?;
            ensure(wait > 0 && granted(now + wait), || format!("refused after {wait}: {:?}", lived.spec))?;
            ensure(!granted(now + wait - 1), || format!("granted before {wait}: {:?}", lived.spec))
        }
    }
}
