//! Any request against a policy that reads everything: refused, or charged under keys that can be read back.
#![no_main]

use std::sync::OnceLock;

use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use tollgate_policy::{Hits, Matched, Policy, Request, Scratch, key};

const POLICY: &str = "
tollgate: 1
unmatched: forward
trusted_proxies: { networks: [127.0.0.0/8], header: Forwarded }
tiers: { from: 'header:X-Tier' }
rate_limit:
  - { name: a, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ['header:X-A + cookie:c', 'query:q', 'jwt_unverified:sub', api_key, ip] }
  - { name: b, algorithm: gcra, capacity: 5, refill_rate: 1, address_ceiling: 3, repeated_key: address, cost: { query: n, max: 5 }, tier_overrides: { x: none } }
routes:
  - { path: '/a/{x}.json' }
  - { path: '/a/{x}/{rest*}', host: '*.example.org' }
  - { path: /a/b, methods: [GET], headers: { X-B: 'yes' } }
";

fn policy() -> &'static Policy {
    static ONE: OnceLock<Policy> = OnceLock::new();
    ONE.get_or_init(|| Policy::parse("fuzz.yaml", POLICY).expect("it is right"))
}

// The first line is method and target; the others are headers.
fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let Some(Ok(first)) = lines.next().map(std::str::from_utf8) else { return };
    let (method, target) = first.split_once(' ').unwrap_or(("GET", first));
    let mut headers = HeaderMap::new();
    for line in lines.take(50) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or(&[]);
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    let peer = std::net::Ipv4Addr::LOCALHOST.into();
    let request = Request { method, target, headers: &headers, authority: None, peer, now: Default::default() };
    let (mut scratch, mut hits) = (Scratch::default(), Hits::default());
    let policy = policy();
    let Ok(facts) = policy.facts(&request, &mut scratch) else { return };
    let matched = policy.matched(&facts);
    assert!(!matches!(matched, Matched::Unmatched { .. }), "everything is forwarded");
    if policy.hits(&facts, matched, None, &mut hits).is_err() {
        assert!(hits.charges().is_empty());
        return;
    }
    assert!(hits.charges().iter().any(|charge| charge.limit == 0), "nobody is not limited");
    for charge in hits.charges() {
        assert!(charge.cost <= 5);
        let parts: Vec<_> = key::parts(hits.key(charge)).expect("a key").map(|part| part.to_string()).collect();
        assert!(!parts.is_empty() && parts.iter().all(|part| !part.contains(|char: char| char.is_control())));
    }
});
