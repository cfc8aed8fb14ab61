//! Every way to a server: unix socket, IPv4, IPv6, user and password, database; and starting before the server does. TLS is `tls.rs`.

use std::time::Duration;

use tollgate_redis::{Address, Cause, Link, LinkError, OpenError, Settings, Value};
use tollgate_testing::server::free_port;

use crate::load::{count, counted};
use crate::server::Server;
use crate::support::{run, until};

/// A budget that no busy machine exceeds: these tests are not about time.
pub(crate) fn patient() -> Settings {
    Settings { budget: Duration::from_secs(10), ..Settings::default() }
}

pub(crate) fn number(value: Value) -> i64 {
    value.as_int().expect("a number")
}

/// The link to an address, once it is up or in trouble.
pub(crate) async fn open(address: &str, settings: Settings) -> Link {
    let link = Link::open(address.parse::<Address>().expect("an address"), settings).expect("a link");
    until("the link has tried", || link.health().up || link.health().trouble.is_some()).await;
    link
}

#[test]
fn a_call_is_answered_over_a_unix_socket() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        for expected in 1..=3 {
            assert_eq!(number(link.call(&count("a")).await.unwrap()), expected);
        }
        let health = link.health();
        assert!(
            health.up && health.answered == 3 && health.in_flight == 0 && health.connections == 1,
            "{health:?}"
        );
    });
}

#[test]
fn ipv4_ipv6_and_a_database_are_reached() {
    run(async {
        let port = free_port("::1").to_string();
        let server = Server::started(&["--port", &port, "--bind", "127.0.0.1", "::1"]).await;
        for (host, database) in [("127.0.0.1", 0), ("[::1]", 0), ("localhost", 3)] {
            let link = open(&format!("redis://{host}:{port}/{database}"), patient()).await;
            assert!(link.call(&count(host)).await.is_ok(), "{host}: {:?}", link.health());
        }
        assert!(server.info("db3").starts_with("keys=1"), "the third database was selected");
        let link = open(&format!("redis://127.0.0.1:{port}/99"), patient()).await;
        assert!(matches!(
            link.call(&count("x")).await,
            Err(LinkError::Unreachable { cause: Cause::Other, .. })
        ));
    });
}

/// The rights that the link itself needs, and no others. What scripts call comes on top: here `INCRBY`.
const RIGHTS: &str = "on >p@ss/word resetkeys ~tg3:* resetchannels -@all +eval +evalsha +set +incrby";

#[test]
fn a_user_with_the_least_rights_is_enough() {
    run(async {
        let server = Server::started(&[]).await;
        server.tell(&format!("ACL SETUSER gate {RIGHTS}"));
        let address = format!("unix://{}?user=gate&pass=p%40ss%2Fword", server.socket().display());
        let link = open(&address, patient()).await;
        assert_eq!(number(link.call(&count("a")).await.unwrap()), 1);
        server.tell("SCRIPT FLUSH");
        assert_eq!(number(link.call(&count("a")).await.unwrap()), 2);
    });
}

#[test]
fn a_right_that_is_missing_is_named_and_does_not_open_the_breaker() {
    run(async {
        let server = Server::started(&[]).await;
        server.tell("ACL SETUSER gate on >pw ~tg3:* -@all +eval +evalsha +set");
        let link = open(&format!("unix://{}?user=gate&pass=pw", server.socket().display()), patient()).await;
        for _ in 0..20 {
            let Err(LinkError::Server { cause, .. }) = link.call(&count("a")).await else {
                panic!("an error")
            };
            assert_eq!(cause, Cause::NoPerm);
        }
        server.tell("ACL SETUSER gate +incrby");
        assert!(link.call(&count("a")).await.is_ok());
    });
}

#[test]
fn a_link_starts_without_a_server_and_finds_it_when_it_comes() {
    run(async {
        let mut server = Server::new(&[]);
        let link = Link::open(server.address(), patient()).unwrap();
        until("calls end at once", || link.health().trouble.is_some()).await;
        let error = link.call(&count("a")).await.unwrap_err();
        assert!(matches!(error, LinkError::Unreachable { cause: Cause::Refused, .. }), "{error:?}");
        assert!(error.to_string().starts_with("no connection to the store (refused): "), "{error}");
        server.start().await;
        until("the link is up", || link.health().up).await;
        assert!(link.call(&count("a")).await.is_ok());
        assert_eq!(counted(&server, "a"), 1);
    });
}

#[test]
fn a_host_without_an_address_is_named() {
    run(async {
        let link = open("redis://nobody.invalid", patient()).await;
        let error = link.call(&count("a")).await.unwrap_err();
        assert_eq!((error.cause(), error.may_have_run()), (Cause::Dns, false));
    });
}

#[test]
fn a_server_that_does_not_know_auth_makes_no_error_that_tells_the_password() {
    run(async {
        let server = Server::started(&["--rename-command", "AUTH", ""]).await;
        let address = format!("unix://{}?user=ada&pass=hunter2", server.socket().display());
        let link = open(&address, patient()).await;
        let error = link.call(&count("a")).await.unwrap_err();
        let told = [format!("{error} {error:?}"), format!("{:?}", link.health())];
        assert!(told.iter().all(|told| !told.contains("hunter2")), "{told:?}");
        assert!(
            told.iter().all(|told| told.contains("ERR")),
            "and still says that it is the server's: {told:?}"
        );
    });
}

#[test]
fn a_server_that_has_no_room_for_us_is_not_connected_to_and_says_why() {
    run(async {
        let server = Server::started(&[]).await;
        server.tell("ACL SETUSER ada on >hunter2 ~* +@all");
        let mut operator = server.operator();
        let mut room = |clients: &str| {
            let set = redis::cmd("CONFIG").arg(&["SET", "maxclients", clients]).exec(&mut operator);
            set.expect("an operator may");
        };
        room("1");
        for user in ["", "?user=ada&pass=hunter2"] {
            let link = open(&format!("unix://{}{user}", server.socket().display()), patient()).await;
            let error = link.call(&count("a")).await.unwrap_err();
            assert_eq!((error.cause(), error.may_have_run()), (Cause::Other, false), "{error}");
            assert!(error.to_string().contains("max number of clients"), "{error}");
            assert_eq!(link.health().connections, 0);
        }
        room("100");
        let link = open(&format!("unix://{}", server.socket().display()), patient()).await;
        assert!(link.call(&count("a")).await.is_ok());
    });
}

#[test]
fn a_server_without_ping_serves_all_the_same() {
    run(async {
        let mut server = Server::new(&["--rename-command", "PING", ""]);
        server.spawn();
        until("it answers", || server.tell_words(&["TIME"]).is_ok()).await;
        let link = Link::open(server.address(), patient()).unwrap();
        assert!(link.call(&count("a")).await.is_ok());
    });
}

#[test]
fn a_link_outside_a_runtime_says_so() {
    let opened = Link::open("redis://localhost".parse().unwrap(), Settings::default());
    assert_eq!(opened.map(drop), Err(OpenError::NoRuntime));
}

#[test]
fn a_setting_out_of_range_is_named() {
    run(async {
        let settings = Settings { connections: 0, ..Settings::default() };
        let error = Link::open("redis://localhost".parse().unwrap(), settings).map(drop).unwrap_err();
        let sentence = "a store setting is out of range: `connections` is 0: it must be from 1 to 16";
        assert_eq!(error.to_string(), sentence);
    });
}
