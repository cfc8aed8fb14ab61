//! A server that answers, but with an error to everybody: it is heard by its name, and passes by itself.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_algorithms::{Limit, Micros, Mode};
use tollgate_redis::{
    BreakerState, Cause, Command, Hit, Link, LinkError, Naming, Settings, TOGETHER_MAX, Writes,
};

use crate::announced::{busy, cannot_save, loading, no_password, no_replicas, out_of_memory, read_only};
use crate::figures::{Figures, Noise, Play};
use crate::load::{count, counted};
use crate::proxy::Proxy;
use crate::server::Server;
use crate::support::{run, until};

fn assert_right(figures: &Figures) {
    println!("{figures}");
    assert_eq!(figures.wrong, 0, "{figures}");
    assert!(figures.recovered.is_some(), "{figures}");
}

#[test]
fn out_of_memory_is_named_and_passes() {
    assert_right(&run(out_of_memory(&Play::quick())));
}

#[test]
fn too_few_replicas_are_named_and_pass() {
    assert_right(&run(no_replicas(&Play::quick())));
}

#[test]
fn a_replica_is_named_and_passes() {
    assert_right(&run(read_only(&Play::quick())));
}

#[test]
fn a_server_that_cannot_save_is_named_and_passes() {
    assert_right(&run(cannot_save(&Play::quick())));
}

#[test]
fn a_busy_server_is_named_and_passes() {
    assert_right(&run(busy(&Play::quick())));
}

#[test]
fn a_server_that_loads_is_named_and_passes_from_when_it_has_loaded_on() {
    // It loads for longer than it would by itself, and is found soon when it has.
    let settings = Settings { backoff_max: Duration::from_millis(40), ..Play::quick().settings };
    let play = Play { settings, hold: Duration::from_millis(1500), ..Play::quick() };
    let figures = run(loading(&play));
    assert_right(&figures);
    let recovered = figures.recovered.expect("it recovers");
    assert!(recovered <= play.hold / 3 + figures.noise, "{figures}");
}

#[test]
fn a_password_that_is_missing_is_named_and_passes() {
    assert_right(&run(no_password(&Play::quick())));
}

#[test]
fn while_the_breaker_is_open_one_call_at_a_time_asks() {
    let play = Play { hold: Duration::from_millis(500), ..Play::quick() };
    let figures = run(out_of_memory(&play));
    let heard = figures.samples.iter().filter(|sample| sample.cause() == Some(Cause::OutOfMemory)).count();
    // Those in flight when it began, five calls until it opens, which may be of several callers each, and probes after waits of
    // 10, 20, 40, 80, 160 and 320 ms at least.
    assert!(heard <= play.callers + 5 * TOGETHER_MAX + 6, "{heard} calls asked: {figures}");
}

#[test]
fn an_open_breaker_closes_without_traffic() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { budget: Duration::from_secs(5), ..Settings::default() };
        let link = Link::open(server.address(), settings).unwrap();
        link.call(&count("a")).await.unwrap();
        server.tell("CONFIG SET maxmemory 1");
        while link.health().breaker == BreakerState::Closed {
            link.call(&count("a")).await.unwrap_err();
        }
        server.tell("CONFIG SET maxmemory 0");
        until("the breaker closes by itself", || link.health().breaker == BreakerState::Closed).await;
        let probe = "5d19e25827e8556e84feacc3b801c72f593d6b21";
        let known: Vec<bool> =
            redis::from_redis_value(server.tell(&format!("SCRIPT EXISTS {probe}"))).unwrap();
        assert_eq!(known, [true], "the probe's digest is that of its text");
        assert!(link.call(&count("a")).await.is_ok());
    });
}

#[test]
fn a_breaker_that_is_open_for_writes_is_not_closed_by_a_call_that_reads() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings {
            budget: Duration::from_secs(5),
            backoff_min: Duration::from_millis(1),
            backoff_max: Duration::from_millis(1),
            ..Settings::default()
        };
        let link = Link::open(server.address(), settings).unwrap();
        link.call(&count("a")).await.unwrap();
        server.tell("CONFIG SET maxmemory 1");
        while link.health().breaker == BreakerState::Closed {
            link.call(&count("a")).await.unwrap_err();
        }
        let reading = tollgate_redis::Call { writes: Writes::Nothing, ..count("a") };
        for _ in 0..100 {
            assert_eq!(link.call(&reading).await.unwrap_err().cause(), Cause::Open);
            tokio::task::yield_now().await;
        }
    });
}

/// So often the link itself has asked a server that fails for this cause, or others have: as often as it answered with it.
fn heard(link: &Link, cause: Cause) -> u64 {
    link.health().failed.iter().find(|(known, _)| *known == cause).expect("a cause").1
}

/// A server that takes no writes answers a refusal all the same: then the link's own probe, which writes, decides.
#[test]
fn a_breaker_that_is_open_for_writes_is_not_closed_by_a_charge_that_is_refused() {
    let rows = [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", Cause::OutOfMemory),
        ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", Cause::NoReplicas),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", Cause::ReadOnly),
    ];
    for (begin, end, cause) in rows {
        run(async {
            let server = Server::started(&[]).await;
            let settings = Settings {
                breaker_failures: 1,
                backoff_max: Duration::from_millis(40),
                ..Play::quick().settings
            };
            let link = Link::open(server.address(), settings).unwrap();
            let limit = Limit::token_bucket(1, 1, Micros::HOUR).unwrap();
            let name = Naming::new([4; 16]).name("spent", b"k");
            let charge =
                Command::Charge(&[Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }]).call();
            link.call(&charge).await.unwrap();
            server.tell(begin);
            link.call(&count("a")).await.unwrap_err();
            let mut refused = 0;
            while heard(&link, cause) < 10 {
                refused += u64::from(link.call(&charge).await.is_ok());
                assert_ne!(
                    link.health().breaker,
                    BreakerState::Closed,
                    "{cause:?}, after {refused} refusals"
                );
                tokio::task::yield_now().await;
            }
            assert!(refused > 0 && refused <= heard(&link, cause), "{cause:?}: {refused} refusals");
            server.tell(end);
            while link.health().breaker != BreakerState::Closed {
                drop(link.call(&charge).await);
                tokio::task::yield_now().await;
            }
            link.call(&count("a")).await.unwrap();
        });
    }
}

#[test]
fn a_new_connection_is_asked_at_once_although_the_next_probe_is_not_due_yet() {
    run(async {
        let server = Server::started(&[]).await;
        let wait = Duration::from_secs(2);
        let settings =
            Settings { breaker_failures: 1, backoff_min: wait, backoff_max: wait, ..Play::quick().settings };
        let link = Link::open(server.address(), settings).unwrap();
        link.call(&count("a")).await.unwrap();
        server.tell("CONFIG SET maxmemory 1");
        link.call(&count("a")).await.unwrap_err();
        assert_eq!(link.health().breaker, BreakerState::Open, "for a second or two");
        server.tell("CONFIG SET maxmemory 0");
        let noise = Noise::start();
        // A lost connection is made anew within a second: before the probe would be due.
        server.tell("CLIENT KILL TYPE normal");
        until("there is a new connection", || link.health().connections == 2).await;
        let connected = Instant::now();
        until("the breaker closes", || link.health().breaker == BreakerState::Closed).await;
        let (took, noise) = (connected.elapsed(), noise.stop());
        assert!(took <= Duration::from_millis(100) + noise, "{took:?}, noise {noise:?}");
    });
}

#[test]
fn a_replica_is_not_connected_to_again_and_again_although_it_answers_what_only_reads() {
    run(async {
        let server = Server::started(&[]).await;
        server.tell("REPLICAOF 127.0.0.1 1");
        let settings =
            Settings { budget: Duration::from_secs(5), breaker_failures: 1_000, ..Settings::default() };
        let link = Link::open(server.address(), settings).unwrap();
        let (limit, name) =
            (Limit::token_bucket(1, 1, Micros::HOUR).unwrap(), Naming::new([4; 16]).name("replica", b"k"));
        let hits = [Hit { limit: &limit, name: &name, cost: 1, mode: Mode::Enforced }];
        let (peek, charge) = (Command::Peek(&hits).call(), Command::Charge(&hits).call());
        let (start, mut peeked, mut refused) = (Instant::now(), 0, 0);
        while refused < 6 {
            peeked += u32::from(link.call(&peek).await.is_ok());
            let said = link.call(&charge).await.unwrap_err();
            refused += u32::from(matches!(said, LinkError::Server { cause: Cause::ReadOnly, .. }));
            tokio::task::yield_now().await;
        }
        assert!(peeked >= 6, "{peeked}");
        // Five connections more, after waits of 10, 20, 40, 80 and 160 ms at least.
        assert!(start.elapsed() >= Duration::from_millis(310), "{:?}", start.elapsed());
    });
}

#[test]
fn a_primary_that_was_demoted_is_left_for_the_one_that_has_its_name_now() {
    run(async {
        let (old, new) = (Server::started(&[]).await, Server::started(&[]).await);
        let proxy = Proxy::start(&old.socket());
        let settings = Settings { budget: Duration::from_secs(5), ..Settings::default() };
        let link = Link::open(proxy.address(), settings).unwrap();
        link.call(&count("a")).await.unwrap();
        old.tell("REPLICAOF 127.0.0.1 1");
        proxy.lead_to(&new.socket());
        let error = link.call(&count("a")).await.unwrap_err();
        assert_eq!(error.cause(), Cause::ReadOnly);
        until("it is up again", || link.health().connections == 2).await;
        link.call(&count("a")).await.unwrap();
        assert_eq!((counted(&old, "a"), counted(&new, "a")), (1, 1));
    });
}

/// A password that is changed and changed back, while the connections are closed.
async fn password(change: &[&str], back: &[&str], address: &str, server: &Server, cause: Cause) {
    let mut operator = server.operator();
    let mut tell = |words: &[&str]| {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).exec(&mut operator).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    };
    let link = Link::open(
        address.parse().unwrap(),
        Settings { budget: Duration::from_secs(5), ..Settings::default() },
    )
    .unwrap();
    link.call(&count("a")).await.unwrap();
    tell(change);
    link.call(&count("a")).await.expect("who is in stays in");
    tell(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    until("the password is refused", || link.health().trouble.is_some_and(|error| error.cause() == cause))
        .await;
    let error = link.call(&count("a")).await.unwrap_err();
    assert_eq!((error.cause(), error.may_have_run()), (cause, false), "{error}");
    tell(back);
    until("the password is accepted", || link.health().up).await;
    link.call(&count("a")).await.unwrap();
}

#[test]
fn a_password_that_is_changed_is_named_and_changed_back_passes() {
    run(async {
        let server = Server::started(&[]).await;
        let plain = format!("unix://{}", server.socket().display());
        let (change, back) = (["CONFIG", "SET", "requirepass", "new"], ["CONFIG", "SET", "requirepass", ""]);
        password(&change, &back, &plain, &server, Cause::NoAuth).await;
        server.tell("ACL SETUSER gate on >old ~* +@all");
        let user = format!("{plain}?user=gate&pass=old");
        let (change, back) = (["ACL", "SETUSER", "gate", "<old", ">new"], ["ACL", "SETUSER", "gate", ">old"]);
        password(&change, &back, &user, &server, Cause::WrongPass).await;
    });
}
