//! A request that meets limits of this process and limits of the store: charged whole, or not at all.

use std::sync::Arc;

use tollgate::{Gate, Kind, Source};
use tollgate_policy::{Hits, Policy, Request, Scratch};

use crate::support::{World, many};

#[test]
fn who_is_refused_at_one_place_has_not_paid_at_the_other() {
    let world = World::new();
    let limiter = world.limiter();
    let (near, far) = (limiter.local_limit("near", many(5)), limiter.limit("far", many(2)));
    let ask = |near_cost, far_cost| {
        limiter.try_charge(&[near.hit("k").cost(near_cost), far.hit("k").cost(far_cost)]).unwrap()
    };
    let verdict = ask(1, 1);
    assert!(verdict.granted());
    assert_eq!(
        verdict.answers().iter().map(|answer| answer.decision().remaining).collect::<Vec<_>>(),
        [4, 1]
    );
    let verdict = ask(1, 2);
    assert_eq!((verdict.kind(), verdict.refused_by()), (Kind::Refused, Some(1)));
    assert_eq!(verdict.answers()[0].decision().remaining, 4, "given back");
    let verdict = ask(5, 1);
    assert_eq!((verdict.kind(), verdict.refused_by()), (Kind::Refused, Some(0)));
    assert_eq!(verdict.answers()[1].source(), Source::Unasked);
    assert_eq!(limiter.try_inspect(&far, "k").unwrap().decision.remaining, 1, "not charged");
    let (verdict, receipt) = limiter
        .try_charge_for_receipt(&[far.hit("k"), near.hit("k").cost(2)])
        .map(|(verdict, receipt)| (verdict, receipt.expect("a receipt")))
        .unwrap();
    assert_eq!(
        verdict.answers().iter().map(|answer| answer.decision().remaining).collect::<Vec<_>>(),
        [0, 2]
    );
    let (first, rest) = receipt.part(|place| place == 0);
    limiter.try_refund(first).unwrap();
    assert_eq!(limiter.try_peek(&[near.hit("k"), far.hit("k")]).unwrap().remaining(), Some(1));
    limiter.try_refund(rest).unwrap();
    assert_eq!(limiter.try_inspect(&near, "k").unwrap().decision.remaining, 4);
}

#[test]
fn a_policy_says_of_each_limit_where_it_is_counted() {
    let world = World::new();
    let policy = Policy::parse(
        "tollgate.yaml",
        "
tollgate: 1
routes:
  - path: /shared
    rate_limit: { name: shared, algorithm: token_bucket, capacity: 3, refill_rate: 1 per day }
  - path: /local
    rate_limit: { name: local, algorithm: token_bucket, capacity: 3, refill_rate: 1 per day, scope: local }
",
    )
    .expect("a policy");
    let policy = Arc::new(policy);
    let gates = [(); 2].map(|()| Gate::new(world.limiter(), Arc::clone(&policy), None));
    assert!(gates[0].waits());
    let headers = http::HeaderMap::new();
    let granted = |target: &str| {
        let asked = (0..8).map(|turn| {
            let (mut scratch, mut hits) = (Scratch::default(), Hits::default());
            let request = Request {
                method: "GET",
                target,
                headers: &headers,
                authority: None,
                peer: "203.0.113.9".parse().unwrap(),
                now: tollgate::Micros::ZERO,
            };
            let gate = &gates[turn % 2];
            let facts = gate.policy().facts(&request, &mut scratch).unwrap();
            let passage = world.runtime.block_on(gate.check_async(&facts, &mut hits)).unwrap();
            let verdict = passage.verdict.expect("a limit");
            assert_eq!(verdict.answers()[0].source(), Source::Own);
            verdict.granted()
        });
        asked.filter(|granted| *granted).count()
    };
    assert_eq!((granted("/shared"), granted("/local")), (3, 6));
}
