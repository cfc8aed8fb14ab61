//! Faults that the server announces by an error to everybody. One function each, over a running load.

use std::fs;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{BreakerState, Cause};

use crate::figures::{Figures, Play, Stage};
use crate::server::Server;
use crate::support::until;

/// Plays a fault: calls hear its name, soon nobody asks, and it passes.
async fn announced(
    (name, cause, play): (&'static str, Cause, &Play),
    server: Server,
    begin: impl FnOnce(&Server),
    end: impl FnOnce(&Server),
) -> Figures {
    let stage = Stage::set(server, play).await;
    let began = Instant::now();
    begin(&stage.server);
    stage.load.failed(began, &[cause], 5).await;
    stage.hold(began, play).await;
    let ended = Instant::now();
    end(&stage.server);
    passes(stage, name, (began, ended)).await
}

/// What a fault did that began and ended then: it passes.
async fn passes(stage: Stage, name: &'static str, (began, ended): (Instant, Instant)) -> Figures {
    let store = stage.store.clone();
    let figures = stage.figures(name, began, ended).await;
    assert_eq!(store.health().breaker, BreakerState::Closed);
    figures
}

/// A fault that is set and unset by a word each.
async fn by_word(fault: (&'static str, Cause, &Play), begin: &'static str, end: &'static str) -> Figures {
    let server = Server::started_as(fault.2.make, &[]).await;
    announced(fault, server, |server| drop(server.tell(begin)), |server| drop(server.tell(end))).await
}

pub(crate) async fn out_of_memory(play: &Play) -> Figures {
    by_word(("OOM", Cause::OutOfMemory, play), "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0").await
}

pub(crate) async fn no_replicas(play: &Play) -> Figures {
    let (begin, end) = ("CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0");
    by_word(("NOREPLICAS", Cause::NoReplicas, play), begin, end).await
}

/// A primary that becomes a replica and a primary again.
pub(crate) async fn read_only(play: &Play) -> Figures {
    by_word(("READONLY", Cause::ReadOnly, play), "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE").await
}

/// A primary that cannot save: its directory is gone.
pub(crate) async fn cannot_save(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &["--appendonly", "no"]).await;
    let begin = |server: &Server| {
        fs::remove_dir_all(server.data()).expect("it can be removed");
        // Only one that is to save by itself refuses writes when it cannot.
        server.tell_words(&["CONFIG", "SET", "save", "3600 1"]).expect("it can be set");
        server.tell("BGSAVE");
    };
    let end = |server: &Server| drop(server.tell("CONFIG SET stop-writes-on-bgsave-error no"));
    announced(("MISCONF", Cause::Misconf, play), server, begin, end).await
}

/// A password that is set while every connection is cut: who comes back is not let in.
pub(crate) async fn no_password(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let mut operator = server.operator();
    let begin = move |_: &Server| {
        let mut both = redis::pipe();
        both.cmd("CONFIG").arg(&["SET", "requirepass", "new"]);
        both.cmd("CLIENT").arg(&["KILL", "TYPE", "normal", "SKIPME", "yes"]);
        both.exec(&mut operator).expect("an operator may");
    };
    let end = |server: &Server| {
        let mut both = redis::pipe();
        both.cmd("AUTH").arg("new").cmd("CONFIG").arg(&["SET", "requirepass", ""]);
        both.exec(&mut server.operator()).expect("an operator may");
    };
    announced(("NOAUTH after a change", Cause::NoAuth, play), server, begin, end).await
}

/// Somebody's script that does not end.
pub(crate) async fn busy(play: &Play) -> Figures {
    let server = Server::started(&["--busy-reply-threshold", "50"]).await;
    let mut endless = server.operator();
    let begin = move |_: &Server| {
        std::thread::spawn(move || {
            // It ends in an error, by `SCRIPT KILL`.
            drop(redis::cmd("EVAL").arg(&["while true do end", "0"]).exec(&mut endless));
        });
    };
    announced(("BUSY", Cause::Busy, play), server, begin, |server| drop(server.tell("SCRIPT KILL"))).await
}

/// So many keys are loaded, each of them after a delay: half of a second and more in all.
const LOADED: u32 = 3000;
const DELAY_MIN: Duration = Duration::from_micros(300);

/// A server that reads its data anew, slowly. It ends when it has read them, as it tells whoever had it do so; not before it has lasted long
/// enough.
pub(crate) async fn loading(play: &Play) -> Figures {
    let server = Server::started(&["--loading-process-events-interval-bytes", "1024"]).await;
    server.tell(&format!("DEBUG POPULATE {LOADED} filler 100"));
    let delay = DELAY_MIN.max(play.hold / LOADED).as_micros();
    server.tell(&format!("CONFIG SET key-load-delay {delay}"));
    let mut operator = server.operator();
    let stage = Stage::set(server, play).await;
    let began = Instant::now();
    let reloading = std::thread::spawn(move || {
        redis::cmd("DEBUG").arg("RELOAD").exec(&mut operator).expect("it loads");
        Instant::now()
    });
    stage.load.failed(began, &[Cause::Loading], 5).await;
    stage.hold(began, play).await;
    until("it has loaded", || reloading.is_finished()).await;
    let ended = reloading.join().expect("it tells when");
    let figures = passes(stage, "LOADING", (began, ended)).await;
    assert_nobody_is_answered(&figures, ended);
    figures
}

/// From the first call that hears that the server loads, until it has loaded. This process may have learned of that late, by as much as it was
/// kept from running.
fn assert_nobody_is_answered(figures: &Figures, ended: Instant) {
    let loading = figures.samples.iter().filter(|sample| sample.cause() == Some(Cause::Loading));
    let heard = loading.map(|sample| sample.at + sample.took).min().expect("somebody hears it");
    let early = figures.samples.iter().filter(|sample| {
        sample.end.is_ok() && sample.at > heard && sample.at + sample.took + figures.noise < ended
    });
    assert_eq!(early.count(), 0, "it had loaded before it is said to have: {figures}");
}
