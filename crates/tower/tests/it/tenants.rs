//! Rules that compute the numbers for each request: a tenant's plan, changed at any time, with what the tenant has used.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use tollgate::{Limit, Limiter, Micros};
use tollgate_tower::{KeyExtractor, Rule, RuleKey, Rules, TollgateLayer};

use crate::support::{PEER, Told, limiter, request, run, send};

/// Inserted by middleware that knows who is asking.
#[derive(Clone)]
struct Tenant(&'static str);

type Plans = Arc<Mutex<HashMap<&'static str, Limit>>>;

fn bucket(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, 1, Micros::SECOND).expect("it fits")
}

fn layer(limiter: &Limiter, plans: &Plans) -> TollgateLayer {
    let plans = Arc::clone(plans);
    let per_tenant = Rule::new("per tenant", bucket(2))
        .keyed_by(KeyExtractor::from_fn(|head| Some(head.extension::<Tenant>()?.0)))
        .limit_for(move |head| {
            let plans = plans.lock().expect("nobody panicked");
            plans.get(head.extension::<Tenant>()?.0).copied()
        });
    TollgateLayer::new(Rules::new(limiter.clone(), [per_tenant]).expect("a rule")).with_peer(PEER)
}

fn of(tenant: &'static str) -> Request<()> {
    let mut request = request("GET", "/", &[]);
    request.extensions_mut().insert(Tenant(tenant));
    request
}

/// What the headers say of the limit: quota, window, remaining.
fn numbers(told: &Told) -> [i64; 3] {
    let [quota, window] = ["q", "w"].map(|key| told.parameter("ratelimit-policy", key));
    [quota, window, told.parameter("ratelimit", "r")]
}

#[test]
fn each_tenant_has_numbers_of_its_own_and_headers_show_them() {
    let (limiter, clock) = limiter();
    let plans: Plans = Arc::new(Mutex::new(HashMap::from([("gold", bucket(10)), ("tin", bucket(1))])));
    let layer = layer(&limiter, &plans);
    assert_eq!(numbers(&send(&layer, of("gold"))), [10, 10, 9]);
    assert_eq!(numbers(&send(&layer, of("tin"))), [1, 1, 0]);
    assert_eq!(numbers(&send(&layer, of("other"))), [2, 2, 1], "the rule's own");
    let refused = send(&layer, of("tin"));
    assert_eq!((refused.status, numbers(&refused)), (429, [1, 1, 0]));
    assert_eq!(refused.problem()["policies"][0]["limit"], 1);
    assert_eq!(refused.number("x-ratelimit-limit"), 1);
    clock.advance(Duration::from_secs(refused.number("retry-after")));
    assert_eq!(send(&layer, of("tin")).status, 200);
}

#[test]
fn a_tenant_that_changes_plans_keeps_what_it_has_used() {
    let (limiter, _) = limiter();
    let plans: Plans = Arc::default();
    let layer = layer(&limiter, &plans);
    let plan = |limit| plans.lock().expect("nobody panicked").insert("a", limit);
    assert_eq!([1, 0].map(|_| numbers(&send(&layer, of("a")))[2]), [1, 0]);
    plan(bucket(10));
    assert_eq!(numbers(&send(&layer, of("a"))), [10, 10, 7], "three of ten are used");
    // The handle inspects the key under the numbers that it is asked for.
    let handle = layer.handle();
    let key = RuleKey::from("a").with_limit(bucket(10));
    assert_eq!(run(handle.inspect("per tenant", key)).expect("a key").decision.remaining, 7);
    plan(Limit::Unlimited);
    for _ in 0..20 {
        let told = send(&layer, of("a"));
        assert_eq!((told.status, told.field("ratelimit"), told.field("x-ratelimit-limit")), (200, "", ""));
    }
    // Nothing at all: a suspended tenant.
    plan(bucket(0));
    assert_eq!(send(&layer, of("a")).status, 403);
}
