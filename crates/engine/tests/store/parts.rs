//! A key of a policy is found in the store by its parts, by whoever knows them: what an operator does who looks after a client.

use std::sync::Arc;

use http::HeaderMap;
use tollgate::Limiter;
use tollgate_engine::{PolicyLimits, RequestHead};
use tollgate_http::address::{Client, Prefixes};
use tollgate_policy::Policy;
use tollgate_policy::key::{Kind, push};

use crate::support::{World, enforcer, many};

const POLICY: &str = "
tollgate: 1
rate_limit:
  - { name: tenants, algorithm: token_bucket, capacity: 10, refill_rate: 1 per day, consumer_key: 'header:X-Tenant + ip' }
  - { name: reports, algorithm: token_bucket, capacity: 5, refill_rate: 1 per day, consumer_key: ip, counted: per_operation }
routes: [{ path: '/reports/{id}' }]
";

/// Charges one request, and returns what its limits have left.
fn charge(world: &World, limiter: &Limiter, tenant: &str) -> Vec<u64> {
    let policy = Policy::parse("policy.yaml", POLICY).expect("the policy is right");
    let enforcer = enforcer(PolicyLimits::new(limiter.clone(), Arc::new(policy), None));
    let mut headers = HeaderMap::new();
    headers.insert("x-tenant", tenant.parse().expect("a field's value"));
    let peer = "203.0.113.9".parse().expect("an address");
    let verdict = world.check(&enforcer, &RequestHead::new("GET", "/reports/7", &headers).with_peer(peer));
    verdict.results().iter().map(|answer| answer.decision().remaining).collect()
}

#[test]
fn a_key_that_a_policy_charged_is_inspected_by_its_parts_from_another_process() {
    let world = World::new();
    let (one, other) = (world.limiter(), world.limiter());
    assert_eq!(charge(&world, &one, "blue"), [9, 4]);
    assert_eq!(charge(&world, &one, "blue"), [8, 3]);
    assert_eq!(charge(&world, &one, "red"), [9, 2]);
    let address = Client::of("203.0.113.9".parse().unwrap(), &Prefixes::default()).key_bytes();
    let tenant_at = |tenant: &str| {
        let mut key = Vec::new();
        push(&mut key, Kind::Header("x-tenant"), tenant.as_bytes());
        push(&mut key, Kind::Address, &address);
        key
    };
    let mut reports = Vec::new();
    push(&mut reports, Kind::Operation, b"* /reports/{id}");
    push(&mut reports, Kind::Address, &address);
    // By the limit's name and numbers, and the parts in the order of the policy.
    let asked = [
        ("tenants", 10, tenant_at("blue"), 8, true),
        ("tenants", 10, tenant_at("red"), 9, true),
        ("tenants", 10, tenant_at("green"), 10, false),
        ("reports", 5, reports, 2, true),
        ("reports", 5, tenant_at("blue"), 5, false),
    ];
    for (name, burst, key, left, known) in asked {
        let found = other.try_inspect(&other.limit(name, many(burst)), &key).unwrap();
        assert_eq!((found.decision.remaining, found.known), (left, known), "{name}");
    }
}
