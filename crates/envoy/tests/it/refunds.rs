//! Hits that are given back.

use tollgate_envoy::Options;

use crate::support::{Rig, descriptor, hits, refund};

const FILE: &str =
    "{ domain: edge, descriptors: [{ key: a, rate_limit: { unit: hour, requests_per_unit: 10 } }] }";

#[tokio::test]
async fn negative_hits_give_back_the_newest_charges() {
    let rig = Rig::new(FILE);
    rig.said(vec![hits(&["a=1"], 4)]).await;
    rig.said(vec![hits(&["a=1"], 3)]).await;
    assert_eq!(rig.said(vec![refund(&["a=1"], 3)]).await, "Ok: ok 6/10 reset 3590");
    // A part of a charge, too.
    assert_eq!(rig.said(vec![refund(&["a=1"], 1)]).await, "Ok: ok 7/10 reset 3590");
    assert_eq!(rig.service.counters().refunded.get(), 4);
    assert_eq!(rig.service.counters().not_refunded.get(), 0);
}

#[tokio::test]
async fn nothing_is_given_back_without_a_receipt() {
    let rig = Rig::new(FILE);
    rig.said(vec![hits(&["a=1"], 2)]).await;
    assert_eq!(rig.said(vec![refund(&["a=2"], 5)]).await, "Ok: ok 10/10 reset 3590");
    assert_eq!(rig.said(vec![refund(&["a=1"], 5)]).await, "Ok: ok 10/10 reset 3590");
    assert_eq!(rig.said(vec![refund(&["a=1"], u64::MAX)]).await, "Ok: ok 10/10 reset 3590");
    let counters = rig.service.counters();
    assert_eq!(counters.refunded.get(), 2);
    assert_eq!(counters.not_refunded.get(), 5 + 3 + (1 << 32));
}

#[tokio::test]
async fn a_refund_never_gives_more_than_was_charged() {
    let rig = Rig::with(FILE, Options { receipts_per_key: 2, ..Options::default() });
    for _ in 0..10 {
        rig.said(vec![descriptor(&["a=1"])]).await;
    }
    assert_eq!(rig.said(vec![refund(&["a=1"], 10)]).await, "Ok: ok 2/10 reset 3590");
    let none = Rig::with(FILE, Options { receipts_per_key: 0, ..Options::default() });
    none.said(vec![descriptor(&["a=1"])]).await;
    assert_eq!(none.said(vec![refund(&["a=1"], 1)]).await, "Ok: ok 9/10 reset 3590");
}
