//! A server, a runtime for its connections, and limiters on it as if of several processes. No assertions of its own.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate::{Limit, Limiter, Micros};
use tollgate_redis::{Naming, Settings, Store};
use tollgate_twins::server::{Make, Server, connect};

/// A server that runs, and the runtime in which connections to it live.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) runtime: Runtime,
}

impl World {
    pub(crate) fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let server = Server::start(Make::Redis7, &[]).expect("redis-server runs");
        Self { server, runtime }
    }

    /// A connection as of an operator.
    pub(crate) fn connect(&self) -> redis::Connection {
        connect(&self.server).expect("a connection")
    }

    /// A limiter as of another process. Its budget is long: on a busy machine a quick server can be late.
    pub(crate) fn limiter(&self) -> Limiter {
        self.limiter_within(Duration::from_secs(10))
    }

    pub(crate) fn limiter_within(&self, budget: Duration) -> Limiter {
        self.limiter_as("", budget)
    }

    /// A limiter whose address has this at its end.
    pub(crate) fn limiter_as(&self, user: &str, budget: Duration) -> Limiter {
        let _entered = self.runtime.enter();
        let address = format!("unix://{}{user}", self.server.socket().display()).parse().expect("an address");
        let settings = Settings { budget, breaker_failures: 2, ..Settings::default() };
        let store = Store::open(address, settings).expect("a store");
        Limiter::builder().reservations_max(2).store(store, Naming::new([7; 16])).build().expect("a limiter")
    }
}

/// So many, and hardly any more.
pub(crate) fn many(burst: u64) -> Limit {
    Limit::token_bucket(burst, 1, Micros::DAY).expect("a limit")
}
