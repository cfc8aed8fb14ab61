//! The token bucket, the leaky bucket and GCRA decide alike, and as a timetable of arrivals would.
#![cfg(test)]

use tollgate_algorithms::algorithm::gcra;
use tollgate_algorithms::{Algorithm, Limit, Micros, Quota, State, decide};
use tollgate_proof::engine::{Act, Answer, Core, Engine};
use tollgate_proof::random::Random;
use tollgate_proof::spec::Spec;
use tollgate_proof::trace::{self, Clock};

const SEED: u64 = 20_261_115;
const TRACES: u64 = 50_000;

/// Every act, clocks that run back, refunds, changed numbers: the three give the same answers.
#[test]
fn the_three_buckets_give_the_same_answer_to_every_act() {
    for case in 0..TRACES {
        let random = &mut Random::case(SEED, case);
        let mut spec = Spec::random(Algorithm::TokenBucket, random);
        let mut keys = [None, None, None];
        let mut clock = Clock::start(&spec, random);
        let mut last = None;
        for _ in 0..24 {
            if random.one_in(12) {
                spec = spec.changed(random);
            }
            let specs = [Algorithm::TokenBucket, Algorithm::LeakyBucket, Algorithm::Gcra]
                .map(|algorithm| Spec { algorithm, ..spec });
            let limits = specs.map(|spec| Core::limit(&spec).unwrap());
            let now = clock.step(&spec, last.as_ref(), random);
            let refund = last.filter(|_: &Answer| random.one_in(8));
            let act = trace::act(&spec, last.as_ref(), random);
            let answers = [0, 1, 2].map(|index| {
                let refund = refund.map(|last| Act::Refund(last.at, last.charged, specs[index]));
                Core::act(&limits[index], &mut keys[index], now, refund.unwrap_or(act))
            });
            assert!(
                answers.iter().all(|answer| *answer == answers[0]),
                "case {case}: {act:?} {answers:?} {spec:?}"
            );
            last = Some(answers[0]);
        }
    }
}

/// The textbook form, in units of 1/count of a microsecond: granted if max(arrival, now) + cost × T − now ≤ burst × T.
#[test]
fn gcra_is_a_timetable_of_arrivals() {
    let mut refused = 0;
    for case in 0..TRACES {
        let random = &mut Random::case(SEED, case);
        let spec = Spec::random(Algorithm::Gcra, random);
        let quota = Quota::new(spec.limit, spec.count, Micros::new(spec.window)).unwrap();
        let (count, period) = (u128::from(spec.count), u128::from(spec.window));
        let mut clock = Clock::monotone(&spec, random);
        let (mut key, mut arrival, mut last) = (None, 0_u128, None);
        for _ in 0..24 {
            let now = clock.step(&spec, last.as_ref(), random);
            let cost = trace::cost(&spec, last.as_ref(), random).clamp(1, 1 << 54);
            let due = arrival.max(u128::from(now) * count) + u128::from(cost) * period;
            let granted = due - u128::from(now) * count <= u128::from(spec.limit) * period;
            let limit = Limit::Gcra(quota);
            last = Some(Core::act(&limit, &mut key.clone(), now, Act::Charge(cost)));
            let (change, decision) = decide(&limit, key.as_ref(), Micros::new(now), cost);
            assert_eq!(decision.is_granted(), granted, "case {case}: {cost} at {now}, {spec:?}");
            refused += u64::from(!granted);
            change.apply(&mut key);
            if granted {
                arrival = due;
                let Some(State::Gcra(debt)) = &key else { panic!("{key:?}") };
                assert_eq!(
                    u128::from(gcra::arrival(&quota, debt).get()),
                    arrival.div_ceil(count),
                    "case {case}"
                );
            }
        }
    }
    assert!(refused > TRACES);
}
