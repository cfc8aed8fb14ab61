//! A server that answers, but with an error to everybody: each by its name, and recovery by itself. One function a fault.

use std::fs;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Cause, Link, Settings, Standing};

use crate::figures::{Figures, Stage};
use crate::load::count;
use crate::server::Server;
use crate::{run, until};

/// Plays a fault that the server announces by this error: calls hear its name, soon nobody asks, and it passes.
async fn announced(
    server: Server,
    name: &'static str,
    cause: Cause,
    begin: impl FnOnce(&Server),
    end: impl FnOnce(&Server),
) -> Figures {
    let settings = Settings {
        budget: Duration::from_secs(5),
        stall_timeout: Duration::from_secs(10),
        ..Settings::default()
    };
    let stage = Stage::set(server, settings, 16).await;
    let began = Instant::now();
    begin(&stage.server);
    stage.load.failed(began, &[cause], 5).await;
    let ended = Instant::now();
    end(&stage.server);
    let link = stage.link.clone();
    let figures = stage.figures(name, began, ended).await;
    assert_eq!(link.health().breaker, Standing::Closed);
    figures
}

fn assert_right(figures: &Figures) {
    println!("{figures}");
    assert_eq!(figures.wrong, 0, "{figures}");
    assert!(figures.recovered.is_some(), "{figures}");
}

async fn configured(name: &'static str, cause: Cause, begin: &'static str, end: &'static str) -> Figures {
    let server = Server::started(&[]).await;
    announced(server, name, cause, |server| drop(server.tell(begin)), |server| drop(server.tell(end))).await
}

pub(crate) async fn out_of_memory() -> Figures {
    configured("OOM", Cause::OutOfMemory, "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0").await
}

pub(crate) async fn no_replicas() -> Figures {
    let (begin, end) = ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0");
    configured("NOREPLICAS", Cause::NoReplicas, begin, end).await
}

pub(crate) async fn read_only() -> Figures {
    configured("READONLY", Cause::ReadOnly, "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE").await
}

/// A primary that cannot save: its directory is gone.
pub(crate) async fn cannot_save() -> Figures {
    let server = Server::started(&["--save", "3600 1", "--appendonly", "no"]).await;
    let begin = |server: &Server| {
        fs::remove_dir_all(server.data()).expect("it can be removed");
        server.tell("BGSAVE");
    };
    let end = |server: &Server| drop(server.tell("CONFIG SET stop-writes-on-bgsave-error no"));
    announced(server, "MISCONF", Cause::Misconf, begin, end).await
}

/// Somebody's script that does not end.
pub(crate) async fn busy() -> Figures {
    let server = Server::started(&["--busy-reply-threshold", "50"]).await;
    let mut endless = server.operator();
    let begin = move |_: &Server| {
        std::thread::spawn(move || {
            // It ends in an error, by `SCRIPT KILL`.
            drop(redis::cmd("EVAL").arg(&["while true do end", "0"]).exec(&mut endless));
        });
    };
    announced(server, "BUSY", Cause::Busy, begin, |server| drop(server.tell("SCRIPT KILL"))).await
}

/// A server that reads its data anew, slowly.
pub(crate) async fn loading() -> Figures {
    let server = Server::started(&["--loading-process-events-interval-bytes", "1024"]).await;
    server.tell("DEBUG POPULATE 3000 filler 100");
    let mut reloading = server.operator();
    let begin = move |server: &Server| {
        server.tell("CONFIG SET key-load-delay 300");
        std::thread::spawn(move || drop(redis::cmd("DEBUG").arg("RELOAD").exec(&mut reloading)));
    };
    announced(server, "LOADING", Cause::Loading, begin, |_| {}).await
}

#[test]
fn out_of_memory_is_named_and_passes() {
    assert_right(&run(out_of_memory()));
}

#[test]
fn too_few_replicas_are_named_and_pass() {
    assert_right(&run(no_replicas()));
}

#[test]
fn a_replica_is_named_and_passes() {
    assert_right(&run(read_only()));
}

#[test]
fn a_server_that_cannot_save_is_named_and_passes() {
    assert_right(&run(cannot_save()));
}

#[test]
fn a_busy_server_is_named_and_passes() {
    assert_right(&run(busy()));
}

#[test]
fn a_server_that_loads_is_named_and_passes() {
    assert_right(&run(loading()));
}

#[test]
fn an_open_breaker_closes_without_traffic() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { budget: Duration::from_secs(5), ..Settings::default() };
        let link = Link::open(server.address(), settings).unwrap();
        link.call(&count("a")).await.unwrap();
        server.tell("CONFIG SET maxmemory 1");
        while link.health().breaker == Standing::Closed {
            link.call(&count("a")).await.unwrap_err();
        }
        server.tell("CONFIG SET maxmemory 0");
        until("the breaker closes by itself", || link.health().breaker == Standing::Closed).await;
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
        while link.health().breaker == Standing::Closed {
            link.call(&count("a")).await.unwrap_err();
        }
        let reading = tollgate_redis::Call { writes: false, ..count("a") };
        for _ in 0..100 {
            assert_eq!(link.call(&reading).await.unwrap_err().cause(), Cause::Open);
            tokio::task::yield_now().await;
        }
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
