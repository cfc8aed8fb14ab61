//! Faults of what is between link and server: connections that are cut, and answers that get lost. Each over a running load.

use tokio::time::Instant;
use tollgate_redis::Cause;

use crate::figures::{Figures, Play, Stage};
use crate::proxy::{Proxy, Rule};
use crate::server::Server;
use crate::support::until;

/// A connection is cut after so many bytes and a few more: by then all callers have asked, and some have been answered. (One that
/// never answered is followed by a longer wait.)
const TO_SERVER: usize = 30_000;
const TO_CLIENT: usize = 1_000;

/// How many bytes further each connection goes than the one before: what one caller asks and is answered is shorter, alone and
/// among others.
const PLACES: usize = 200;

/// How many connections are cut, at least.
const CUTS_MIN: u64 = 30;

/// One connection after the other, cut one byte later than the one before: those in flight may have run, or not.
pub(crate) async fn cut(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let proxy = Proxy::start(&server.socket());
    let stage = Stage::set_at(proxy.address(), server, play).await;
    for place in (0..PLACES).rev() {
        proxy.next(Rule { to_server: Some(TO_SERVER + place), ..Rule::default() });
        proxy.next(Rule { to_client: Some(TO_CLIENT + place), ..Rule::default() });
    }
    let (began, before) = (Instant::now(), stage.store.health().connections);
    // The connection that there was has no rule.
    stage.server.tell("CLIENT KILL TYPE normal SKIPME yes");
    until("connections are cut", || stage.store.health().connections >= before + CUTS_MIN).await;
    stage.hold(began, play).await;
    let ended = Instant::now();
    proxy.forget_rules();
    stage.figures("cut after any byte, again and again", began, ended).await
}

/// Answers that are lost: what was asked was done, and nobody hears of it.
pub(crate) async fn lost(play: &Play) -> Figures {
    let server = Server::started_as(play.make, &[]).await;
    let proxy = Proxy::start(&server.socket());
    let stage = Stage::set_at(proxy.address(), server, play).await;
    let began = Instant::now();
    proxy.lose(true);
    stage.load.failed(began, &[Cause::Open], 200).await;
    stage.hold(began, play).await;
    let ended = Instant::now();
    proxy.lose(false);
    stage.figures("answers lost after the script ran", began, ended).await
}
