//! How many calls a second one link carries, beside `redis-benchmark`. Figures, not limits.

use std::time::Duration;

use tokio::time::Instant;
use tollgate_redis::{Link, Settings};

use crate::load::{Load, count};
use crate::run;
use crate::server::Server;

#[test]
#[ignore = "a measurement: pin the server and this on a core each, and compare with redis-benchmark"]
fn calls_per_second() {
    run(async {
        let server = Server::started(&["--appendonly", "no"]).await;
        if let Some(core) = option_env!("TOLLGATE_SERVER_CORE") {
            println!("the server runs on core {core}");
        }
        for connections in [1, 2] {
            for callers in [1, 8, 64, 512] {
                let settings =
                    Settings { connections, budget: Duration::from_secs(5), ..Settings::default() };
                let link = Link::open(server.address(), settings).unwrap();
                link.call(&count("a")).await.unwrap();
                let load = Load::start(&link, callers, "load");
                load.answered(1000).await;
                let (start, before) = (Instant::now(), link.health().answered);
                tokio::time::sleep(Duration::from_secs(2)).await;
                let (took, calls) = (start.elapsed(), link.health().answered - before);
                load.stop().await;
                let rate = u128::from(calls) * 1_000_000 / took.as_micros();
                println!("{connections} connections, {callers} callers: {rate} calls a second");
            }
        }
    });
}
