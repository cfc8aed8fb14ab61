//! Law 6: after `reset_after` the state is as good as none, and one tick earlier it is not.

use super::{Lived, ensure, in_time};
use crate::engine::{Act, Engine};
use crate::random::Random;
use crate::trace;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    let answer = lived.step(random);
    let (spec, reset_at) = (lived.spec, lived.clock.now() + answer.reset);
    if !in_time(reset_at.saturating_add(spec.window.saturating_mul(5))) {
        return Ok(());
    }
    if answer.reset > 0 && spec.limit > 0 {
        let early = lived.ask(reset_at - 1, Act::Peek(1));
        ensure(early.remaining < spec.limit, || format!("already forgotten: {:?} {spec:?}", lived.key))?;
    }
    let (mut kept, mut fresh) = (lived.key.clone(), None);
    let mut now = reset_at + random.pick(&[0, 0, 1, spec.window]);
    let mut last = None;
    for _ in 0..4 {
        let act = Act::Charge(trace::cost(&spec, last.as_ref(), random));
        let (kept_says, fresh_says) =
            (E::act(&lived.limit, &mut kept, now, act), E::act(&lived.limit, &mut fresh, now, act));
        ensure(kept_says == fresh_says, || {
            format!("{act:?} at {now}: {kept_says:?}, but a new key {fresh_says:?}: {:?} {spec:?}", lived.key)
        })?;
        last = Some(kept_says);
        now += random.below(spec.window.saturating_add(1));
    }
    Ok(())
}
