//! Two processes behind one load balancer that share a limit in Redis. Here they are two routers, and a server is started.

use axum::body::Body;
use axum::{Router, routing::get};
use http::Request;
use tollgate::redis::{Naming, Settings, Store};
use tollgate::{Limit, Limiter, Micros};
use tollgate_tower::{Rule, Rules, TollgateLayer};
use tollgate_twins::server::{Make, Server};
use tower::ServiceExt;

/// What each process does. `redis` is an address such as `redis://127.0.0.1:6379`.
fn app(redis: &str) -> Result<Router, Box<dyn std::error::Error>> {
    let store = Store::open(redis.parse()?, Settings::default())?;
    // All processes that share the limits have the same secret, from which the names of keys are made.
    let limiter = Limiter::builder().store(store, Naming::of_secret(b"the same in all processes")).build()?;
    let per_client = Rule::new("per client", Limit::token_bucket(3, 1, Micros::DAY)?);
    let limits = TollgateLayer::new(Rules::new(limiter, [per_client])?).with_peer("203.0.113.9".parse()?);
    Ok(Router::new().route("/", get(|| async { "hello" })).layer(limits))
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(Make::Redis7, &[])?;
    let redis = format!("unix://{}", server.socket().display());
    let (one, other) = (app(&redis)?, app(&redis)?);
    for (name, app) in [("one", &one), ("other", &other), ("one", &one), ("other", &other)] {
        let response = app.clone().oneshot(Request::new(Body::empty())).await?;
        let remaining = response.headers()["x-ratelimit-remaining"].to_str()?;
        println!("{name}: {}, {remaining} remaining", response.status());
    }
    Ok(())
}
