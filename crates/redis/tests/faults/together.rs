//! Charges that go together, through a store: fewer scripts than decisions, and each decision its own. Not what a script does.

use std::time::Duration;

use tollgate_algorithms::{Limit, Micros, Mode};
use tollgate_redis::{
    Address, BreakerState, Cause, Command, Hit, Name, Naming, Reply, Settings, StateKind, Store, StoreError,
};

use crate::make::Make;
use crate::proxy::{Proxy, Rule};
use crate::server::Server;
use crate::support::{run, until};

fn open(address: Address) -> Store {
    let short = Duration::from_millis(1);
    let budget = Duration::from_secs(10);
    Store::open(address, Settings { budget, backoff_min: short, backoff_max: short, ..Settings::default() })
        .unwrap()
}

fn name(key: &str) -> Name {
    Naming::new([8; 16]).name("together", key.as_bytes())
}

/// So much at once, and one more in an hour: nothing drains while a test lasts.
fn burst(burst: u64) -> Limit {
    Limit::token_bucket(burst, 1, Micros::HOUR).unwrap()
}

/// One charge, and whether it was granted.
async fn charge(store: &Store, limit: &Limit, key: &str) -> Result<bool, StoreError> {
    let hit = Hit { limit, name: &name(key), cost: 1, mode: Mode::Enforced };
    match store.ask(&Command::Charge(&[hit])).await? {
        Reply::Decided { granted, .. } => Ok(granted),
        Reply::Reset { .. } => panic!("nobody reset anything"),
    }
}

/// How much was charged.
async fn charged(store: &Store, limit: &Limit, key: &str) -> u64 {
    let hit = Hit { limit, name: &name(key), cost: 0, mode: Mode::Enforced };
    let Ok(Reply::Decided { decisions, .. }) = store.ask(&Command::Peek(&[hit])).await else {
        panic!("no answer")
    };
    limit.capacity() - decisions[0].remaining
}

/// So many callers at once, with so many charges each, one after the other; each has its own key if it is to.
async fn crowd(
    store: &Store,
    limit: Limit,
    (callers, each): (u64, u64),
    own: bool,
) -> Vec<Result<bool, StoreError>> {
    let caller = |caller: u64| {
        let store = store.clone();
        tokio::spawn(async move {
            let key = if own { format!("key {caller}") } else { "hot".into() };
            let mut ends = Vec::new();
            for _ in 0..each {
                ends.push(charge(&store, &limit, &key).await);
            }
            ends
        })
    };
    let callers: Vec<_> = (0..callers).map(caller).collect();
    let mut ends = Vec::new();
    for caller in callers {
        ends.extend(caller.await.unwrap());
    }
    ends
}

/// How many scripts the server has run.
fn scripts(server: &Server) -> u64 {
    let text: String = redis::from_redis_value(server.tell("INFO commandstats")).unwrap();
    let calls = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok();
    text.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(calls).sum()
}

fn granted(ends: &[Result<bool, StoreError>]) -> u64 {
    ends.iter().filter(|end| matches!(end, Ok(true))).count() as u64
}

#[test]
fn many_callers_take_few_scripts_and_a_hot_key_admits_exactly_its_limit() {
    for make in Make::ALL {
        run(async {
            let server = Server::started_as(make, &[]).await;
            let store = open(server.address());
            charge(&store, &burst(9), "first").await.unwrap();
            for (own, expected) in [(false, 1_000), (true, 3_200)] {
                let before = scripts(&server);
                let ends = crowd(&store, burst(1_000), (64, 50), own).await;
                let took = scripts(&server) - before;
                assert!(ends.iter().all(Result::is_ok));
                assert_eq!(granted(&ends), expected, "{}", make.name());
                assert!(took < 3_200 / 8, "{}: {took} scripts for 3200 decisions", make.name());
            }
        });
    }
}

/// A cluster is not what this link is for; but one node that has all slots answers, and must not fail when calls wait together.
#[test]
fn a_node_of_a_cluster_fails_nobody_when_calls_wait_together() {
    run(async {
        let server = Server::started_as(Make::Redis7, &["--cluster-enabled yes"]).await;
        server.tell("CLUSTER ADDSLOTSRANGE 0 16383");
        let is_up = || {
            let text: String = redis::from_redis_value(server.tell("CLUSTER INFO")).unwrap_or_default();
            text.contains("cluster_state:ok")
        };
        until("the node serves", is_up).await;
        let store = open(server.address());
        charge(&store, &burst(9), "first").await.unwrap();
        let ends = crowd(&store, burst(1_000), (64, 20), true).await;
        assert!(ends.iter().all(Result::is_ok), "{:?}", ends.iter().find(|end| end.is_err()));
        assert_eq!(granted(&ends), 64 * 20);
        assert_eq!(charged(&store, &burst(1_000), "key 7").await, 20);
    });
}

#[test]
fn scripts_that_are_forgotten_in_between_fail_nobody_and_charge_nobody_twice() {
    for make in Make::ALL {
        run(async {
            let server = Server::started_as(make, &[]).await;
            let store = open(server.address());
            let limit = burst(1_000_000);
            let asking = store.clone();
            let crowd = tokio::spawn(async move { crowd(&asking, limit, (64, 150), false).await });
            let mut forgotten = 0;
            while !crowd.is_finished() {
                server.tell("SCRIPT FLUSH");
                forgotten += 1;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            assert!(forgotten > 5, "it was over after {forgotten} times");
            let ends = crowd.await.unwrap();
            assert!(ends.iter().all(|end| matches!(end, Ok(true))), "{}", make.name());
            assert_eq!(charged(&store, &limit, "hot").await, 64 * 150, "{}", make.name());
        });
    }
}

#[test]
fn a_key_that_holds_something_else_fails_its_own_caller_only() {
    run(async {
        let server = Server::started(&[]).await;
        let store = open(server.address());
        server.tell(&format!("LPUSH {} x", name("key 5").of(StateKind::Debt)));
        server.tell(&format!("SET {} x", name("key 11").of(StateKind::Debt)));
        let ends = crowd(&store, burst(9), (16, 3), true).await;
        for (caller, ends) in ends.chunks(3).enumerate() {
            let foreign = matches!(caller, 5 | 11);
            let fits = |end: &Result<bool, StoreError>| match end {
                Err(StoreError::Foreign(why)) => {
                    foreign && why.contains(&name(&format!("key {caller}")).of(StateKind::Debt).to_string())
                }
                other => !foreign && *other == Ok(true),
            };
            assert!(ends.iter().all(fits), "{caller}: {ends:?}");
        }
    });
}

#[test]
fn what_a_server_says_to_one_of_a_group_is_known_by_its_name() {
    for make in Make::ALL {
        run(async {
            let server = Server::started_as(make, &[]).await;
            let store = open(server.address());
            crowd(&store, burst(1), (8, 1), true).await;
            server.tell("CONFIG SET maxmemory 1");
            let before = scripts(&server);
            let ends = crowd(&store, burst(1), (16, 1), true).await;
            assert!(scripts(&server) - before <= 2, "they went together");
            for (caller, end) in ends.iter().enumerate() {
                match end {
                    // Half of them have nothing left: a refusal writes nothing.
                    Ok(granted) => assert!(caller < 8 && !granted, "{}: {caller}", make.name()),
                    Err(StoreError::Link(error)) => {
                        assert!(
                            caller >= 8 && error.cause() == Cause::OutOfMemory,
                            "{}: {error}",
                            make.name()
                        );
                    }
                    Err(error) => panic!("{}: {error}", make.name()),
                }
            }
            server.tell("CONFIG SET maxmemory 0");
            until("the breaker closes", || store.health().breaker == BreakerState::Closed).await;
            assert_eq!(charged(&store, &burst(1), "key 9").await, 0);
        });
    }
}

#[test]
fn an_error_to_a_whole_group_is_one_failure() {
    run(async {
        let server = Server::started(&[]).await;
        let store = open(server.address());
        // The texts are known, so that nobody asks twice.
        crowd(&store, burst(9), (16, 2), true).await;
        server.tell("CONFIG SET maxmemory 1");
        let before = scripts(&server);
        let failed = crowd(&store, burst(9), (16, 1), true).await;
        let calls = scripts(&server) - before;
        assert!(failed.iter().all(Result::is_err), "{failed:?}");
        // A few calls, and a breaker that opens after five.
        assert!(calls < 5, "they went together");
        assert_eq!(store.health().breaker, BreakerState::Closed);
        for _ in calls..5 {
            assert!(charge(&store, &burst(9), "alone").await.is_err());
        }
        assert_ne!(store.health().breaker, BreakerState::Closed, "the fifth opens it");
    });
}

/// How many bytes go to the server and come back for a group of four that brings its text, first word included.
const THERE: usize = 5_000;
const BACK: usize = 150;

#[test]
fn a_group_that_is_cut_anywhere_is_charged_at_most_once_and_those_who_were_not_charged_are_told() {
    run(async {
        let server = Server::started(&[]).await;
        let proxy = Proxy::start(&server.socket());
        let there = (0..THERE).step_by(41).map(|bytes| Rule { to_server: Some(bytes), ..Rule::default() });
        let back = (0..BACK).map(|bytes| Rule { to_client: Some(bytes), ..Rule::default() });
        let (limit, mut all, mut maybe) = (burst(1_000_000), 0, 0);
        let direct = open(server.address());
        for rule in there.chain(back) {
            let before = charged(&direct, &limit, "hot").await;
            proxy.next(rule);
            let store = open(proxy.address());
            let ends = crowd(&store, limit, (4, 1), false).await;
            // What a server has read it may still be running.
            server.tell("PING");
            let charged = charged(&direct, &limit, "hot").await - before;
            let ran =
                ends.iter().filter(|end| end.as_ref().is_err_and(StoreError::may_have_run)).count() as u64;
            assert!(charged >= granted(&ends), "granted and not charged: {rule:?}");
            assert!(charged <= granted(&ends) + ran, "charged twice, or for nobody: {rule:?}");
            all += granted(&ends);
            maybe += ran;
        }
        assert!(all > 0 && maybe > 0, "{all} granted, {maybe} may have run");
    });
}
