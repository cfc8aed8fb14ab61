//! How many calls a second one link carries, beside `redis-benchmark` with the same script. Figures, not limits.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Link, Settings};

use crate::load::{COUNT, Load, count};
use crate::run;
use crate::server::Server;

/// How long each figure is taken.
const SPAN: Duration = Duration::from_secs(2);

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

/// Calls a second by `redis-benchmark`, as it says.
fn benchmark(server: &Server, connections: &str, pipelined: &str) -> String {
    let name = count("benchmark").names[0].to_string();
    let socket = server.socket().display().to_string();
    let arguments = ["-s", &socket, "-c", connections, "-P", pipelined, "-n", "200000", "--csv"];
    let output = Command::new("redis-benchmark")
        .args(arguments)
        .args(["evalsha", &COUNT.digest, "1", &name, "1"])
        .output();
    let output = output.expect("`redis-benchmark` is installed").stdout;
    let line = String::from_utf8_lossy(&output).lines().last().unwrap_or_default().to_owned();
    line.split(',').nth(1).unwrap_or_default().trim_matches('"').to_owned()
}

#[test]
#[ignore = "a measurement: run it alone, by `taskset -c 1`; the server takes core 0"]
fn calls_per_second() {
    run(async {
        let server = Server::started(&["--appendonly", "no"]).await;
        server.pin("0");
        server.tell_words(&["SCRIPT", "LOAD", &COUNT.text]).unwrap();
        for (connections, pipelined) in [("1", "1"), ("64", "1"), ("512", "1"), ("1", "64")] {
            let rate = benchmark(&server, connections, pipelined);
            println!("redis-benchmark -c {connections} -P {pipelined}: {rate} calls a second");
        }
        for callers in [1, 8, 64, 512] {
            let rate = client_library(&server, callers).await;
            println!("the client library, {callers} callers: {rate} calls a second");
        }
        for connections in [1, 2] {
            for callers in [1, 8, 64, 512] {
                let rate = link(&server, connections, callers).await;
                println!("{connections} connections, {callers} callers: {rate} calls a second");
            }
        }
    });
}
