//! Stores behind Sentinels: they find the primary, and the next one after a failover.

use tollgate_testing::cluster::Monitored;
use tollgate_testing::make::Make;

use crate::support::{charge, limit, name, run, store, until};

#[test]
fn a_store_follows_the_primary_through_a_failover() {
    let make = Make::Redis7;
    let servers = Monitored::start(make).unwrap();
    run(async {
        let store = store(&format!("redis+sentinel://{}/main", servers.hosts())).await;
        let (bucket, key) = (limit(1_000), name("per client", "ada"));
        assert_eq!(charge(&store, &bucket, &key).await, Ok(true), "{make:?}");

        // Commanded: the old primary becomes a replica.
        until("a failover starts", || async {
            servers.sentinels[0].command(&["SENTINEL", "FAILOVER", "main"]).is_ok()
        })
        .await;
        until("the other server is the primary", || async {
            servers.nodes[1].command(&["ROLE"]).is_ok_and(|role| role.starts_with("master"))
        })
        .await;
        until("the old primary is a replica", || async {
            servers.nodes[0].command(&["ROLE"]).is_ok_and(|role| role.starts_with("slave"))
        })
        .await;
        until("the store charges again", || async { charge(&store, &bucket, &key).await == Ok(true) }).await;
        let writes = |node: usize| servers.nodes[node].command(&["DBSIZE"]).unwrap();
        assert_eq!(writes(1).trim(), "1", "{make:?}: it was charged on the new primary");
    });
}

#[test]
fn a_name_that_no_sentinel_monitors_is_said() {
    let servers = Monitored::start(Make::Redis7).unwrap();
    run(async {
        let store = store(&format!("redis+sentinel://{}/other", servers.hosts())).await;
        let trouble = store.health().trouble.expect("there is no connection").to_string();
        assert!(trouble.contains("no primary named `other`"), "{trouble}");
    });
}

#[test]
fn a_sentinel_that_is_gone_does_not_hide_the_others() {
    let mut servers = Monitored::start(Make::Redis7).unwrap();
    servers.sentinels[0].server.kill();
    run(async {
        let store = store(&format!("redis+sentinel://{}/main", servers.hosts())).await;
        assert_eq!(charge(&store, &limit(5), &name("per client", "ada")).await, Ok(true));
    });
}
