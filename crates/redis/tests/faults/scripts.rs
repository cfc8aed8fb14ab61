//! Scripts that the server has forgotten, calls that share round trips, and bounds on what is in flight.

use std::time::Duration;

use tollgate_redis::{BreakerState, Cause, Link, LinkError, Settings};

use crate::figures::Play;
use crate::load::{Load, count, counted, wrong};
use crate::server::Server;
use crate::silent::emptied;
use crate::support::{run, until};

fn patient() -> Settings {
    Settings { budget: Duration::from_secs(10), ..Settings::default() }
}

#[test]
fn the_text_of_a_forgotten_script_is_brought_once_for_all_that_wait() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        link.call(&count("a")).await.unwrap();
        server.tell("SCRIPT FLUSH");
        let texts = |server: &Server| server.info("cmdstat_eval");
        let before = texts(&server);
        let calls: Vec<_> = (0..1000)
            .map(|_| {
                let link = link.clone();
                tokio::spawn(async move { link.call(&count("a")).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        let calls =
            |line: &str| line.split(',').next().unwrap().trim_start_matches("calls=").parse::<u64>().unwrap();
        let brought = calls(&texts(&server)) - calls(&before);
        assert!((1..=20).contains(&brought), "the text was brought {brought} times for 1000 calls");
        assert_eq!(counted(&server, "a"), 1001);
    });
}

#[test]
fn a_thousand_calls_share_round_trips() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        link.call(&count("a")).await.unwrap();
        let reads = || server.info("total_reads_processed").parse::<u64>().unwrap();
        let before = reads();
        let calls: Vec<_> = (0..1000)
            .map(|_| {
                let link = link.clone();
                tokio::spawn(async move { link.call(&count("a")).await })
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        let took = reads() - before;
        assert!(took <= 50, "the server read {took} times for 1000 calls");
    });
}

#[test]
fn data_that_is_gone_is_no_error() {
    run(async {
        let figures = emptied(&Play::quick()).await;
        println!("{figures}");
        assert!(figures.samples.iter().all(|sample| sample.end.is_ok()));
        assert_eq!(figures.wrong, 0, "{figures}");
    });
}

#[test]
fn beyond_the_bound_calls_end_at_once_and_nothing_else_is_kept() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { in_flight_max: 10, stall_timeout: Duration::from_secs(10), ..patient() };
        let link =
            Link::open(server.address(), Settings { budget: Duration::from_secs(1), ..settings }).unwrap();
        link.call(&count("a")).await.unwrap();
        server.freeze();
        let calls: Vec<_> = (0..30)
            .map(|_| {
                let link = link.clone();
                tokio::spawn(async move { link.call(&count("a")).await.map(drop) })
            })
            .collect();
        until("the first calls are in flight", || link.health().in_flight == 10).await;
        let mut ends = Vec::new();
        for call in calls {
            ends.push(call.await.unwrap());
            assert!(link.health().in_flight <= 10);
        }
        let count_of = |end: &Result<(), LinkError>| ends.iter().filter(|other| *other == end).count();
        assert_eq!(count_of(&Err(LinkError::TooManyInFlight)), 20);
        assert_eq!(count_of(&Err(LinkError::Timeout { sent: true })), 10);
        // Their callers have gone; they count until the server has answered or the connection is closed.
        assert_eq!(link.health().in_flight, 10);
        server.thaw();
        until("nothing is in flight", || link.health().in_flight == 0).await;
        assert_eq!(
            counted(&server, "a"),
            11,
            "charged although the caller was told of a timeout, as it was told"
        );
    });
}

#[test]
fn a_caller_that_goes_away_leaves_nothing_behind() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        link.call(&count("a")).await.unwrap();
        for _ in 0..100 {
            let gone = tokio::spawn({
                let link = link.clone();
                async move { link.call(&count("a")).await }
            });
            tokio::task::yield_now().await;
            gone.abort();
        }
        until("nothing is in flight", || link.health().in_flight == 0).await;
        assert_eq!(link.health().breaker, BreakerState::Closed);
        assert!(counted(&server, "a") <= 101);
    });
}

#[test]
fn several_connections_share_the_calls_and_count_right() {
    run(async {
        let server = Server::started(&[]).await;
        let settings = Settings { connections: 3, ..patient() };
        let link = Link::open(server.address(), settings).unwrap();
        let load = Load::start(&link, 16, "load");
        load.answered(2000).await;
        until("all are made", || link.health().connections == 3).await;
        load.answered(100).await;
        let samples = load.stop().await;
        assert_eq!(wrong(&samples, &[counted(&server, "load")]), 0);
        assert!(samples.iter().all(|sample| sample.end.is_ok()));
    });
}

#[test]
fn threads_with_runtimes_of_their_own_share_one_link() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let link = link.clone();
                let thread = move || {
                    run(async {
                        let load = Load::start(&link, 16, "load");
                        load.answered(3000).await;
                        load.stop().await
                    })
                };
                tokio::task::spawn_blocking(thread)
            })
            .collect();
        let mut samples = Vec::new();
        for thread in threads {
            samples.extend(thread.await.unwrap());
        }
        assert!(samples.iter().all(|sample| sample.end.is_ok()));
        assert_eq!(wrong(&samples, &[counted(&server, "load")]), 0);
        assert_eq!(link.health().in_flight, 0);
    });
}

#[test]
fn a_link_that_is_dropped_closes_its_connections() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        link.call(&count("a")).await.unwrap();
        let clients = || server.info("connected_clients").parse::<u64>().unwrap();
        assert_eq!(clients(), 2, "ours and the operator's");
        drop(link.clone());
        link.call(&count("a")).await.unwrap();
        drop(link);
        until("it is gone", || clients() == 1).await;
    });
}

#[test]
fn a_key_that_holds_something_else_harms_nobody_else() {
    run(async {
        let server = Server::started(&[]).await;
        let link = Link::open(server.address(), patient()).unwrap();
        server.tell(&format!("LPUSH {} x", count("bad").names[0]));
        for _ in 0..50 {
            assert_eq!(link.call(&count("bad")).await.unwrap_err().cause(), Cause::WrongType);
        }
        assert!(link.call(&count("good")).await.is_ok());
        let health = link.health();
        assert_eq!(health.breaker, BreakerState::Closed);
        assert_eq!(
            health.failed.iter().find(|(cause, _)| *cause == Cause::WrongType),
            Some(&(Cause::WrongType, 50))
        );
    });
}
