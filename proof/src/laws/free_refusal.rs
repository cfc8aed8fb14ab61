//! Law 5: whatever charges nothing leaves the state as it was: a refusal, a peek, a void refund, a forgiven cost.

use super::{Lived, ensure};
use crate::engine::{Act, Engine};
use crate::random::Random;
use crate::spec::Spec;
use crate::trace;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    for _ in 0..4 {
        lived.clock.step(&lived.spec, lived.last.as_ref(), random);
        let cost = trace::cost(&lived.spec, lived.last.as_ref(), random);
        let before = lived.key.clone();
        let void = Spec { limit: lived.spec.limit ^ 1, ..lived.spec };
        let act = match random.below(6) {
            0 => Act::UpTo(cost),
            1 => Act::Settle(cost),
            2 => Act::Refund(lived.clock.now(), cost, void),
            _ => Act::Charge(cost),
        };
        let answer = lived.act(act);
        if answer.charged == 0 {
            ensure(before == lived.key, || format!("{act:?}: {before:?} became {:?}", lived.key))?;
        }
        ensure(answer.granted || answer.charged == 0, || {
            format!("{act:?} was refused and charged: {answer:?}")
        })?;
        let before = lived.key.clone();
        let peek = lived.act(Act::Peek(cost));
        ensure(before == lived.key && peek.charged == 0, || "a peek changed the state".into())?;
        ensure(peek.remaining == answer.remaining, || format!("a peek reports {}", peek.remaining))?;
    }
    Ok(())
}
