//! Two services on one store: the namespace of a policy keeps their limits apart.

use std::sync::Arc;

use http::HeaderMap;
use tollgate::{FailureRule, Limiter};
use tollgate_engine::{PolicyLimits, RequestHead};
use tollgate_policy::Policy;

use crate::support::{World, enforcer, many};

/// A document whose only limit stands at the root and has no name.
fn document(title: &str) -> String {
    format!(
        "openapi: 3.1.0\ninfo: {{ title: {title}, version: '1' }}\n\
         x-rate-limit: {{ algorithm: token_bucket, capacity: 3, refill_rate: 1 per day }}\npaths: {{ /a: {{ get: {{}} }} }}\n"
    )
}

fn limits(limiter: &Limiter, name: &str, text: &str) -> PolicyLimits {
    let policy = Policy::parse(name, text).expect("the policy is right");
    PolicyLimits::new(limiter.clone(), Arc::new(policy), None)
}

/// How many of ten requests of one client are granted.
fn granted(world: &World, limits: PolicyLimits) -> usize {
    let (headers, enforcer) = (HeaderMap::new(), enforcer(limits));
    let head = RequestHead::new("GET", "/a", &headers).with_peer("203.0.113.9".parse().expect("an address"));
    (0..10).filter(|_| world.check(&enforcer, &head).is_granted()).count()
}

#[test]
fn two_services_with_a_limit_of_one_name_do_not_share_it() {
    let world = World::new();
    let limiter = || world.limiter();
    let of = |name: &str, title: &str| limits(&limiter(), name, &document(title));
    let (orders, invoices) = (of("openapi.yaml", "Orders API"), of("openapi.yaml", "Invoices API"));
    assert_eq!((orders.namespace(), invoices.namespace()), ("orders-api", "invoices-api"));
    assert_eq!((granted(&world, orders), granted(&world, invoices)), (3, 3));
    // Another process of the same service shares it.
    assert_eq!(granted(&world, of("other.yaml", "Orders  api")), 0);
    // A title that changes is another namespace, unless it is said which one.
    assert_eq!(granted(&world, of("openapi.yaml", "Order service")), 3);
    assert_eq!(granted(&world, of("openapi.yaml", "Order service").in_namespace("orders-api")), 0);
}

#[test]
fn a_tollgate_file_says_its_namespace() {
    let world = World::new();
    let rate_limit = "rate_limit: { algorithm: token_bucket, capacity: 3, refill_rate: 1 per day }\nroutes: [{ path: /a }]";
    let file = |serve: &str| format!("tollgate: 1\n{rate_limit}\n{serve}");
    let of = |serve: &str| limits(&world.limiter(), "tollgate.yaml", &file(serve));
    let orders = of("serve: { store: { namespace: orders } }");
    assert_eq!(orders.namespace(), "orders");
    assert_eq!(granted(&world, orders), 3);
    // Neither a title nor a namespace: as before there were any.
    let none = of("");
    assert_eq!(none.namespace(), "");
    assert_eq!(granted(&world, none), 3);
    assert_eq!(granted(&world, of("serve: { store: { namespace: title } }")), 0);
}

#[test]
fn a_limit_of_a_namespace_is_inspected_in_it() {
    let world = World::new();
    let limiter = world.limiter();
    let fails = FailureRule::Deny;
    let limit = limiter.shared_limit_in("orders", "login", many(5), fails);
    assert!(limiter.try_charge(&[limit.hit("ada").cost(2)]).unwrap().is_granted());
    let left = |limit| limiter.try_inspect(&limit, "ada").unwrap().decision.remaining;
    assert_eq!(left(limiter.shared_limit_in("orders", "login", many(5), fails)), 3);
    assert_eq!(left(limiter.shared_limit_in("invoices", "login", many(5), fails)), 5);
    assert_eq!(left(limiter.shared_limit("login", many(5), fails)), 5);
}
