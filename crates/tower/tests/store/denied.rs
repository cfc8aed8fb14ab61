//! An upstream that denies identities, with limits in a real Redis: processes share what an address owes, and each knows its own part.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http::{Request, StatusCode};
use tollgate::{FailureRule, Limiter};
use tollgate_http::address::{Client, Prefixes};
use tollgate_policy::key::{Kind, push};
use tollgate_tower::{Enforcer, KeyExtractor, Rule, Rules, TollgateLayer};

use crate::support::{LONG, PEER, limiter, limits, many, run, server};

const POLICY: &str = "
tollgate: 1
routes:
  - path: /login
    rate_limit: { name: login, algorithm: token_bucket, capacity: 5, refill_rate: 1 per day, consumer_key: 'header:X-User' }
";

/// A service that denies everybody.
fn denies(enforcer: impl Into<Enforcer>) -> Router {
    let layer = TollgateLayer::new(enforcer).with_peer(PEER);
    Router::new().fallback(get(|| async { StatusCode::UNAUTHORIZED })).layer(layer)
}

async fn claim(app: &Router, user: &str) -> u16 {
    use tower::ServiceExt;
    let request = Request::get("/login").header("x-user", user).body(Body::empty()).expect("a request");
    app.clone().oneshot(request).await.expect("it cannot fail").status().as_u16()
}

async fn claims(app: &Router, times: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for time in 0..times {
        statuses.push(claim(app, &format!("u{time}")).await);
    }
    statuses
}

/// What the store says the address has left.
async fn left(limiter: &Limiter) -> u64 {
    let limit = limiter.shared_limit("login", many(5), FailureRule::Deny);
    let mut key = Vec::new();
    push(&mut key, Kind::Address, &Client::of(PEER, &Prefixes::default()).key_bytes());
    limiter.inspect(&limit, &key).await.expect("the store answers").decision.remaining
}

#[test]
fn processes_share_what_an_address_owes() {
    let server = server();
    run(async {
        let (one, other) = (limiter(&server, LONG), limiter(&server, LONG));
        let first = denies(limits(&one, POLICY));
        assert_eq!(claims(&first, 7).await, [401, 401, 401, 401, 401, 429, 429]);
        // The store is told in the background.
        while left(&one).await > 0 {
            tokio::task::yield_now().await;
        }
        // Another process has to see a 401 of that address before it asks the store about it.
        let second = denies(limits(&other, POLICY));
        assert_eq!(claims(&second, 3).await, [401, 429, 429]);
    });
}

#[test]
fn limits_written_in_rust_do_the_same() {
    let server = server();
    run(async {
        let limiter = limiter(&server, LONG);
        let rule = Rule::new("login", many(5))
            .keyed_by(KeyExtractor::header(http::HeaderName::from_static("x-user")));
        let app = denies(Rules::new(limiter, [rule]).expect("rules"));
        assert_eq!(claims(&app, 7).await, [401, 401, 401, 401, 401, 429, 429]);
    });
}

#[test]
fn without_the_store_a_process_goes_by_what_it_saw_itself() {
    let server = server();
    run(async {
        let limiter = limiter(&server, Duration::from_millis(100));
        let app = denies(limits(&limiter, POLICY));
        assert_eq!(claims(&app, 2).await, [401, 401]);
        server.signal("STOP").expect("it is frozen");
        assert_eq!(claims(&app, 5).await, [401, 401, 401, 429, 429]);
        server.signal("CONT").expect("it runs again");
    });
}

/// Who forgets an address forgets what this process counted of it, too.
#[test]
fn an_address_that_is_reset_may_claim_again() {
    let server = server();
    run(async {
        let limiter = limiter(&server, LONG);
        let app = denies(limits(&limiter, POLICY));
        assert_eq!(claims(&app, 6).await, [401, 401, 401, 401, 401, 429]);
        while left(&limiter).await > 0 {
            tokio::task::yield_now().await;
        }
        let mut key = Vec::new();
        push(&mut key, Kind::Address, &Client::of(PEER, &Prefixes::default()).key_bytes());
        let limit = limiter.shared_limit("login", many(5), FailureRule::Deny);
        limiter.reset(&limit, &key).await.expect("the store answers");
        assert_eq!(claim(&app, "u0").await, 401);
    });
}
