//! Limits on a cluster: a request in several slots is charged whole or not at all, and each limit follows its own failure rule.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tollgate::{FailureRule, Kind, Limiter, Unavailable};
use tollgate_redis::{Naming, Settings, StateKind, Store};
use tollgate_testing::cluster::Cluster;
use tollgate_testing::make::Make;

use crate::support::many;

const PRIMARIES: usize = 3;

fn naming() -> Naming {
    Naming::new([7; 16])
}

/// A limiter on a cluster, and what its connections live in.
fn limiter(cluster: &Cluster) -> (Runtime, Limiter) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let address = format!("redis+cluster://{}", cluster.hosts()).parse().expect("an address");
    let settings = Settings { budget: Duration::from_secs(1), ..Settings::default() };
    let store = runtime.block_on(async {
        let store = Store::open(address, settings).expect("a store");
        store.ready().await;
        store
    });
    (runtime, Limiter::builder().store(store, naming()).build().expect("a limiter"))
}

/// Whether something becomes so.
#[expect(clippy::disallowed_methods, reason = "patience has an end")]
fn comes_true(mut so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + tollgate_testing::patience::PATIENCE;
    while !so() {
        if Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// A key whose states are on this primary.
fn key_on(primary: usize) -> String {
    let is_there = |key: &String| {
        let slot = naming().name("", key.as_bytes()).of(StateKind::Debt).slot();
        usize::from(slot) * PRIMARIES / 16_384 == primary
    };
    (0..).map(|at| format!("key {at}")).find(is_there).expect("there are enough")
}

#[test]
fn threads_on_two_keys_of_two_nodes_never_get_more_than_either_limit() {
    let cluster = Cluster::start(Make::Redis7, PRIMARIES, 0).unwrap();
    let (_runtime, limiter) = limiter(&cluster);
    let (address, client) = (limiter.limit("per address", many(40)), limiter.limit("per client", many(25)));
    let (one, other) = (key_on(0), key_on(1));
    let granted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let verdict = limiter.try_charge(&[address.hit(&one), client.hit(&other)]).unwrap();
                    assert!(!matches!(verdict.kind(), Kind::Unavailable(_)), "{verdict:?}");
                    granted.fetch_add(u64::from(verdict.is_granted()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.load(Ordering::Relaxed), 25, "the smaller of the two");
    // What refused requests were charged under the larger limit comes back.
    let given_back = || limiter.try_inspect(&address, &one).unwrap().decision.remaining == 15;
    assert!(comes_true(given_back), "{:?}", limiter.try_inspect(&address, &one));
}

#[test]
fn a_receipt_of_two_nodes_gives_back_on_both() {
    let cluster = Cluster::start(Make::Redis7, PRIMARIES, 0).unwrap();
    let (_runtime, limiter) = limiter(&cluster);
    let (address, client) = (limiter.limit("per address", many(5)), limiter.limit("per client", many(5)));
    let (one, other) = (key_on(0), key_on(1));
    let (verdict, receipt) =
        limiter.try_charge_for_receipt(&[address.hit(&one).cost(2), client.hit(&other)]).unwrap();
    assert!(verdict.is_granted());
    limiter.try_refund(receipt.expect("it was charged")).unwrap();
    for (limit, key) in [(&address, &one), (&client, &other)] {
        assert_eq!(limiter.try_inspect(limit, key).unwrap().decision.remaining, 5);
    }
}

#[test]
fn a_dead_node_leaves_its_limits_to_their_rules_and_the_others_enforced() {
    let mut cluster = Cluster::start(Make::Redis7, PRIMARIES, 0).unwrap();
    for node in &cluster.nodes {
        node.command(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]).unwrap();
    }
    let (_runtime, limiter) = limiter(&cluster);
    let (dead, alive) = (key_on(0), key_on(1));
    let kept = limiter.shared_limit("kept", many(3), FailureRule::Deny);
    assert!(limiter.try_charge(&[kept.hit(&alive)]).unwrap().is_granted());
    cluster.nodes[0].server.kill();
    let allows = limiter.shared_limit("allows", many(9), FailureRule::Allow);
    let verdicts: Vec<bool> = (0..4)
        .map(|_| limiter.try_charge(&[allows.hit(&dead), kept.hit(&alive)]).unwrap().is_granted())
        .collect();
    assert_eq!(verdicts, [true, true, false, false], "the limit on the node that is left grants three");
    let denies = limiter.shared_limit("denies", many(9), FailureRule::Deny);
    let other = limiter.shared_limit("other", many(3), FailureRule::Deny);
    let verdict = limiter.try_charge(&[denies.hit(&dead), other.hit(&alive)]).unwrap();
    assert!(matches!(verdict.kind(), Kind::Unavailable(Unavailable::Store(_))), "{verdict:?}");
    let half = limiter.shared_limit("half", many(4), FailureRule::Local { share: 1, of: 2 });
    let verdicts: Vec<bool> = (0..3)
        .map(|_| limiter.try_charge(&[half.hit(&dead), other.hit(&alive)]).unwrap().is_granted())
        .collect();
    assert_eq!(verdicts, [true, true, false], "half of four, in this process");
}
