//! A key of a policy is found in the store by its parts, by whoever knows them: what an operator does who looks after a client.

use std::sync::Arc;

use http::HeaderMap;
use tollgate::{Gate, Limiter, Micros};
use tollgate_http::address::{Client, Prefixes};
use tollgate_policy::key::{Kind, push};
use tollgate_policy::{Hits, Policy, Request, Scratch};

use crate::support::{World, many};

const POLICY: &str = "
tollgate: 1
rate_limit:
  - { name: tenants, algorithm: token_bucket, capacity: 10, refill_rate: 1 per day, consumer_key: 'header:X-Tenant + ip' }
  - { name: reports, algorithm: token_bucket, capacity: 5, refill_rate: 1 per day, consumer_key: ip, counted: per_operation }
routes: [{ path: '/reports/{id}' }]
";

/// Charges one request through a gate, and says what its limits have left.
fn charge(limiter: &Limiter, tenant: &str, peer: &str) -> Vec<u64> {
    let policy = Policy::parse("policy.yaml", POLICY).expect("the policy is right");
    let gate = Gate::new(limiter.clone(), Arc::new(policy), None);
    let mut headers = HeaderMap::new();
    headers.insert("x-tenant", tenant.parse().expect("a field's value"));
    let request = Request {
        method: "GET",
        target: "/reports/7",
        headers: &headers,
        authority: None,
        peer: peer.parse().expect("an address"),
        now: Micros::ZERO,
    };
    let (mut scratch, mut hits) = (Scratch::default(), Hits::default());
    let facts = gate.policy().facts(&request, &mut scratch).expect("the request is right");
    let verdict =
        gate.check(&facts, &mut hits).expect("the request is right").verdict.expect("it is limited");
    assert!(verdict.granted() && !verdict.degraded(), "{verdict:?}");
    verdict.answers().iter().map(|answer| answer.decision().remaining).collect()
}

#[test]
fn a_key_that_a_gate_charged_is_inspected_by_its_parts_from_another_process() {
    let world = World::new();
    let (one, other) = (world.limiter(), world.limiter());
    assert_eq!(charge(&one, "blue", "203.0.113.9"), [9, 4]);
    assert_eq!(charge(&one, "blue", "203.0.113.9"), [8, 3]);
    assert_eq!(charge(&one, "red", "203.0.113.9"), [9, 2]);
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
