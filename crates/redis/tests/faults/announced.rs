//! Faults that the server announces by an error to everybody. One function each, over a running load.

use std::fs;

use tokio::time::Instant;
use tollgate_redis::{Cause, Standing};

use crate::figures::{Figures, Play, Stage};
use crate::server::Server;

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
    let store = stage.store.clone();
    let figures = stage.figures(name, began, ended).await;
    assert_eq!(store.health().breaker, Standing::Closed);
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

/// A server that reads its data anew, slowly. It ends when it has read them: a second or so later.
pub(crate) async fn loading(play: &Play) -> Figures {
    let server = Server::started(&["--loading-process-events-interval-bytes", "1024"]).await;
    server.tell("DEBUG POPULATE 3000 filler 100");
    let mut reloading = server.operator();
    let begin = move |server: &Server| {
        server.tell("CONFIG SET key-load-delay 300");
        std::thread::spawn(move || drop(redis::cmd("DEBUG").arg("RELOAD").exec(&mut reloading)));
    };
    announced(("LOADING", Cause::Loading, play), server, begin, |_| {}).await
}
