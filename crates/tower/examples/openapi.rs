//! An axum service whose limits are in its OpenAPI document: what each operation costs whom. The clock is moved by hand.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::routing::{get, post};
use axum::{Router, response::Response};
use http::Request;
use tollgate::{Clock, Limiter, Micros};
use tollgate_tower::{Peer, Policy, PolicyLimits, TollgateLayer};
use tower::ServiceExt;

const DOCUMENT: &str = "
openapi: 3.1.0
info: { title: Reports, version: '1' }
x-rate-limit: { name: default, algorithm: token_bucket, capacity: 100, refill_rate: 10 }
paths:
  /reports/{id}:
    get: { operationId: getReport }
  /reports/generate:
    post:
      operationId: generateReport
      x-rate-limit:
        name: reports
        algorithm: token_bucket
        capacity: 2
        refill_rate: 0.1
        description: Reports are expensive to make.
";

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).build()?;
    let policy = Arc::new(Policy::parse("openapi.yaml", DOCUMENT)?);
    let limits = PolicyLimits::new(limiter, policy, None);
    let app: Router = Router::new()
        .route("/reports/{id}", get(|| async { "a report" }))
        .route("/reports/generate", post(|| async { "a new report" }))
        .layer(TollgateLayer::new(limits));

    for (method, path) in
        [("GET", "/reports/7"), ("POST", "/reports/generate"), ("POST", "/reports/generate")]
    {
        println!("{method} {path}: {}", told(send(&app, method, path).await?).await?);
    }
    let refused = send(&app, "POST", "/reports/generate").await?;
    println!("POST /reports/generate: {}", told(refused).await?);
    clock.advance(Duration::from_secs(10));
    println!("ten seconds later: {}", told(send(&app, "POST", "/reports/generate").await?).await?);
    Ok(())
}

/// Sends a request of one client.
async fn send(app: &Router, method: &str, path: &str) -> Result<Response, Box<dyn std::error::Error>> {
    let mut request = Request::builder().method(method).uri(path).body(Body::empty())?;
    request.extensions_mut().insert(Peer("203.0.113.9".parse()?));
    Ok(app.clone().oneshot(request).await?)
}

/// A response in a few lines.
async fn told(response: Response) -> Result<String, Box<dyn std::error::Error>> {
    let field = |name: &str| Some(format!("{name}: {}\n  ", response.headers().get(name)?.to_str().ok()?));
    let fields: String =
        ["retry-after", "ratelimit-policy", "ratelimit"].into_iter().filter_map(field).collect();
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 10_000).await?;
    Ok(format!("{status}\n  {fields}{}", String::from_utf8_lossy(&body)))
}
