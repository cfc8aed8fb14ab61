//! A check of a known client allocates nothing when nothing has to be refunded: an allocator that counts says so.
#![cfg(test)]

use std::net::IpAddr;
use std::sync::Arc;

use tollgate::Limiter;
use tollgate_engine::{Enforcer, Outcome, PolicyLimits, RequestHead, Rule, Rules, Scratch};
use tollgate_policy::Policy;
use tollgate_testing::allocations::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn check(enforcer: &Arc<Enforcer>, scratch: &mut Scratch) {
    check_from(IpAddr::from([203, 0, 113, 9]), enforcer, scratch);
}

fn check_from(peer: IpAddr, enforcer: &Arc<Enforcer>, scratch: &mut Scratch) {
    let headers = http::HeaderMap::new();
    let head = RequestHead::new("GET", "/reports/7", &headers).with_peer(peer);
    assert!(matches!(enforcer.try_check(&head, scratch), Ok(Outcome::Admitted(_))));
}

/// One or two limits are the usual; the statuses of more are in one allocation.
#[test]
fn a_request_that_matches_many_limits_allocates_at_most_once() {
    assert!(allocations(|| drop(vec![1])) > 0, "it counts");
    let limits = (0..10).map(|number| {
        format!("  - {{ name: l{number}, algorithm: token_bucket, capacity: 1000000, refill_rate: 1 }}")
    });
    let limits: Vec<String> = limits.collect();
    for (many, most) in [(1, 0), (2, 0), (4, 100), (5, 200), (10, 300)] {
        let limits = limits[..many].join("\n");
        let text = format!("tollgate: 1\nrate_limit:\n{limits}\nroutes: [{{ path: '/reports/{{id}}' }}]\n");
        let policy = Arc::new(Policy::parse("tollgate.yaml", &text).unwrap());
        for non_refundable in [false, true] {
            let limits = PolicyLimits::new(Limiter::new().unwrap(), Arc::clone(&policy), None);
            let enforcer =
                Arc::new(Enforcer::from(if non_refundable { limits.non_refundable() } else { limits }));
            let mut scratch = Scratch::default();
            (0..2).for_each(|_| check(&enforcer, &mut scratch));
            let count = allocations(|| (0..100).for_each(|_| check(&enforcer, &mut scratch)));
            assert!(count <= most, "{count} for {many} limits, for good: {non_refundable}");
        }
    }
}

#[test]
fn rules_allocate_nothing() {
    let limit = tollgate::Limit::per_second(1_000_000).burst(1_000_000).unwrap();
    let rules =
        [Rule::new("a", limit), Rule::new("b", limit).keyed_by(tollgate_engine::KeyExtractor::everyone())];
    let enforcer = Arc::new(Enforcer::from(Rules::new(Limiter::new().unwrap(), rules).unwrap()));
    let mut scratch = Scratch::default();
    (0..2).for_each(|_| check(&enforcer, &mut scratch));
    assert_eq!(allocations(|| (0..100).for_each(|_| check(&enforcer, &mut scratch))), 0);
    // Over IPv6, an address is charged together with the network around it.
    let rules = Rules::new(Limiter::new().unwrap(), [Rule::new("a", limit)]).unwrap();
    let (enforcer, peer) = (Arc::new(Enforcer::from(rules)), "2001:db8::1".parse().unwrap());
    (0..2).for_each(|_| check_from(peer, &enforcer, &mut scratch));
    assert_eq!(allocations(|| (0..100).for_each(|_| check_from(peer, &enforcer, &mut scratch))), 0);
}
