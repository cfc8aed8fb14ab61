//! A request is matched and charged without allocating: an allocator that counts says so.
#![cfg(test)]

use tollgate_http::path::normalise;
use tollgate_policy::router::{LenientSearch, Router, RouterBuilder};
use tollgate_policy::template::{Tail, Template};
use tollgate_policy::{Hits, Policy, Request, Scratch};
use tollgate_testing::allocations::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn router() -> Router {
    let mut builder = RouterBuilder::new();
    let texts = ["/login", "/a/{x}/b", "/a/{x}.json", "/a/{x}-{y}.json", "/{x}/c/b", "/files/{rest*}"];
    for text in texts {
        builder.add(&Template::parse(text, Tail::Allowed).unwrap()).unwrap();
    }
    builder.build(LenientSearch::Yes).unwrap()
}

#[test]
fn a_path_is_normalised_and_found_without_allocating() {
    assert!(allocations(|| drop(vec![1])) > 0, "it counts");
    let router = router();
    let mut buffer = String::new();
    let paths = [
        ("/login", Some(0)),
        ("/%6cogin", Some(0)),
        ("/x/../LOGIN;y/", Some(0)),
        ("/a/c/b", Some(1)),
        ("/a/b-c.json", Some(3)),
        ("/a/c/d", None),
        ("/b/./c/b", Some(4)),
        ("/files/a/b/c/caf%c3%a9", Some(5)),
        ("/a%2fb", None),
    ];
    let mut ask = || {
        for (path, expected) in paths {
            let found = normalise(path, &mut buffer)
                .ok()
                .and_then(|path| router.find(path, Some).or_else(|| router.find_loosely(path, Some)));
            assert_eq!(found, expected, "{path}");
        }
    };
    // The buffer grows once.
    ask();
    assert_eq!(allocations(|| (0..100).for_each(|_| ask())), 0);
}

/// A whole request, from its bytes to its hits, with limits of several kinds: everything that is needed is used again.
#[test]
fn a_request_becomes_hits_without_allocating() {
    let policy = Policy::parse(
        "t.yaml",
        "
tollgate: 1
addresses: { ipv6_wide_prefix: 48 }
trusted_proxies: { networks: [10.0.0.0/8], header: X-Forwarded-For }
tiers: { from: 'header:X-Tier', default: free }
rate_limit:
  - { name: a, algorithm: gcra, capacity: 5, refill_rate: 1, address_ceiling: 3, counted: per_operation, tier_overrides: { gold: { capacity: 9 } } }
  - { name: b, algorithm: fixed_window, limit: 5, window: 1m, consumer_key: ['query:q + cookie:c', ip], cost: { header: X-Cost, max: 9 } }
routes: [{ path: '/a/{x}/b', host: '*.example.org' }, { path: '/files/{rest*}', headers: { X-Mode: full } }]
",
    )
    .unwrap();
    let mut headers = http::HeaderMap::new();
    for (name, value) in [
        ("host", "API.example.org"),
        ("x-api-key", "a key"),
        ("x-forwarded-for", "1.1.1.1, 2001:db8::7"),
        ("x-tier", "gold"),
        ("x-mode", "full"),
        ("x-cost", "3"),
        ("cookie", "b=a; c=d"),
    ] {
        headers.insert(name, value.parse().unwrap());
    }
    let (mut scratch, mut hits) = (Scratch::default(), Hits::default());
    let mut ask = || {
        for (target, charges) in [("/a/%41/b?q=%71", 4), ("/files/x/../y?x=1", 5)] {
            let peer = std::net::Ipv4Addr::new(10, 0, 0, 1).into();
            let now = tollgate_algorithms::Micros::ZERO;
            let request = Request { method: "GET", target, headers: &headers, authority: None, peer, now };
            let facts = policy.facts(&request, &mut scratch).unwrap();
            let matched = policy.matched(&facts);
            policy.hits(&facts, matched, None, &mut hits).unwrap();
            assert_eq!(hits.charges().len(), charges, "{target}");
        }
    };
    ask();
    assert_eq!(allocations(&mut ask), 0);
}
