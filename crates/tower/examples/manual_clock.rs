//! How a service with limits is tested: its clock is moved by hand, so that a test of an hour takes no time. No socket.

use std::time::Duration;

use axum::body::Body;
use axum::{Router, routing::get};
use http::{Request, Response};
use tollgate::{Clock, Limit, Limiter, ManualClock, Micros};
use tollgate_tower::{Rule, Rules, TollgateLayer};
use tower::ServiceExt;

type Failure = Box<dyn std::error::Error>;

/// What is tested: the service takes its limiter from outside, as it takes all that reads a clock.
fn app(limiter: Limiter) -> Result<Router, Failure> {
    let per_client = Rule::new("per client", Limit::token_bucket(2, 2, Micros::from_secs(3_600))?);
    let limits = TollgateLayer::new(Rules::new(limiter, [per_client])?).with_peer("203.0.113.9".parse()?);
    Ok(Router::new().route("/", get(|| async { "hello" })).layer(limits))
}

/// What every test begins with.
fn at_noon() -> Result<(Router, ManualClock), Failure> {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let app = app(Limiter::builder().clock(clock.clock()).build()?)?;
    Ok((app, clock))
}

async fn ask(app: &Router) -> Result<Response<Body>, Failure> {
    Ok(app.clone().oneshot(Request::get("/").body(Body::empty())?).await?)
}

/// The test. In a service of your own it stands under `#[tokio::test]`.
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn who_waits_as_long_as_told_is_let_through() -> Result<(), Failure> {
    let (app, clock) = at_noon()?;
    for _ in 0..2 {
        assert_eq!(ask(&app).await?.status(), 200);
    }
    let refused = ask(&app).await?;
    assert_eq!(refused.status(), 429);
    let wait: u64 = refused.headers()["retry-after"].to_str()?.parse()?;
    println!("two are granted, and the third is to wait {wait} s");

    clock.advance(Duration::from_secs(wait - 1));
    assert_eq!(ask(&app).await?.status(), 429, "a second too early");
    clock.advance(Duration::from_secs(1));
    assert_eq!(ask(&app).await?.status(), 200);
    println!("a second earlier it is refused, and then granted");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    who_waits_as_long_as_told_is_let_through().await
}
