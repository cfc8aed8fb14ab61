//! Faults that nobody announces: a server that is gone, frozen or far away. One function each, over a running load.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Cause, Link};

use crate::figures::{Figures, Play, Stage, resident};
use crate::load::Load;
use crate::proxy::Proxy;
use crate::server::Server;

/// `kill -9`, and a restart when callers have noticed.
pub(crate) async fn killed(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let mut stage = Stage::set(server, play).await;
    let began = Instant::now();
    stage.server.kill();
    stage.load.failed(began, &[Cause::Refused], 200).await;
    stage.hold(began, play).await;
    let ended = Instant::now();
    stage.server.start().await;
    stage.figures("kill -9, restart", began, ended).await
}

/// `SIGSTOP` at full load, and `SIGCONT`.
pub(crate) async fn frozen(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let stage = Stage::set(server, play).await;
    let began = Instant::now();
    stage.server.freeze();
    stage.load.failed(began, &[Cause::Open, Cause::Stalled, Cause::ConnectTimeout], 500).await;
    stage.hold(began, play).await;
    let ended = Instant::now();
    stage.server.thaw();
    stage.figures("SIGSTOP, SIGCONT", began, ended).await
}

/// Answers that come too late, over a connection that stays.
pub(crate) async fn slow(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let proxy = Proxy::start(&server.socket());
    let stage = Stage::set_at(proxy.address(), server, play).await;
    let began = Instant::now();
    proxy.delay(play.settings.budget * 8);
    stage.load.failed(began, &[Cause::Open], 200).await;
    stage.hold(began, play).await;
    let ended = Instant::now();
    proxy.delay(Duration::ZERO);
    stage.figures("answers 200 ms late", began, ended).await
}

/// Scripts that are forgotten again and again.
pub(crate) async fn forgotten(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let stage = Stage::set(server, play).await;
    let began = Instant::now();
    for _ in 0..20 {
        stage.server.tell("SCRIPT FLUSH");
        stage.load.answered(100).await;
    }
    stage.figures("SCRIPT FLUSH, twenty times", began, Instant::now()).await
}

/// All data gone, again and again: every budget is fresh, and nobody hears an error.
pub(crate) async fn emptied(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let mut stage = Stage::set(server, play).await;
    let began = Instant::now();
    for _ in 0..20 {
        stage.empty();
        stage.load.answered(100).await;
    }
    stage.figures("FLUSHALL, twenty times", began, Instant::now()).await
}

/// Resident memory, in KiB, before a server is frozen for so long at full load, at the end of it, and after it has recovered.
/// With it, how many calls ended in the meantime.
pub(crate) async fn memory_while_frozen(play: &Play) -> ([u64; 3], u64) {
    let server = Server::started_as(play.make, &[]).await;
    let link = Link::open(server.address(), play.settings.clone()).expect("a link");
    let load = Load::unrecorded(&link, play.callers, "load");
    load.answered(100_000).await;
    let before = resident();
    let began = Instant::now();
    server.freeze();
    while began.elapsed() < play.hold {
        assert!(link.health().in_flight <= play.settings.in_flight_max);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let during = resident();
    server.thaw();
    load.answered(1000).await;
    load.stop().await;
    let failed = link.health().failed.iter().map(|(_, count)| count).sum();
    ([before, during, resident()], failed)
}
