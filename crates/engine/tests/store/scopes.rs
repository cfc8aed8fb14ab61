//! A policy states for each limit where it is counted.

use std::sync::Arc;

use tollgate::Source;
use tollgate_engine::{PolicyLimits, RequestHead};
use tollgate_policy::Policy;

use crate::support::{World, enforcer};

#[test]
fn a_policy_says_of_each_limit_where_it_is_counted() {
    let world = World::new();
    let policy = Policy::parse(
        "tollgate.yaml",
        "
tollgate: 1
routes:
  - path: /shared
    rate_limit: { name: shared, algorithm: token_bucket, capacity: 3, refill_rate: 1 per day }
  - path: /local
    rate_limit: { name: local, algorithm: token_bucket, capacity: 3, refill_rate: 1 per day, scope: local }
",
    )
    .expect("a policy");
    let policy = Arc::new(policy);
    let enforcers = [(); 2].map(|()| enforcer(PolicyLimits::new(world.limiter(), Arc::clone(&policy), None)));
    assert!(enforcers[0].waits());
    let headers = http::HeaderMap::new();
    let granted = |target: &str| {
        let head = RequestHead::new("GET", target, &headers).with_peer("203.0.113.9".parse().unwrap());
        let asked = (0..8).map(|turn| {
            let verdict = world.check(&enforcers[turn % 2], &head);
            assert_eq!(verdict.results()[0].source(), Source::Own);
            verdict.is_granted()
        });
        asked.filter(|granted| *granted).count()
    };
    assert_eq!((granted("/shared"), granted("/local")), (3, 6));
}
