//! Two services on one store: the namespace of a policy keeps their limits apart.

use std::sync::Arc;

use http::HeaderMap;
use tollgate::{Gate, Limiter, Micros, StoreFails};
use tollgate_policy::{Hits, Policy, Request, Scratch};

use crate::support::{World, many};

/// A document whose only limit stands at the root and has no name.
fn document(title: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{ title: {title}, version: '1' }}\n\
         x-rate-limit: {{ algorithm: token_bucket, capacity: 3, refill_rate: 1 per day }}\npaths: {{ /a: {{ get: {{}} }} }}\n"
    )
}

fn gate(limiter: &Limiter, name: &str, text: &str) -> Gate {
    let policy = Policy::parse(name, text).expect("the policy is right");
    Gate::new(limiter.clone(), Arc::new(policy), None)
}

/// How many of ten requests of one client are granted.
fn granted(gate: &Gate) -> usize {
    let headers = HeaderMap::new();
    let request = Request {
        method: "GET",
        target: "/a",
        headers: &headers,
        authority: None,
        peer: "203.0.113.9".parse().expect("an address"),
        now: Micros::ZERO,
    };
    let (mut scratch, mut hits) = (Scratch::default(), Hits::default());
    let facts = gate.policy().facts(&request, &mut scratch).expect("the request is right");
    let granted = |_: &usize| {
        let verdict =
            gate.check(&facts, &mut hits).expect("the request is right").verdict.expect("it is limited");
        assert!(!verdict.degraded(), "{verdict:?}");
        verdict.granted()
    };
    (0..10).filter(granted).count()
}

#[test]
fn two_services_with_a_limit_of_one_name_do_not_share_it() {
    let world = World::new();
    let limiter = || world.limiter();
    let orders = gate(&limiter(), "openapi.yaml", &document("Orders API"));
    let invoices = gate(&limiter(), "openapi.yaml", &document("Invoices API"));
    assert_eq!((orders.namespace(), invoices.namespace()), ("orders-api", "invoices-api"));
    assert_eq!((granted(&orders), granted(&invoices)), (3, 3));
    // Another process of the same service shares it.
    assert_eq!(granted(&gate(&limiter(), "other.yaml", &document("Orders  api"))), 0);
    // A title that changes is another namespace, unless it is said which one.
    let renamed = gate(&limiter(), "openapi.yaml", &document("Order service"));
    assert_eq!(granted(&renamed), 3);
    assert_eq!(granted(&renamed.in_namespace("orders-api")), 0);
}

#[test]
fn a_tollgate_file_says_its_namespace() {
    let world = World::new();
    let limits = "rate_limit: { algorithm: token_bucket, capacity: 3, refill_rate: 1 per day }\nroutes: [{ path: /a }]";
    let file = |serve: &str| format!("tollgate: 1\n{limits}\n{serve}");
    let of = |serve: &str| gate(&world.limiter(), "tollgate.yaml", &file(serve));
    let orders = of("serve: { store: { namespace: orders } }");
    assert_eq!((orders.namespace(), granted(&orders)), ("orders", 3));
    // Neither a title nor a namespace: as before there were any.
    let none = of("");
    assert_eq!((none.namespace(), granted(&none)), ("", 3));
    assert_eq!(granted(&of("serve: { store: { namespace: title } }")), 0);
}

#[test]
fn a_limit_of_a_namespace_is_inspected_in_it() {
    let world = World::new();
    let limiter = world.limiter();
    let fails = StoreFails::Deny;
    let limit = limiter.shared_limit_in("orders", "login", many(5), fails);
    assert!(limiter.try_charge(&[limit.hit("ada").cost(2)]).unwrap().granted());
    let left = |limit| limiter.try_inspect(&limit, "ada").unwrap().decision.remaining;
    assert_eq!(left(limiter.shared_limit_in("orders", "login", many(5), fails)), 3);
    assert_eq!(left(limiter.shared_limit_in("invoices", "login", many(5), fails)), 5);
    assert_eq!(left(limiter.shared_limit("login", many(5), fails)), 5);
}
