//! An axum service with three limits (by address, by API key and by organisation) that are charged together, and its own 429.

use axum::body::Body;
use axum::{Router, routing::get};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Request};
use tollgate::{Clock, Limit, Limiter, Micros};
use tollgate_tower::{KeyExtractor, Rule, Rules, TollgateLayer};
use tower::ServiceExt;

/// Inserted into the request by the middleware that verifies API keys.
#[derive(Clone)]
struct Organisation(&'static str);

fn app(limiter: Limiter) -> Result<Router, Box<dyn std::error::Error>> {
    let rules = [
        Rule::new("address", Limit::per_minute(60).burst(60)?),
        Rule::new("key", Limit::per_minute(10).burst(2)?)
            .keyed_by(KeyExtractor::header(HeaderName::from_static("x-api-key"))),
        Rule::new("organisation", Limit::per_minute(20).burst(3)?)
            .keyed_by(KeyExtractor::from_fn(|head| Some(head.extension::<Organisation>()?.0))),
    ];
    let limits = TollgateLayer::new(Rules::new(limiter, rules)?)
        .with_peer("203.0.113.9".parse()?) // a server states it: see the front page
        .on_refusal(|refusal, mut response| {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response.map(|_| format!(r#"{{"error":"slow down","limit":"{}"}}"#, refusal.limit().name()))
        });
    Ok(Router::new().route("/", get(|| async { "hello" })).layer(limits))
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The clock stands still, so that what is printed is always the same. A service of your own has `Limiter::new()`.
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let app = app(Limiter::builder().clock(clock.clock()).build()?)?;
    for key in ["ada", "ada", "ada", "bob", "bob"] {
        let request = Request::get("/").header("x-api-key", key).extension(Organisation("acme"));
        let response = app.clone().oneshot(request.body(Body::empty())?).await?;
        let (parts, body) = response.into_parts();
        let wait = parts.headers.get("retry-after").map_or(Ok(""), |wait| wait.to_str())?;
        let body = String::from_utf8(axum::body::to_bytes(body, 1_000).await?.to_vec())?;
        println!("{key}: {} {body} {wait}", parts.status.as_u16());
    }
    Ok(())
}
