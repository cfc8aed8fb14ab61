//! Adaptive limits and priorities over real sockets: by route, by upstream, by who asks.

use std::net::{SocketAddr, TcpStream};

use tollgate_cli::settings::{Settings, UpstreamLimit};
use tollgate_policy::numbers::MethodName;
use tollgate_testing::patience::until;

use crate::in_progress::{Upstream, read_head, write};
use crate::support::{PATIENCE, Rig, field, status};

const POLICY: &str = "
openapi: 3.1.0
info: { title: Test, version: '1' }
x-tollgate:
  trusted_proxies: { networks: [127.0.0.0/8], header: X-Forwarded-For }
  tiers: { from: 'header:X-Tier' }
  priorities: { header: X-Priority, critical: [gold], low: [free] }
paths:
  /one: { get: { x-rate-limit: { name: one, algorithm: adaptive, max: 1 } } }
  /two: { get: { x-rate-limit: { name: two, algorithm: adaptive, max: 1, busy_status: 429, consumer_key: 'header:X-Key' } } }
  /hold: { get: { x-rate-limit: { name: hold, algorithm: adaptive, max: 1, max_hold: 100ms } } }
  /shadow: { get: { x-rate-limit: { name: seen, algorithm: adaptive, max: 1, mode: shadow } } }
  /few: { get: { x-rate-limit: { name: few, algorithm: concurrency, limit: 4, scope: local, consumer_key: everyone } } }
  /health: { get: { x-priority: critical, x-rate-limit: { name: few, algorithm: concurrency, limit: 4, scope: local, consumer_key: everyone } } }
  /charged: { get: { x-rate-limit: { name: charged, algorithm: token_bucket, capacity: 5, refill_rate: 0.001, consumer_key: everyone } } }
  /free: { get: {} }
";

fn rig(upstream: SocketAddr, change: impl FnOnce(&mut Settings)) -> Rig {
    Rig::new(POLICY, upstream, |settings| {
        settings.operations = Some(([127, 0, 0, 1], 0).into());
        change(settings);
    })
}

/// A request that reaches the upstream and waits there.
fn begin(rig: &Rig, upstream: &Upstream, path: &str, fields: &str) -> (TcpStream, TcpStream) {
    let mut client = rig.connect();
    write(&mut client, &format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    let server = upstream.accepted.recv_timeout(PATIENCE).expect("it reaches the upstream");
    (client, server)
}

const SOME_OF_A_BODY: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nhe";

#[test]
fn an_adaptive_route_answers_503_until_the_body_has_ended() {
    let upstream = Upstream::new();
    let rig = rig(upstream.address, |_| ());
    let (mut client, mut server) = begin(&rig, &upstream, "/one", "");
    for head_came in [false, true] {
        let refused = rig.get("/one", "");
        assert_eq!((status(&refused), field(&refused, "retry-after")), (503, Some("1")), "{refused}");
        assert!(
            refused.contains("#temporary-reduced-capacity") && refused.contains("(an estimate)"),
            "{refused}"
        );
        assert_eq!(rig.metric("tollgate_limit_in_flight{limit=\"one\"}"), Some(1));
        assert_eq!(rig.metric("tollgate_adaptive_limit{limit=\"one\"}"), Some(1));
        // The second time, its head has come, and its body has not ended.
        if !head_came {
            write(&mut server, SOME_OF_A_BODY);
            assert_eq!(status(&read_head(&mut client)), 200);
        }
    }
    // Each key has a limit of its own, and the policy chooses the status.
    let _ada = begin(&rig, &upstream, "/two", "X-Key: ada\r\n");
    assert_eq!(status(&rig.get("/two", "X-Key: ada\r\n")), 429);
    let _bob = begin(&rig, &upstream, "/two", "X-Key: bob\r\n");
    drop((client, server));
    until("the permit is free", || rig.metric("tollgate_limit_in_flight{limit=\"one\"}") == Some(0));
    let _again = begin(&rig, &upstream, "/one", "");
}

#[test]
fn an_upstream_limit_holds_for_all_requests_and_charges_nothing_for_those_it_refuses() {
    let upstream = Upstream::new();
    let rig = rig(upstream.address, |settings| {
        let method = Some(MethodName::Gradient2);
        settings.upstream.adaptive = UpstreamLimit { method, max: 1, initial: 1, ..UpstreamLimit::default() };
    });
    let held = begin(&rig, &upstream, "/free", "");
    for _ in 0..3 {
        let refused = rig.get("/charged", "");
        assert_eq!(status(&refused), 503, "{refused}");
        assert!(refused.contains("#temporary-reduced-capacity"), "{refused}");
        // How much the upstream can do is nobody's business.
        assert!(!refused.contains("upstream") && !refused.contains("policies\":[{"), "{refused}");
    }
    assert_eq!(rig.metric("tollgate_limit_in_flight{limit=\"upstream\"}"), Some(1));
    drop(held);
    until("the permit is free", || rig.metric("tollgate_limit_in_flight{limit=\"upstream\"}") == Some(0));
    let (mut client, mut server) = begin(&rig, &upstream, "/charged", "");
    write(&mut server, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    let answer = read_head(&mut client);
    assert_eq!(
        field(&answer, "ratelimit").map(|value| value.starts_with("\"charged\";r=4")),
        Some(true),
        "{answer}"
    );
}

#[test]
fn lower_priorities_are_refused_first_with_a_503() {
    let upstream = Upstream::new();
    let rig = rig(upstream.address, |_| ());
    // Of four, low has one, normal two, high three, and critical all.
    let mut held = vec![begin(&rig, &upstream, "/few", "X-Tier: free\r\n")];
    let refused = rig.get("/few", "X-Tier: free\r\n");
    assert_eq!(status(&refused), 503, "{refused}");
    assert!(
        refused.contains("#temporary-reduced-capacity") && refused.contains("(an estimate)"),
        "{refused}"
    );
    assert!(field(&refused, "retry-after").is_some(), "{refused}");
    held.push(begin(&rig, &upstream, "/few", ""));
    assert_eq!(status(&rig.get("/few", "")), 503);
    // What a proxy says counts before the tier, and an unknown word says nothing.
    assert_eq!(status(&rig.get("/few", "X-Tier: gold\r\nX-Priority: low\r\n")), 503);
    assert_eq!(status(&rig.get("/few", "X-Priority: urgent\r\n")), 503);
    held.push(begin(&rig, &upstream, "/few", "X-Priority: high\r\n"));
    held.push(begin(&rig, &upstream, "/few", "X-Tier: gold\r\n"));
    // At the limit itself, it is the limit that refuses.
    assert_eq!(status(&rig.get("/few", "X-Tier: gold\r\n")), 429);
    drop(held.pop());
    until("the permit is free", || rig.metric("tollgate_limit_in_flight{limit=\"few\"}") == Some(3));
    // An operation's own priority counts before all others.
    let _health = begin(&rig, &upstream, "/health", "X-Priority: low\r\n");
}

#[test]
fn a_shadow_limit_refuses_nobody_and_max_hold_cuts_off() {
    let upstream = Upstream::new();
    let rig = rig(upstream.address, |_| ());
    let _two = [begin(&rig, &upstream, "/shadow", ""), begin(&rig, &upstream, "/shadow", "")];
    let (mut client, _server) = begin(&rig, &upstream, "/hold", "");
    assert_eq!(status(&read_head(&mut client)), 504);
    until("the permit is free", || rig.metric("tollgate_limit_in_flight{limit=\"hold\"}") == Some(0));
}
