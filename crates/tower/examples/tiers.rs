//! An axum service with tiers, and a handler that settles what its work took. The clock stands still.

use std::sync::Arc;

use axum::body::Body;
use axum::{Router, routing::post};
use http::Request;
use tollgate::{Clock, Limiter, Micros};
use tollgate_tower::{Admitted, Policy, PolicyLimits, TollgateLayer};
use tower::ServiceExt;

/// The proxy in front verifies who is asking, and says the tier; only its word is taken for it.
const POLICY: &str = "
tollgate: 1
trusted_proxies: { networks: [203.0.113.0/24], header: X-Forwarded-For }
tiers: { from: 'header:X-Tier', names: [free, gold], default: free }
routes:
  - path: /complete
    rate_limit:
      name: tokens
      algorithm: token_bucket
      capacity: 100
      refill_rate: 1
      consumer_key: 'header:X-User'
      cost: 20
      tier_overrides: { gold: { capacity: 1000, refill_rate: 10 } }
";

/// Twenty tokens are charged beforehand; in the end it took fewer.
async fn complete(admitted: Admitted) -> String {
    let tier = admitted.tier().unwrap_or("no tier").to_owned();
    let left = admitted.binding_limit().map_or(0, |limit| limit.remaining());
    admitted.settle_limit("tokens", 5);
    format!("tier {tier}, {left} left while it was made")
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it is what an example is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).build()?;
    let policy = Arc::new(Policy::parse("tollgate.yaml", POLICY)?);
    let limits = PolicyLimits::new(limiter, policy, None);
    let limits = TollgateLayer::new(limits).with_peer("203.0.113.9".parse()?);
    let app: Router = Router::new().route("/complete", post(complete)).layer(limits);

    for (user, tier) in [("ada", "gold"), ("ada", "gold"), ("bob", "free"), ("bob", "free")] {
        let request = Request::post("/complete").header("x-user", user).header("x-tier", tier);
        let response = app.clone().oneshot(request.body(Body::empty())?).await?;
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 10_000).await?;
        println!("{user} ({tier}): {status}, {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}
