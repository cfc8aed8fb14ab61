//! How many calls a second one link carries, beside `redis-benchmark` with the same script. Figures, not limits.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Link, Settings};

use crate::load::{COUNT, Load, count};
use crate::server::Server;
use crate::support::run;

/// How long each figure is taken.
const SPAN: Duration = Duration::from_millis(500);

/// Calls a second by a link with so many connections and callers.
async fn link(server: &Server, connections: usize, callers: usize) -> u128 {
    let settings = Settings { connections, budget: Duration::from_secs(5), ..Settings::default() };
    let link = Link::open(server.address(), settings).unwrap();
    link.call(&count("a")).await.unwrap();
    let load = Load::start(&link, callers, "load");
    load.answered(1000).await;
    let (start, before) = (Instant::now(), link.health().answered);
    tokio::time::sleep(SPAN).await;
    let (took, calls) = (start.elapsed(), link.health().answered - before);
    load.stop().await;
    u128::from(calls) * 1_000_000 / took.as_micros()
}

/// Calls a second by the client library's own multiplexing, each with our budget: what the link is built instead of.
async fn client_library(server: &Server, callers: usize) -> u128 {
    let client = redis::Client::open(format!("unix://{}", server.socket().display())).unwrap();
    let config =
        redis::AsyncConnectionConfig::new().set_response_timeout(None).set_pipeline_buffer_size(4096);
    let connection = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
    let name = count("library").names[0].to_string();
    let answered = Arc::new(AtomicU64::new(0));
    let caller = |_| {
        let (mut connection, name, answered) = (connection.clone(), name.clone(), Arc::clone(&answered));
        tokio::spawn(async move {
            loop {
                let mut command = redis::cmd("EVALSHA");
                command.arg(&COUNT.digest).arg(1).arg(&name).arg(1);
                let call = command.query_async::<i64>(&mut connection);
                tokio::time::timeout(Duration::from_secs(5), call).await.unwrap().unwrap();
                answered.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let callers: Vec<_> = (0..callers).map(caller).collect();
    let (start, before) = (Instant::now(), answered.load(Ordering::Relaxed));
    tokio::time::sleep(SPAN).await;
    let (took, calls) = (start.elapsed(), answered.load(Ordering::Relaxed) - before);
    callers.iter().for_each(tokio::task::JoinHandle::abort);
    u128::from(calls) * 1_000_000 / took.as_micros()
}

/// Calls a second by `redis-benchmark` with so many connections, as it says.
fn benchmark(server: &Server, connections: usize) -> u128 {
    let name = count("benchmark").names[0].to_string();
    let (socket, connections) = (server.socket().display().to_string(), connections.to_string());
    let output = Command::new("redis-benchmark")
        .args(["-s", &socket, "-c", &connections, "-n", "40000", "--csv"])
        .args(["evalsha", &COUNT.digest, "1", &name, "1"])
        .output();
    let output = output.expect("`redis-benchmark` is installed").stdout;
    let line = String::from_utf8_lossy(&output).lines().last().unwrap_or_default().to_owned();
    let rate = line.split(',').nth(1).unwrap_or_default().trim_matches('"');
    rate.split('.').next().unwrap_or_default().parse().expect("a rate")
}

/// So many rounds in turn, of which each contestant's best counts: whatever else the machine does only makes it slower.
const ROUNDS: usize = 5;

/// Prints it for some numbers of callers. To be run alone, by `taskset -c 1`: the server takes core 0.
pub(crate) fn calls_per_second() {
    run(async {
        let server = Server::started(&["--appendonly", "no"]).await;
        let pinned = Command::new("taskset").args(["-cp", "0", &server.pid()]).output();
        assert!(pinned.expect("`taskset` is installed").status.success(), "the server has a core of its own");
        server.tell_words(&["SCRIPT", "LOAD", &COUNT.text]).unwrap();
        for callers in [1, 8, 64, 512] {
            let mut best = [0; 4];
            for _ in 0..ROUNDS {
                let rates = [
                    benchmark(&server, callers),
                    client_library(&server, callers).await,
                    link(&server, 1, callers).await,
                    link(&server, 2, callers).await,
                ];
                best.iter_mut().zip(rates).for_each(|(best, rate)| *best = rate.max(*best));
            }
            let [benchmark, library, one, two] = best;
            println!(
                "{callers} in flight: redis-benchmark {benchmark}, client library {library}, link {one}, with two \
                 connections {two} calls a second"
            );
        }
    });
}
