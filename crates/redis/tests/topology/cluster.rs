//! Stores on a cluster: every key on its node, slots that move, nodes that die, and requests across slots.

use tollgate_algorithms::Decision;
use tollgate_redis::{ChargeResult, Command, Reply, StateKind};
use tollgate_testing::cluster::Cluster;
use tollgate_testing::make::Make;

use crate::support::{charge, hit, limit, name, remaining, run, store, until};

const KEYS: usize = 200;

fn address(cluster: &Cluster) -> String {
    format!("redis+cluster://{}", cluster.hosts())
}

#[test]
fn every_key_is_charged_on_the_node_of_its_slot_and_never_beyond_its_limit() {
    for make in Make::ALL {
        let cluster = Cluster::start(make, 3, 0).unwrap();
        run(async {
            let store = store(&address(&cluster)).await;
            let bucket = limit(2);
            for at in 0..KEYS {
                let key = name("per client", &at.to_string());
                let mut granted = 0;
                for _ in 0..3 {
                    granted += u32::from(charge(&store, &bucket, &key).await.unwrap());
                }
                assert_eq!(granted, 2, "{make:?}, key {at}");
            }
            let sizes: Vec<usize> = cluster
                .nodes
                .iter()
                .map(|node| node.command(&["DBSIZE"]).unwrap().parse().unwrap())
                .collect();
            assert!(sizes.iter().all(|size| *size > 20), "{make:?}: {sizes:?}");
            assert_eq!(sizes.iter().sum::<usize>(), KEYS);
            assert!(store.health().up && store.nodes().len() == 3);
        });
    }
}

#[test]
fn slots_are_those_that_the_server_computes() {
    let cluster = Cluster::start(Make::Redis7, 1, 0).unwrap();
    for at in 0..KEYS {
        let key = name("per client", &at.to_string()).of(StateKind::Debt);
        let said = cluster.nodes[0].command(&["CLUSTER", "KEYSLOT", &key.to_string()]).unwrap();
        assert_eq!(said.parse(), Ok(key.slot()), "{key}");
    }
}

#[test]
fn a_slot_that_moves_back_and_forth_loses_and_doubles_no_charge() {
    for make in Make::ALL {
        let cluster = Cluster::start(make, 2, 0).unwrap();
        run(async {
            let store = store(&address(&cluster)).await;
            let (bucket, key) = (limit(1_000), name("per client", "ada"));
            let slot = key.of(StateKind::Debt).slot();
            let at_home = usize::from(slot >= 8_192);
            let mut charges = 0;
            for (from, to) in [(at_home, 1 - at_home), (1 - at_home, at_home)] {
                for _ in 0..5 {
                    assert_eq!(charge(&store, &bucket, &key).await, Ok(true));
                    charges += 1;
                }
                let (store, bucket) = (store.clone(), bucket);
                let during = || {
                    // The keys are on the new node, and the old one still owns the slot: it says ASK.
                    let charged = std::thread::scope(|scope| {
                        scope.spawn(|| run_on(&store, &bucket, &key)).join().expect("it ends")
                    });
                    assert_eq!(charged, Ok(true), "{make:?}");
                };
                tokio::task::block_in_place(|| cluster.move_slot(slot, from, to, during)).unwrap();
                charges += 1;
                assert_eq!(charge(&store, &bucket, &key).await, Ok(true));
                charges += 1;
            }
            assert_eq!(remaining(&store, &bucket, &key).await, 1_000 - charges, "{make:?}");
        });
    }
}

/// Charges from a thread outside the runtime.
fn run_on(
    store: &tollgate_redis::Store,
    bucket: &tollgate_algorithms::Limit,
    key: &tollgate_redis::Name,
) -> Result<bool, tollgate_redis::StoreError> {
    store.block_on(charge(store, bucket, key)).expect("it may block")
}

#[test]
fn a_replica_takes_over_from_a_primary_that_is_killed() {
    let mut cluster = Cluster::start(Make::Redis7, 3, 1).unwrap();
    let (bucket, keys) =
        (limit(4_000), (0..30).map(|at| name("per client", &at.to_string())).collect::<Vec<_>>());
    run(async {
        let store = store(&address(&cluster)).await;
        for key in &keys {
            assert_eq!(charge(&store, &bucket, key).await, Ok(true));
        }
        cluster.nodes[0].server.kill();
        for key in &keys {
            until("each key is decided again", || async { charge(&store, &bucket, key).await == Ok(true) })
                .await;
        }
        assert!(cluster.nodes[3].command(&["ROLE"]).unwrap().starts_with("master"));
    });
}

/// A request on two limits in two slots: one may be granted often, the other twice.
#[test]
fn a_request_across_slots_is_charged_whole_or_given_back() {
    for make in Make::ALL {
        let cluster = Cluster::start(make, 3, 0).unwrap();
        run(async {
            let store = store(&address(&cluster)).await;
            let (wide, narrow) = (limit(5), limit(100));
            let (address, client) = (name("per address", "192.0.2.1"), name("per client", "ada"));
            assert_ne!(address.of(StateKind::Debt).slot(), client.of(StateKind::Debt).slot());
            // The key with the larger capacity has one left, so that the other is charged first and given back.
            for _ in 0..99 {
                charge(&store, &narrow, &client).await.unwrap();
            }
            let hits = [hit(&narrow, &client), hit(&wide, &address)];
            let ask = async || {
                let charged = store.charge(&hits, &[true, true]).await.unwrap();
                let ChargeResult::InGroups(groups) = charged else { panic!("they are in two slots") };
                groups
            };
            let first = ask().await;
            assert!(!first.refused && first.decisions.iter().flatten().all(Decision::is_granted), "{make:?}");
            first.charge.keep();
            let second = ask().await;
            assert!(second.refused, "{make:?}");
            let of_address = second.decisions[1].expect("it was asked first");
            assert_eq!((of_address.remaining, of_address.charged), (4, 0), "as if it had not been charged");
            drop(second);
            until("what was charged comes back", || async { remaining(&store, &wide, &address).await == 4 })
                .await;
            let peeked = store.ask(&Command::Peek(&hits)).await.unwrap();
            let Reply::Decided { granted: false, decisions } = peeked else { panic!("it would be refused") };
            assert_eq!(decisions.iter().map(|decision| decision.remaining).collect::<Vec<_>>(), [0, 4]);
        });
    }
}

#[test]
fn a_node_that_is_gone_leaves_the_limits_on_others_enforced() {
    let mut cluster = Cluster::start(Make::Redis7, 3, 0).unwrap();
    for node in &cluster.nodes {
        node.command(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]).unwrap();
    }
    let owner = |key: &tollgate_redis::Name| usize::from(key.of(StateKind::Debt).slot()) * 3 / 16_384;
    let on = |node: usize| {
        (0..).map(|at| name("per client", &at.to_string())).find(|key| owner(key) == node).unwrap()
    };
    let (lost, kept) = (on(0), on(1));
    cluster.nodes[0].server.kill();
    run(async {
        let store = store(&address(&cluster)).await;
        let (bucket, small) = (limit(100), limit(1));
        assert!(charge(&store, &bucket, &lost).await.is_err(), "nobody serves it");
        let hits = [hit(&bucket, &lost), hit(&small, &kept)];
        let ChargeResult::InGroups(groups) = store.charge(&hits, &[false, false]).await.unwrap() else {
            panic!("they are on two nodes")
        };
        assert!(groups.failed.is_some() && !groups.refused);
        assert!(
            groups.decisions[0].is_none()
                && groups.decisions[1].is_some_and(|decision| decision.is_granted())
        );
        groups.charge.keep();
        let ChargeResult::InGroups(groups) = store.charge(&hits, &[false, false]).await.unwrap() else {
            panic!("they are on two nodes")
        };
        assert!(groups.refused, "the limit on the node that is left still refuses");
    });
}
