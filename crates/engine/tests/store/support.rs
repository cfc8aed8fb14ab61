//! A server, a runtime for its connections, and limiters on it as if of several processes. No assertions of its own.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tollgate::{Limit, Limiter, Micros, Verdict};
use tollgate_engine::{Enforcer, Outcome, PolicyLimits, RequestHead, Scratch};
use tollgate_redis::{Naming, Settings, Store};
use tollgate_twins::server::{Make, Server};

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

    /// A limiter as of another process. Its time budget is long: on a busy machine a quick server can be late.
    pub(crate) fn limiter(&self) -> Limiter {
        let _entered = self.runtime.enter();
        let address = format!("unix://{}", self.server.socket().display()).parse().expect("an address");
        let settings =
            Settings { budget: Duration::from_secs(10), breaker_failures: 2, ..Settings::default() };
        let store = Store::open(address, settings).expect("a store");
        Limiter::builder().store(store, Naming::new([7; 16])).build().expect("a limiter")
    }

    /// The outcome of a request of one client, and the decisions of its limits.
    pub(crate) fn check(&self, enforcer: &Arc<Enforcer>, head: &RequestHead<'_>) -> Verdict {
        let mut scratch = Scratch::default();
        let outcome =
            self.runtime.block_on(enforcer.check(head, &mut scratch)).expect("the request is right");
        let verdict = scratch.verdict().expect("it is limited").clone();
        assert!(!verdict.is_degraded(), "{verdict:?}");
        assert_eq!(verdict.is_granted(), matches!(outcome, Outcome::Admitted(_)), "{outcome:?}");
        verdict
    }
}

/// An enforcer of a policy.
pub(crate) fn enforcer(limits: PolicyLimits) -> Arc<Enforcer> {
    Arc::new(limits.into())
}

/// So many, and hardly any more.
pub(crate) fn many(burst: u64) -> Limit {
    Limit::token_bucket(burst, 1, Micros::DAY).expect("a limit")
}
