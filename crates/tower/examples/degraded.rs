//! A service whose limits are counted in Redis, while there is none: what each rule answers, and what clients are told. No server.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};

use axum::body::Body;
use axum::{Router, routing::get};
use http::Request;
use tollgate::redis::{Naming, Settings, Store};
use tollgate::{FailureRule, Limit, Limiter, Micros};
use tollgate_tower::{Admitted, ResponseConfig, Rule, Rules, TollgateLayer};
use tower::ServiceExt;

/// A limit of four a day, and what holds while the store gives no decision.
fn app(limiter: Limiter, fails: FailureRule) -> Result<Router, Box<dyn std::error::Error>> {
    let rule = Rule::new("per client", Limit::token_bucket(4, 1, Micros::DAY)?).when_store_fails(fails);
    let answers = ResponseConfig { degraded: true, ..ResponseConfig::default() };
    let limits = TollgateLayer::new(Rules::new(limiter, [rule])?).with_responses(answers);
    let handler = |admitted: Admitted| async move { format!("degraded: {}", admitted.is_degraded()) };
    Ok(Router::new().route("/", get(handler)).layer(limits.with_peer(IpAddr::V4(Ipv4Addr::LOCALHOST))))
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A service of your own would say `redis://…`, and has a secret of its own. It starts also while the server is away.
    let store = Store::open("unix:///nonexistent/redis.sock".parse()?, Settings::default())?;
    let limiter = Limiter::builder().store(store, Naming::new([7; 16])).build()?;
    let rules = [FailureRule::Allow, FailureRule::Deny, FailureRule::Local { share: 1, of: 2 }];
    for fails in rules {
        println!("{fails:?}");
        let app = app(limiter.clone(), fails)?;
        for _ in 0..3 {
            println!("  {}", asked(app.clone()).await?);
        }
    }
    Ok(())
}

/// What comes back: the status, the field, and what the handler said.
async fn asked(app: Router) -> Result<String, Box<dyn std::error::Error>> {
    let Ok(response): Result<_, Infallible> = app.oneshot(Request::new(Body::empty())).await;
    let (parts, body) = response.into_parts();
    let field = parts.headers.get("tollgate-degraded").map_or(Ok("-"), |value| value.to_str())?;
    let body = axum::body::to_bytes(body, 10_000).await?;
    let said = if parts.status.is_success() { String::from_utf8_lossy(&body) } else { "".into() };
    Ok(format!("{} Tollgate-Degraded: {field} {said}", parts.status.as_u16()).trim_end().to_owned())
}
