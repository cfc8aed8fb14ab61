//! Law 11: after a refund a key is never better off than if the charge had not been made; at once, all of it comes back.

use super::{Lived, ensure};
use crate::engine::{Act, Engine};
use crate::random::Random;
use tollgate_algorithms::Algorithm;

/// The same key in a world in which the refunded charges were never made.
struct Other<E: Engine> {
    key: Option<E::State>,
}

pub(super) fn check<E: Engine>(algorithm: Algorithm, random: &mut Random) -> Result<(), String> {
    let mut lived = Lived::<E>::new(algorithm, random)?;
    let past = random.one_in(3) && algorithm != Algorithm::SlidingWindow;
    if past {
        // A past under other numbers. (Of two counts, a charge may keep the phase of earlier windows alive.)
        earlier_numbers(&mut lived, random)?;
    }
    if E::IS_A_STORE {
        // It is met under these numbers from now on.
        lived.act(Act::Charge(0));
    }
    let mut other = Other::<E> { key: lived.key.clone() };
    let mut receipts = Vec::new();
    let (limit, spec) = (lived.limit, lived.spec);
    for _ in 0..random.within(4, 16) {
        let now = lived.clock.step(&spec, lived.last.as_ref(), random);
        let before = lived.key.clone();
        let answer = lived.act(Act::UpTo(random.pick(&[1, 1, 2, spec.limit])));
        if answer.charged == 0 {
            continue;
        }
        if random.one_in(2) {
            // A store does not give back what was charged while something was left from other numbers.
            if !E::IS_A_STORE || !past {
                at_once::<E>(&lived, before, (answer.at, answer.charged))?;
            }
            receipts.push((answer.at, answer.charged));
        } else {
            let made = E::act(&limit, &mut other.key, now, Act::Charge(answer.charged));
            ensure(made.granted, || format!("less was used, and yet {now} was refused: {spec:?}"))?;
        }
        if random.one_in(3) && !receipts.is_empty() {
            let chosen = usize::try_from(random.below(receipts.len() as u64)).unwrap_or(0);
            let (at, cost) = receipts.swap_remove(chosen);
            lived.clock.step(&spec, lived.last.as_ref(), random);
            let unrefunded = lived.act(Act::Peek(1)).remaining;
            let refunded = lived.act(Act::Refund(at, cost, spec));
            ensure(refunded.charged == 0 && refunded.remaining >= unrefunded, || {
                format!("a refund of {cost} at {at} took from {unrefunded}: {refunded:?}")
            })?;
        }
    }
    if spec.is_debt() && !E::IS_A_STORE && random.one_in(3) {
        others_numbers(&mut lived, &mut other, random)?;
    }
    // What is still owed for the charges that were not refunded only makes it harder: give them all back.
    for (at, cost) in receipts {
        lived.act(Act::Refund(at, cost, spec));
    }
    never_better_off(&lived, &other, random)
}

fn earlier_numbers<E: Engine>(lived: &mut Lived<E>, random: &mut Random) -> Result<(), String> {
    let (spec, limit) = (lived.spec, lived.limit);
    lived.spec = spec.changed(random);
    lived.limit = E::limit(&lived.spec).ok_or("the earlier limit was refused")?;
    for _ in 0..random.within(1, 4) {
        lived.hit(random);
    }
    (lived.spec, lived.limit) = (spec, limit);
    Ok(())
}

/// Somebody who has other numbers, in another period, charges what is there.
fn others_numbers<E: Engine>(
    lived: &mut Lived<E>,
    other: &mut Other<E>,
    random: &mut Random,
) -> Result<(), String> {
    let (spec, ours) = (lived.spec, lived.limit);
    let changed = spec.changed(random);
    if changed.window == spec.window {
        return Ok(());
    }
    let theirs = E::limit(&changed).ok_or("the other limit was refused")?;
    // We do too, just before: so in both worlds the key drains by the other numbers from one instant on.
    for (limit, cost) in [(ours, 1), (theirs, changed.limit)] {
        lived.limit = limit;
        let now = lived.clock.step(&spec, lived.last.as_ref(), random);
        let answer = lived.act(Act::UpTo(cost));
        if answer.charged == 0 {
            break;
        }
        let made = E::act(&limit, &mut other.key, now, Act::Charge(answer.charged));
        ensure(made.granted, || format!("less was used, and yet {now} was refused: {changed:?}"))?;
    }
    lived.limit = ours;
    Ok(())
}

fn never_better_off<E: Engine>(
    lived: &Lived<E>,
    other: &Other<E>,
    random: &mut Random,
) -> Result<(), String> {
    let mut now = lived.clock.now();
    for _ in 0..4 {
        let refunded = lived.ask(now, Act::Peek(1));
        let never_made = E::act(&lived.limit, &mut other.key.clone(), now, Act::Peek(1));
        ensure(refunded.remaining <= never_made.remaining, || {
            format!(
                "{} left at {now} after refunds, {} had the charges not been made: {:?} {:?} {:?}",
                refunded.remaining, never_made.remaining, lived.key, other.key, lived.spec
            )
        })?;
        now += random.below(lived.spec.horizon().saturating_add(2));
    }
    Ok(())
}

/// Given back at the instant of the charge, nothing of it is left.
fn at_once<E: Engine>(lived: &Lived<E>, before: Option<E::State>, charge: (u64, u64)) -> Result<(), String> {
    let now = lived.clock.now();
    let uncharged = E::act(&lived.limit, &mut before.clone(), now, Act::Peek(0)).remaining;
    let refunded = lived.ask(now, Act::Refund(charge.0, charge.1, lived.spec)).remaining;
    ensure(refunded == uncharged, || {
        format!(
            "{uncharged} before, {refunded} after a charge and its refund at {now}: {before:?} {:?}",
            lived.spec
        )
    })
}
