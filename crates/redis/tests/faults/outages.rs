//! A server that is gone, frozen or far away under full load, and comes back: in time, and without a wrong decision.

use std::process::Command;
use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{BreakerState, Cause, Settings};

use crate::figures::{Figures, Play, Stage};
use crate::partition::{Network, parted};
use crate::server::Server;
use crate::silent::{forgotten, frozen, killed, memory_while_frozen, slow};
use crate::support::run;

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
fn a_partition_costs_each_caller_one_budget_and_is_over_when_packets_arrive_again() {
    // Long enough for the old connection to wait long before it tries again.
    let play = Play::full(Duration::from_millis(1500));
    let figures = run(parted(&play));
    assert_in_time(&figures, play.settings.budget);
    let limit = play.settings.connect_timeout + 10 * ALLOWANCE + figures.noise;
    assert!(figures.recovered.is_some_and(|took| took <= limit), "recovered after {limit:?}: {figures}");
}

#[test]
fn a_network_is_gone_after_its_test_even_if_that_panics() {
    let seen = |name: &str| {
        let said = |words: &[&str]| Command::new("ip").args(words).output().expect("`ip` runs").stdout;
        let all = [said(&["netns", "list"]), said(&["-brief", "link"])].concat();
        String::from_utf8_lossy(&all).matches(name).count()
    };
    let network = Network::new();
    let name = network.name().to_owned();
    assert_eq!(seen(&name), 2, "the namespace, and our end of the wire");
    let panicked = std::thread::spawn(move || {
        let _network = network;
        panic!("as a test that fails")
    });
    assert!(panicked.join().is_err());
    assert_eq!(seen(&name), 0);
}

#[test]
fn forgotten_scripts_under_load_cost_no_decision_and_double_none() {
    let figures = run(forgotten(&Play { callers: 64, ..Play::quick() }));
    assert!(figures.samples.iter().all(|sample| sample.end.is_ok()), "{figures}");
    assert_eq!(figures.wrong, 0, "{figures}");
}

/// So that groups of charges meet every fault.
#[test]
fn the_load_under_which_faults_are_played_goes_together_in_groups() {
    let play = Play { callers: 64, ..Play::quick() };
    run(async {
        let stage = Stage::set(Server::started(&[]).await, &play).await;
        stage.load.answered(5000).await;
        let scripts = stage.server.info("cmdstat_evalsha");
        let scripts: u64 = scripts.split(['=', ',']).nth(1).and_then(|calls| calls.parse().ok()).unwrap();
        let answered = stage.store.health().answered;
        let now = Instant::now();
        let figures = stage.figures("none", now, now).await;
        assert!(figures.wrong == 0 && scripts * 4 <= answered, "{scripts} scripts, {answered} answers");
    });
}

#[test]
fn memory_stays_bounded_while_a_thousand_callers_get_no_answer() {
    let play = Play { callers: 1000, ..Play::full(Duration::from_secs(1)) };
    let ([before, during, after], failed) = run(memory_while_frozen(&play));
    assert!(failed > 1000);
    assert!(during.max(after) <= before + 8 * 1024, "{before} KiB before, {during} during, {after} after");
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
        let store = stage.store.clone();
        let figures = stage.figures("SIGSTOP, five times", first, ended).await;
        assert_in_time(&figures, play.settings.budget);
        assert_eq!(store.health().breaker, BreakerState::Closed);
    });
}
