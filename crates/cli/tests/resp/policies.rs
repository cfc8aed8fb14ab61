//! Limits of the policy by name: their numbers, tiers, modes and permits.

use std::sync::Arc;

use tollgate::{Clock, Limiter, Micros};
use tollgate_engine::PolicyLimits;
use tollgate_policy::Policy;

use super::support::Served;

const POLICY: &str = "
tollgate: 1
limits:
  logins:
    algorithm: token_bucket
    capacity: 3
    refill_rate: 0.1
    tier_overrides:
      platform: { capacity: 20, refill_rate: 1 }
  tried:
    algorithm: fixed_window
    limit: 1
    window: 1m
    mode: shadow
  reports:
    algorithm: concurrency
    limit: 1
    max_hold: 30s
routes:
  - { path: /login, rate_limit: [{ use: logins }, { use: tried }, { use: reports }] }
";

fn served() -> Served {
    let clock = Clock::manual(Micros::from_secs(1_000_000));
    let limiter = Limiter::builder().clock(clock.clock()).build().unwrap();
    let policy = Policy::parse("tollgate.yaml", POLICY).unwrap_or_else(|refused| panic!("{refused:?}"));
    let limits = Arc::new(PolicyLimits::new(limiter.clone(), Arc::new(policy), None));
    Served::of(limiter, clock, |endpoint| endpoint.with_policy(Arc::new(move || Some(Arc::clone(&limits)))))
}

#[test]
fn a_limit_is_found_by_its_name_and_its_tiers_share_the_key() {
    let served = served();
    let mut client = served.client();
    client.ask("HELLO 3");
    let said = client.said("TG.CHECK NAMED ada logins COST 2");
    assert!(
        said.starts_with("{granted: true, charged: 2, limit: 3, remaining: 1, reset_ms: 20000"),
        "{said}"
    );
    let said = client.said("TG.PEEK NAMED ada logins TIER platform");
    assert!(said.contains("limit: 20, remaining: 18"), "{said}");
    assert!(client.said("TG.CHECK NAMED ada logins COST 2").starts_with("{granted: false"));
    assert_eq!(client.said("TG.RESET NAMED ada logins"), "1");
    for (command, error) in [
        ("TG.CHECK NAMED ada nothing", "-ERR the policy has no limit named 'nothing'"),
        ("TG.CHECK NAMED ada logins TIER gold", "-ERR the limit has no tier 'gold'"),
        ("TG.CHECK NAMED ada reports", "-ERR 'reports' limits what is in progress: use TG.ACQUIRE"),
        ("TG.ACQUIRE NAMED ada logins", "-ERR the limit has no permits: use TG.CHECK"),
        ("TG.ACQUIRE NAMED ada reports TTL 31", "-ERR TTL is longer than the policy's max_hold of 30 s"),
    ] {
        let said = client.said(command);
        assert!(said.starts_with(error), "{command}: {said}");
    }
}

#[test]
fn a_limit_in_shadow_mode_refuses_nobody_and_says_that_it_would() {
    let served = served();
    let mut client = served.client();
    client.ask("HELLO 3");
    let first = client.said("TG.CHECK NAMED ada tried");
    assert!(
        first.starts_with("{granted: true, charged: 1") && first.contains("shadow_refused: false"),
        "{first}"
    );
    let second = client.said("TG.CHECK NAMED ada tried");
    assert!(
        second.starts_with("{granted: true, charged: 0") && second.contains("shadow_refused: true"),
        "{second}"
    );
}

#[test]
fn a_concurrency_limit_gives_permits() {
    let served = served();
    let mut client = served.client();
    client.ask("HELLO 3");
    let said = client.said("TG.ACQUIRE NAMED ada reports");
    assert!(said.starts_with("{granted: true, limit: 1, in_flight: 1"), "{said}");
    assert!(client.said("TG.ACQUIRE NAMED ada reports").starts_with("{granted: false"));
    assert_eq!(client.said("TG.INSPECT NAMED ada reports"), "{limit: 1, in_flight: 1}");
    assert!(client.said("TG.ACQUIRE NAMED bob reports").starts_with("{granted: true"));
}
