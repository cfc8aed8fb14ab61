//! A server, limiters on it as if of several processes, and a service behind the layer. No assertions of its own.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use axum::routing::get;
use http::{HeaderMap, Request};
use tollgate::{Limit, Limiter, Micros};
use tollgate_policy::Policy;
use tollgate_redis::{Naming, Settings, Store};
use tollgate_tower::{Admitted, Enforcer, PolicyLimits, ResponseConfig, TollgateLayer};
use tollgate_twins::server::{Make, Server};
use tower::ServiceExt;

/// Who is asking.
pub(crate) const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9));
/// On a busy machine a quick server can be late.
pub(crate) const LONG: Duration = Duration::from_secs(10);

pub(crate) fn server() -> Server {
    Server::start(Make::Redis7, &[]).expect("redis-server runs")
}

/// Runs something on the only thread of a runtime: whoever blocks it stops everything.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

/// A limiter as of another process, within the runtime.
pub(crate) fn limiter(server: &Server, budget: Duration) -> Limiter {
    let address = format!("unix://{}", server.socket().display()).parse().expect("an address");
    let settings = Settings { budget, breaker_failures: 2, ..Settings::default() };
    let store = Store::open(address, settings).expect("a store");
    Limiter::builder().store(store, Naming::new([7; 16])).build().expect("a limiter")
}

/// The limits of a policy.
pub(crate) fn limits(limiter: &Limiter, text: &str) -> PolicyLimits {
    let policy = Policy::parse("t.yaml", text).expect("a policy");
    PolicyLimits::new(limiter.clone(), Arc::new(policy), None)
}

/// So many, and hardly any more.
pub(crate) fn many(burst: u64) -> Limit {
    Limit::token_bucket(burst, 1, Micros::DAY).expect("a limit")
}

/// A service behind limits. Its handlers say by what each limit was decided, settle, or give back; and each has a word of its
/// own about being degraded, which is not for clients.
pub(crate) fn app(enforcer: impl Into<Enforcer>) -> Router {
    app_with(enforcer, ResponseConfig::default())
}

/// The same, with responses of another form.
pub(crate) fn app_with(enforcer: impl Into<Enforcer>, config: ResponseConfig) -> Router {
    let said = |admitted: &Admitted| {
        let sources: Vec<_> = admitted.limits().map(|standing| standing.source).collect();
        ([("tollgate-degraded", "theirs")], format!("{} {sources:?}", admitted.is_degraded())).into_response()
    };
    Router::new()
        .route("/settle", get(|admitted: Admitted| async { admitted.settle(3).to_string() }))
        .route("/only", get(|admitted: Admitted| async move { admitted.settle_limit("far", 5).to_string() }))
        .route("/refund", get(|admitted: Admitted| async { admitted.refund().to_string() }))
        .fallback(get(move |admitted: Admitted| async move { said(&admitted) }))
        .layer(TollgateLayer::new(enforcer).with_peer(PEER).with_responses(config))
}

/// An answer, read.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Told {
    /// A field's only line.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let lines: Vec<_> = self.headers.get_all(name).iter().collect();
        assert!(lines.len() < 2, "{name}: {lines:?}");
        lines.first().map(|line| line.to_str().expect("it is ASCII"))
    }
}

pub(crate) async fn ask(app: Router, target: &str) -> Told {
    let request = Request::get(target).body(Body::empty()).expect("a request");
    let (parts, body) = app.oneshot(request).await.expect("it cannot fail").into_parts();
    let body = axum::body::to_bytes(body, 10_000).await.expect("it is short");
    let body = String::from_utf8(body.to_vec()).expect("it is text");
    Told { status: parts.status.as_u16(), headers: parts.headers, body }
}
