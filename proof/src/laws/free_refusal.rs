//! Law 5: a refusal and a peek leave the state as it was; dropping the expired entries of a list is not a change.

use super::{Lived, ensure};
use crate::engine::{Act, Engine};
use crate::random::Random;
use crate::trace;
use tollgate_core::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    for _ in 0..4 {
        lived.clock.step(&lived.spec, lived.last.as_ref(), random);
        let cost = trace::cost(&lived.spec, lived.last.as_ref(), random);
        let before = lived.key.clone();
        let act = if random.one_in(2) { Act::Charge(cost) } else { Act::UpTo(cost) };
        let answer = lived.act(act);
        if answer.charged == 0 {
            let same = unchanged::<E>(before.as_ref(), lived.key.as_ref(), lived.spec.window, answer.at);
            ensure(same, || format!("{act:?} charged nothing, but {before:?} became {:?}", lived.key))?;
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

fn unchanged<E: Engine>(before: Option<&E::State>, after: Option<&E::State>, window: u64, at: u64) -> bool {
    if before == after {
        return true;
    }
    let (Some(before), Some(after)) = (before, after) else { return false };
    let (Some(before), Some(after)) = (E::entries(before), E::entries(after)) else { return false };
    before.ends_with(&after)
        && before[..before.len() - after.len()].iter().all(|&(then, _)| then + window <= at)
}
