//! Law 8: n hits of 1 at an instant leave what one hit of n leaves.

use super::{Lived, ensure};
use crate::engine::{Act, Answer, Engine};
use crate::random::Random;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    let now = lived.clock.step(&lived.spec, lived.last.as_ref(), random);
    let hits = random.within(1, 24);
    let (mut one_by_one, mut at_once) = (lived.key.clone(), lived.key.clone());
    let all = E::act(&lived.limit, &mut at_once, now, Act::UpTo(hits));
    let mut last = lived.ask(now, Act::Peek(0));
    for _ in 0..all.charged {
        last = E::act(&lived.limit, &mut one_by_one, now, Act::Charge(1));
    }
    if all.charged == 0 {
        return Ok(());
    }
    let spec = lived.spec;
    ensure(one_by_one == at_once, || format!("{one_by_one:?} is not {at_once:?}: {spec:?}"))?;
    let expected = Answer { charged: 1, ..all };
    ensure(last == expected, || format!("{last:?} is not {expected:?}: {spec:?}"))
}
