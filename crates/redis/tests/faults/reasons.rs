//! What a link tells of its connection: its name on the server, why calls fail in the server's own words, and what it does when nobody asks.

use std::time::Duration;

use tollgate_algorithms::{Limit, Micros, Mode};
use tollgate_redis::{Cause, Command, Hit, Link, Naming, Settings, Store};
use tollgate_testing::server::free_port;

use crate::addresses::{open, patient};
use crate::load::count;
use crate::server::Server;
use crate::support::{run, until};

#[test]
fn the_server_knows_a_connection_by_its_name() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        link.call(&count("a")).await.unwrap();
        let list: String = redis::from_redis_value(server.tell("CLIENT LIST")).unwrap();
        assert_eq!(list.matches(" name=tollgate ").count(), 1, "{list}");
    });
}

#[test]
fn a_user_who_may_name_no_connection_has_one_all_the_same() {
    run(async {
        let server = Server::started(&[]).await;
        server.tell("ACL SETUSER gate on >pw ~tg3:* +eval +evalsha +get +set");
        let store = format!("unix://{}?user=gate&pass=pw", server.socket().display());
        let link = open(&store, patient()).await;
        assert!(link.health().up, "{:?}", link.health());
    });
}

#[test]
fn why_calls_fail_is_told_in_the_servers_own_words() {
    run(async {
        let server = Server::started(&[]).await;
        server.tell("ACL SETUSER gate on >pw ~tg3:* +ping");
        let store = format!("unix://{}?user=gate&pass=pw", server.socket().display());
        let link = open(&store, patient()).await;
        link.call(&count("a")).await.unwrap_err();
        let health = link.health();
        let said = health.error(Cause::NoPerm).expect("it is remembered").to_string();
        assert!(said.contains("NOPERM") && said.contains("evalsha"), "{said}");
        assert_eq!(health.error(Cause::Moved), None, "nobody said so");
    });
}

#[test]
fn tls_against_a_port_without_it_is_told_as_that() {
    run(async {
        let port = free_port("127.0.0.1").to_string();
        let _server = Server::started(&["--port", &port, "--bind", "127.0.0.1"]).await;
        let link = open(&format!("rediss://127.0.0.1:{port}"), patient()).await;
        let trouble = link.health().trouble.expect("there is no connection").to_string();
        assert!(trouble.contains("not speak TLS on this port"), "{trouble}");
    });
}

#[test]
fn a_server_that_is_gone_is_noticed_although_nobody_asks_it() {
    run(async {
        let server = Server::started(&[]).await;
        let short = Duration::from_millis(50);
        let settings = Settings {
            budget: Duration::from_millis(20),
            ping_after: short,
            stall_timeout: short,
            connect_timeout: short,
            ..Settings::default()
        };
        let link = Link::open(server.address(), settings).unwrap();
        until("it is up", || link.health().up).await;
        server.freeze();
        until("it is not up", || !link.health().up).await;
        assert!(link.health().error(Cause::Stalled).is_some(), "{:?}", link.health());
        server.thaw();
        until("it is up again", || link.health().up).await;
        assert_eq!(link.health().answered, 0, "nobody has asked");
    });
}

#[test]
fn a_servers_scripts_are_run_before_a_connection_counts_as_up() {
    run(async {
        let mut server = Server::started(&[]).await;
        let limit = Limit::token_bucket(5, 1, Micros::SECOND).unwrap();
        let name = Naming::new(*b"sixteen secrets!").name("cold", b"a");
        let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
        let digest = &Command::Charge(&hits).call().script.digest;
        let knows = |server: &Server| -> Vec<bool> {
            redis::from_redis_value(server.tell(&format!("SCRIPT EXISTS {digest}"))).unwrap()
        };
        let store = Store::open(server.address(), patient()).unwrap();
        assert_eq!(knows(&server), [false]);
        store.expect(&limit);
        store.ready().await;
        assert!(store.health().up, "{:?}", store.health());
        assert_eq!(knows(&server), [true], "without a call");
        // One that begins with nothing.
        server.kill();
        until("it is down", || !store.health().up).await;
        server.start().await;
        until("it is up", || store.health().up).await;
        assert_eq!(knows(&server), [true], "before it counts as up");
        let keys: u64 = redis::from_redis_value(server.tell("DBSIZE")).unwrap();
        assert_eq!((keys, store.health().answered), (0, 0), "nothing was charged, and nothing counted");
    });
}
