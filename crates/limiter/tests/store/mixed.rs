//! A request that meets limits of this process and limits of the store: charged whole, or not at all.

use tollgate::{Kind, Source};

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
    assert!(verdict.is_granted());
    assert_eq!(
        verdict.results().iter().map(|answer| answer.decision().remaining).collect::<Vec<_>>(),
        [4, 1]
    );
    let verdict = ask(1, 2);
    assert_eq!((verdict.kind(), verdict.refused_by()), (Kind::Refused, Some(1)));
    assert_eq!(verdict.results()[0].decision().remaining, 4, "given back");
    let verdict = ask(5, 1);
    assert_eq!((verdict.kind(), verdict.refused_by()), (Kind::Refused, Some(0)));
    assert_eq!(verdict.results()[1].source(), Source::Unasked);
    assert_eq!(limiter.try_inspect(&far, "k").unwrap().decision.remaining, 1, "not charged");
    let (verdict, receipt) = limiter
        .try_charge_for_receipt(&[far.hit("k"), near.hit("k").cost(2)])
        .map(|(verdict, receipt)| (verdict, receipt.expect("a receipt")))
        .unwrap();
    assert_eq!(
        verdict.results().iter().map(|answer| answer.decision().remaining).collect::<Vec<_>>(),
        [0, 2]
    );
    let (first, rest) = receipt.part(|place| place == 0);
    limiter.try_refund(first).unwrap();
    assert_eq!(limiter.try_peek(&[near.hit("k"), far.hit("k")]).unwrap().remaining(), Some(1));
    limiter.try_refund(rest).unwrap();
    assert_eq!(limiter.try_inspect(&near, "k").unwrap().decision.remaining, 4);
}
