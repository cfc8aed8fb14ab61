//! Law 7: a `now` before the state's time is read as that time; a state more than one drain (one window) ahead counts
//! as none; so a jump of the clock gains at most one capacity.

use super::{Lived, ensure};
use crate::engine::{Act, Answer, Engine, Wait};
use crate::random::Random;
use crate::trace;
use tollgate_algorithms::Algorithm;

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::some(algorithm, random)?;
    lived.act(Act::UpTo(random.pick(&[1, lived.spec.limit])));
    let spec = lived.spec;
    let Some((charged_at, _)) = lived.charged else { return Ok(()) };
    // Windows stand for all of their instants: their state's time is their start.
    let aligned = matches!(algorithm, Algorithm::FixedWindow | Algorithm::SlidingWindow);
    let window = spec.window_of(charged_at);
    let (state_time, horizon) =
        if aligned { (window.0, window.1 - window.0) } else { (charged_at, spec.horizon()) };
    let back = match random.below(8) {
        0 => horizon.saturating_add(1),
        1 => horizon,
        2 => horizon.saturating_sub(1),
        3 => 1,
        4 => horizon.saturating_add(random.magnitude(horizon)),
        _ => random.below(horizon.saturating_add(1)),
    };
    let Some(now) = state_time.checked_sub(back) else { return Ok(()) };
    for cost in [0, 1, spec.limit, trace::cost(&spec, lived.last.as_ref(), random)] {
        let act = Act::Charge(cost);
        let answer = lived.ask(now, act);
        let expected = if back <= horizon {
            later(lived.ask(state_time, act), back)
        } else {
            E::act(&lived.limit, &mut None, now, act)
        };
        ensure(answer == expected, || {
            format!(
                "{act:?} {back} before {state_time}: {answer:?}, not {expected:?}: {:?} {spec:?}",
                lived.key
            )
        })?;
    }
    jumps(&mut lived, state_time, random)
}

/// The same answer, given so much before the instant it speaks of.
fn later(answer: Answer, back: u64) -> Answer {
    let retry = match answer.retry {
        Wait::After(wait) => Wait::After(wait + back),
        Wait::None | Wait::Never => answer.retry,
    };
    let reset = if answer.reset == 0 { 0 } else { answer.reset + back };
    Answer { retry, reset, ..answer }
}

/// The clock jumps about and no time passes: every jump gains at most one capacity.
fn jumps<E: Engine>(lived: &mut Lived<E>, around: u64, random: &mut Random) -> Result<(), String> {
    let (limit, horizon) = (lived.spec.limit, lived.spec.horizon());
    let (mut gained, mut jumps) = (0_u128, 0);
    for _ in 0..random.within(1, 4) {
        let by = random.magnitude(horizon.saturating_mul(2));
        let now = if random.one_in(2) { around.saturating_sub(by) } else { around + by };
        jumps += 1;
        for _ in 0..2 {
            gained += u128::from(E::act(&lived.limit, &mut lived.key, now, Act::UpTo(limit)).charged);
        }
    }
    ensure(gained <= u128::from(limit) * jumps, || {
        format!("{gained} gained by {jumps} jumps of the clock: {:?}", lived.spec)
    })
}
