//! A server that is gone, frozen or far away under full load, and comes back. One function a fault.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Cause, Link, Settings, Standing};

use crate::announced::{busy, cannot_save, loading, no_replicas, out_of_memory, read_only};
use crate::figures::{Figures, Play, Stage, resident};
use crate::load::Load;
use crate::proxy::Proxy;
use crate::run;
use crate::server::Server;

/// What a call may take beyond its budget: the grain of the timers, and a busy runtime.
const ALLOWANCE: Duration = Duration::from_millis(25);

/// Every call ended within its budget, as far as can be judged on this machine.
fn assert_in_time(figures: &Figures, budget: Duration) {
    println!("{figures}");
    let limit = budget + ALLOWANCE + figures.noise;
    assert!(figures.worst <= limit, "worst over {limit:?}: {figures}");
    assert_eq!(figures.wrong, 0, "{figures}");
    assert!(figures.recovered.is_some(), "{figures}");
}

/// `kill -9`, and a restart when callers have noticed.
pub(crate) async fn killed(play: &Play) -> Figures {
    let server = Server::started(&[]).await;
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
    let server = Server::started(&[]).await;
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
    let server = Server::started(&[]).await;
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
    let server = Server::started(&[]).await;
    let stage = Stage::set(server, play).await;
    let began = Instant::now();
    for _ in 0..20 {
        stage.server.tell("SCRIPT FLUSH");
        stage.load.answered(100).await;
    }
    stage.figures("SCRIPT FLUSH, twenty times", began, Instant::now()).await
}

#[test]
fn a_server_that_is_killed_and_restarted_costs_no_wrong_decision() {
    let play = Play::full(Duration::ZERO);
    assert_in_time(&run(killed(&play)), play.settings.budget);
}

#[test]
fn a_frozen_server_costs_each_caller_one_budget_and_then_nothing() {
    let play = Play::full(Duration::from_millis(600));
    let figures = run(frozen(&play));
    assert_in_time(&figures, play.settings.budget);
    let slow = figures.samples.iter().filter(|sample| sample.cause() == Some(Cause::Timeout)).count();
    // Those in flight when it froze, and a probe now and then.
    assert!(slow <= play.callers * 2 + 20, "{slow} calls waited in vain: {figures}");
    let detected = figures.detected.expect("it is detected");
    assert!(detected <= play.settings.budget * 2 + ALLOWANCE + figures.noise, "{figures}");
}

#[test]
fn answers_that_come_late_cost_each_caller_one_budget_and_then_nothing() {
    let play = Play::full(Duration::from_millis(600));
    assert_in_time(&run(slow(&play)), play.settings.budget);
}

#[test]
fn forgotten_scripts_under_load_cost_no_decision_and_double_none() {
    let figures = run(forgotten(&Play { callers: 64, ..Play::quick() }));
    assert!(figures.samples.iter().all(|sample| sample.end.is_ok()), "{figures}");
    assert_eq!(figures.wrong, 0, "{figures}");
}

/// Resident memory, in KiB, before a server is frozen for so long at full load, at the end of it, and after it has recovered.
/// With it, how many calls ended in the meantime.
async fn memory_while_frozen(play: &Play) -> ([u64; 3], u64) {
    let server = Server::started(&[]).await;
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

fn assert_memory_is_bounded(hold: Duration) {
    let play = Play { callers: 1000, ..Play::full(hold) };
    let ([before, during, after], failed) = run(memory_while_frozen(&play));
    println!("resident {before} KiB before, {during} during, {after} after {failed} calls in vain");
    assert!(failed > 1000);
    assert!(during.max(after) <= before + 8 * 1024, "{before} KiB before, {during} during, {after} after");
}

#[test]
fn memory_stays_bounded_while_a_thousand_callers_get_no_answer() {
    assert_memory_is_bounded(Duration::from_secs(1));
}

#[test]
#[ignore = "takes over a minute: a server that is frozen for a minute at full load"]
fn memory_stays_bounded_over_a_minute_without_an_answer() {
    assert_memory_is_bounded(Duration::from_secs(60));
}

#[test]
#[ignore = "takes half a minute: every fault for two seconds at full load, as a table"]
fn every_fault_as_a_table() {
    let play = Play::full(Duration::from_secs(2));
    println!("{}", Figures::HEAD);
    let show = |figures: Figures| {
        println!("{} noise {:.1?}", figures.row(), figures.noise);
        assert_eq!(figures.wrong, 0, "{figures}");
    };
    show(run(killed(&play)));
    show(run(frozen(&play)));
    show(run(slow(&play)));
    show(run(forgotten(&play)));
    show(run(out_of_memory(&play)));
    show(run(no_replicas(&play)));
    show(run(read_only(&play)));
    show(run(cannot_save(&play)));
    show(run(busy(&play)));
    show(run(loading(&play)));
}

#[test]
fn a_server_that_freezes_again_and_again_is_left_and_found_each_time() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { backoff_max: Duration::from_millis(100), ..Settings::default() };
        let play = Play { settings, ..Play::full(Duration::ZERO) };
        let stage = Stage::set(server, &play).await;
        let first = Instant::now();
        let mut ended = first;
        for _ in 0..5 {
            let began = Instant::now();
            stage.server.freeze();
            stage.load.failed(began, &[Cause::Open], 50).await;
            ended = Instant::now();
            stage.server.thaw();
            stage.load.answered(200).await;
        }
        let link = stage.link.clone();
        let figures = stage.figures("SIGSTOP, five times", first, ended).await;
        assert_in_time(&figures, play.settings.budget);
        assert_eq!(link.health().breaker, Standing::Closed);
    });
}
