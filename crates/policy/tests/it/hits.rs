//! Requests and what they are charged: identities, costs, tiers, addresses. Which operation they mean is in `matching.rs`.

use tollgate_policy::consumers::{Loader, LoaderLimits};
use tollgate_policy::{ConsumerIndex, Policy};

use crate::support::{asked, files, keys, openapi, policy, shown, with};

fn directory(policy: &Policy, lines: &str) -> ConsumerIndex {
    let mut loader = Loader::new(LoaderLimits::default());
    loader.feed(lines.as_bytes());
    let consumers = loader.finish().unwrap_or_else(|errors| panic!("{errors:?}"));
    ConsumerIndex::new(consumers, policy).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The SHA-256 of `alpha` and `beta`, as `sha256sum` prints them.
const ALPHA: &str = "8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8";
const BETA: &str = "f44e64e75f3948e9f73f8dfa94721c4ce8cbb4f265c4790c702b2d41cfbf2753";

#[test]
fn who_is_asking_is_told_or_declared() {
    let default = with("");
    assert_eq!(keys(&default, "GET /a X-API-Key: k"), format!("l: {}", shown("api-key", "k")));
    assert_eq!(keys(&default, "GET /a"), "l: address 203.0.113.9");
    // Empty is missing; twice could be read in two ways.
    assert_eq!(keys(&default, "GET /a X-API-Key: "), "l: address 203.0.113.9");
    let twice = "the credential for the limit `l` was sent more than once or is malformed: send one";
    assert_eq!(keys(&default, "GET /a X-API-Key: k | X-API-Key: l"), twice);
    assert_eq!(
        keys(&with("repeated_key: address"), "GET /a X-API-Key: k | X-API-Key: l"),
        "l: address 203.0.113.9"
    );
    assert_eq!(keys(&with("missing_key: anonymous, consumer_key: api_key"), "GET /a"), "l: anonymous");
    let nobody = "the limit `l` requires a credential: send the one that the API documents";
    assert_eq!(keys(&with("missing_key: reject, consumer_key: api_key"), "GET /a"), nobody);
    assert_eq!(keys(&with("consumer_key: everyone"), "GET /a X-API-Key: k"), "l: everyone");
    assert_eq!(keys(&with("consumer_key: ip"), "GET /a X-API-Key: k"), "l: address 203.0.113.9");
    // Joined, all parts have to be there.
    let joined = with("consumer_key: ['header:X-A + header:X-B', 'header:X-A', ip]");
    assert_eq!(keys(&joined, "GET /a X-A: 1 | X-B: 2").matches('+').count(), 1);
    assert_eq!(keys(&joined, "GET /a X-A: 1").matches('+').count(), 0);
    assert_eq!(keys(&joined, "GET /a X-B: 2"), "l: address 203.0.113.9");
}

#[test]
fn different_people_never_share_a_key() {
    let policy = with("consumer_key: ['header:X-A + header:X-B', 'header:X-A', 'cookie:c', 'query:q', ip]");
    let requests = [
        "GET /a X-A: a:b | X-B: c",
        "GET /a X-A: a | X-B: b:c",
        "GET /a X-A: a",
        "GET /a X-A: 203.0.113.9",
        "GET /a Cookie: c=a",
        "GET /a?q=a",
        "GET /a",
    ];
    let mut seen = std::collections::HashSet::new();
    for request in requests {
        assert!(seen.insert(keys(&policy, request)), "{request}: {}", keys(&policy, request));
    }
}

#[test]
fn the_api_key_stands_where_the_security_schemes_say() {
    let policy = policy(&openapi(
        "
components:
  securitySchemes:
    head: { type: apiKey, in: header, name: X-Key }
    query: { type: apiKey, in: query, name: key }
    cookie: { type: apiKey, in: cookie, name: sid }
    other: { type: http, scheme: bearer }
security: [{ head: [] }]
x-rate-limit: { algorithm: gcra, capacity: 5, refill_rate: 1, name: l }
paths:
  /a: { get: {}, put: { security: [{ query: [] }, { cookie: [] }] }, post: { security: [{ other: [] }] } }
",
    ));
    let k = format!("l: {}", shown("api-key", "k"));
    let table = [
        ("GET /a X-Key: k", k.as_str()),
        ("GET /a?key=k", "l: address 203.0.113.9"),
        ("PUT /a?key=k", &k),
        ("PUT /a?key=%6B", &k),
        ("PUT /a Cookie: sid=k", &k),
        ("PUT /a X-Key: k", "l: address 203.0.113.9"),
        ("POST /a Authorization: Bearer k", &k),
        ("POST /a X-Key: k", "l: address 203.0.113.9"),
        ("POST /a?key=k", "l: address 203.0.113.9"),
    ];
    for (request, wanted) in table {
        assert_eq!(keys(&policy, request), wanted, "{request}");
    }
    assert_eq!(keys(&policy, "PUT /a?key=k Cookie: sid=k"), k);
}

/// Schemes that a document asks for at once are one key together; alternatives are not.
#[test]
fn keys_that_are_asked_for_at_once_are_one() {
    let policy = policy(&openapi(
        "
components:
  securitySchemes:
    id: { type: apiKey, in: header, name: app-id }
    key: { type: apiKey, in: header, name: app-key }
security: [{ id: [], key: [] }]
x-rate-limit: { algorithm: gcra, capacity: 5, refill_rate: 1, name: l }
paths: { /a: { get: {} } }
",
    ));
    let both = keys(&policy, "GET /a app-id: i | app-key: k");
    assert_eq!(both.matches("api-key #").count(), 2, "{both}");
    assert_ne!(both, keys(&policy, "GET /a app-id: k | app-key: i"));
    assert_eq!(keys(&policy, "GET /a app-id: i"), "l: address 203.0.113.9");
}

/// A trial must not change an answer.
#[test]
fn a_limit_in_the_shadow_never_refuses_a_request_as_wrong() {
    let shadow =
        with("mode: shadow, missing_key: reject, consumer_key: api_key, cost: { header: X-Items, max: 5 }");
    for request in ["GET /a", "GET /a X-Items: many", "GET /a X-API-Key: k | X-API-Key: l"] {
        let lines = asked(request).lines(&shadow);
        assert!(lines.len() == 1 && lines[0].starts_with("l: address 203.0.113.9 x"), "{request}: {lines:?}");
    }
    assert!(asked("GET /a X-Items: many").lines(&shadow)[0].contains(" x5 "));
}

#[test]
fn a_consumers_file_verifies_names_gives_tiers_and_overrides() {
    let native = "
tollgate: 1
consumers: consumers.csv
tiers: { from: consumers, default: free }
rate_limit:
  - { name: keyed, algorithm: gcra, capacity: 5, refill_rate: 1, tier_overrides: { gold: { capacity: 50 }, staff: none } }
  - { name: team, algorithm: gcra, capacity: 9, refill_rate: 1, consumer_key: organisation }
routes: [{ path: /a }]
";
    let policy = files(&[("t.yaml", native)]).unwrap_or_else(|refused| panic!("{refused}"));
    let lines = format!(
        "key_sha256,consumer,tier,organisation,overrides\n{ALPHA},ada,gold,maths,\"keyed: refill_rate=1 per 10 s\"\n{BETA},bob,staff,,\"team: capacity=99 | keyed: none\"\n"
    );
    let directory = directory(&policy, &lines);
    let hits = |request: &str| asked(request).hits(&policy, Some(&directory)).expect("it is right").1;
    assert_eq!(
        hits("GET /a X-API-Key: alpha"),
        [
            "keyed: consumer ada x1 (50 at once, then 1 per 10 s)",
            "team: organisation maths x1 (9 at once, then 1 per second)"
        ]
    );
    // Bob is staff, which is unlimited; without an organisation, the team's limit goes by address, at Bob's own numbers.
    assert_eq!(
        hits("GET /a X-API-Key: beta"),
        ["team: address 203.0.113.9 x1 (99 at once, then 1 per second)"]
    );
    // An unknown key counts as no key.
    let unknown = [
        "keyed: address 203.0.113.9 x1 (5 at once, then 1 per second)",
        "team: address 203.0.113.9 x1 (9 at once, then 1 per second)",
    ];
    assert_eq!(hits("GET /a X-API-Key: guessed"), unknown);
    assert_eq!(hits("GET /a"), unknown);
}

#[test]
fn overrides_that_mean_nothing_are_pointed_at() {
    let policy = with("");
    let mut loader = Loader::new(LoaderLimits::default());
    let line = format!(
        "key_sha256,consumer,overrides\n{ALPHA},ada,\"x: capacity=1 | l: limit=3 | l: capacity=+5 | l capacity\"\n"
    );
    loader.feed(line.as_bytes());
    let errors = ConsumerIndex::new(loader.finish().expect("the file is right"), &policy)
        .expect_err("the overrides are not");
    let said: Vec<_> = errors.iter().map(|error| format!("{}: {}", error.line, error.message)).collect();
    assert_eq!(
        said,
        [
            "2: there is no limit `x`",
            "2: `l: limit=3`: gcra has no `limit`",
            "2: `capacity=+5` is not a whole number: write `5`",
            "2: `l capacity` is no override: write `LIMIT: capacity=50`",
        ]
    );
}

#[test]
fn costs_are_checked_before_anything_is_charged() {
    let policy = with("cost: { header: X-Cost, max: 4, default: 2 }");
    let cost = |value: &str| asked(&format!("GET /a{value}")).lines(&policy).join("; ");
    assert!(cost("").contains(" x2 "));
    assert!(cost(" X-Cost: 4").contains(" x4 "));
    let wrong = "the cost for the limit `l` must be a whole number from 1 to 4";
    for value in
        ["5", "0", "-1", "nan", "1e3", "0x1", "1.5", "+1", "", "18446744073709551616", "1 | X-Cost: 1"]
    {
        assert_eq!(cost(&format!(" X-Cost: {value}")), wrong, "{value}");
    }
    let policy = with("cost: { operations: json_array, max: 40, max_body: 1 KiB }");
    assert!(
        asked("GET /a").lines(&policy).join("").contains(" x40 "),
        "a body that was not counted costs the most"
    );
}

#[test]
fn a_ceiling_per_address_and_a_wide_prefix_are_charged_beside() {
    let policy = with("address_ceiling: 10");
    let lines = asked("GET /a X-API-Key: k").lines(&policy);
    assert_eq!(lines.len(), 2);
    let ceiling = "l: limit ceiling + address 203.0.113.9 x1 (50 at once, then 10 per second)";
    assert_eq!(lines[1], ceiling);
    // Without a key it counts towards the same.
    assert_eq!(asked("GET /a").lines(&policy)[1], ceiling);

    let wide = files(&[(
        "t.yaml",
        "
tollgate: 1
addresses: { ipv6_prefix: 64, ipv6_wide_prefix: 48, ipv6_wide_multiple: 4 }
rate_limit: { name: l, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ip }
routes: [{ path: /a }]
",
    )])
    .unwrap_or_else(|refused| panic!("{refused}"));
    let from = |peer: &str| asked("GET /a").from(peer).lines(&wide).join("; ");
    assert_eq!(
        from("2001:db8:1:2::3"),
        "l: address 2001:db8:1:2::/64 x1 (5 at once, then 1 per second); \
         l: limit wide + wide address 2001:db8:1::/48 x1 (20 at once, then 4 per second)"
    );
    let one = "l: address 203.0.113.9 x1 (5 at once, then 1 per second)";
    for peer in ["203.0.113.9", "::ffff:203.0.113.9", "::ffff:cb00:7109"] {
        assert_eq!(from(peer), one, "{peer}");
    }
}

#[test]
fn a_forwarded_address_is_believed_from_trusted_proxies_only() {
    let policy = files(&[(
        "t.yaml",
        "
tollgate: 1
trusted_proxies: { networks: [10.0.0.0/8], header: X-Forwarded-For }
tiers: { from: 'header:X-Tier' }
rate_limit: { name: l, algorithm: gcra, capacity: 5, refill_rate: 1, tier_overrides: { gold: { capacity: 50 } } }
routes: [{ path: /a }]
",
    )])
    .unwrap_or_else(|refused| panic!("{refused}"));
    let spoofed = "GET /a X-Forwarded-For: 1.1.1.1, 198.51.100.7 | X-Tier: gold";
    assert_eq!(asked(spoofed).lines(&policy), ["l: address 203.0.113.9 x1 (5 at once, then 1 per second)"]);
    assert_eq!(
        asked(spoofed).from("10.1.2.3").lines(&policy),
        ["l: address 198.51.100.7 x1 (50 at once, then 1 per second)"]
    );
}

/// A ceiling holds for a wide prefix as well, and its keys are nobody else's.
#[test]
fn a_ceiling_has_a_wide_budget_and_keys_of_its_own() {
    let text = "
tollgate: 1
addresses: { ipv6_wide_prefix: 48, ipv6_wide_multiple: 2 }
rate_limit: { name: l, algorithm: gcra, capacity: 5, refill_rate: 1, address_ceiling: 3 }
routes: [{ path: /a }]
";
    let policy = files(&[("t.yaml", text)]).unwrap_or_else(|refused| panic!("{refused}"));
    let lines = asked("GET /a X-API-Key: k").from("2001:db8:1:2::3").lines(&policy);
    assert_eq!(
        lines[1..],
        [
            "l: limit ceiling + address 2001:db8:1:2::/64 x1 (15 at once, then 3 per second)",
            "l: limit wide ceiling + wide address 2001:db8:1::/48 x1 (30 at once, then 6 per second)",
        ]
    );
}

#[test]
fn routes_that_differ_in_more_than_their_path_have_budgets_of_their_own() {
    let text = "
tollgate: 1
rate_limit: { algorithm: gcra, capacity: 5, refill_rate: 1, counted: per_operation }
routes: [{ name: a, path: /s, host: a.example.org }, { name: b, path: /s, host: b.example.org }]
";
    let policy = files(&[("t.yaml", text)]).unwrap_or_else(|refused| panic!("{refused}"));
    assert_ne!(keys(&policy, "GET /s Host: a.example.org"), keys(&policy, "GET /s Host: b.example.org"));
}

#[test]
fn operations_that_inherit_a_limit_share_its_budget_unless_it_says_otherwise() {
    let text = |counted: &str| {
        openapi(&format!(
            "x-rate-limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1, {counted} }}\npaths: {{ /a: {{ get: {{}} }}, /b: {{ get: {{}} }} }}"
        ))
    };
    let together = policy(&text(""));
    assert_eq!(keys(&together, "GET /a"), keys(&together, "GET /b"));
    let apart = policy(&text("counted: per_operation"));
    assert_eq!(keys(&apart, "GET /a"), "default: operation GET /a + address 203.0.113.9");
    assert_ne!(keys(&apart, "GET /a"), keys(&apart, "GET /b"));
}

/// Whoever has a /48 could act as 65,536 clients.
#[test]
fn an_ipv6_48_has_256_times_the_limit_unless_the_policy_says_otherwise() {
    let lines = |settings: &str, limit: &str, from: &str| {
        let text = format!(
            "tollgate: 1\n{settings}\nrate_limit: {{ name: l, {limit}, consumer_key: ip }}\nroutes: [{{ path: /a }}]\n"
        );
        let policy = files(&[("t.yaml", &text)]).unwrap_or_else(|refused| panic!("{refused}"));
        asked("GET /a").from(from).lines(&policy)
    };
    let (bucket, v6) = ("algorithm: gcra, capacity: 5, refill_rate: 1", "2001:db8:1:2::3");
    let wide = |times: &str| format!("l: limit wide + wide address 2001:db8:1::/48 x1 ({times})");
    assert_eq!(lines("", bucket, v6)[1..], [wide("1280 at once, then 256 per second")]);
    assert_eq!(lines("", bucket, "203.0.113.9").len(), 1, "IPv4 has none");
    let written = "addresses: { ipv6_wide_multiple: 16 }";
    assert_eq!(lines(written, bucket, v6)[1..], [wide("80 at once, then 16 per second")]);
    assert_eq!(lines("addresses: { ipv6_wide_prefix: none }", bucket, v6).len(), 1);
    // Of 256 clients in a /48, each may use its limit: that is as many as share a /24 of IPv4.
    assert_eq!(lines("addresses: { ipv6_prefix: 56 }", bucket, v6).len(), 1);
    let narrow = lines("addresses: { ipv6_wide_prefix: 56 }", bucket, v6);
    assert_eq!(
        narrow[1..],
        ["l: limit wide + wide address 2001:db8:1::/56 x1 (80 at once, then 16 per second)"]
    );
    // A log of 256,000 entries would be refused, and nobody asked for it.
    let log = lines("", "algorithm: sliding_window_log, limit: 1000, window: 1m", v6);
    assert!(log[1].contains("256000"), "{log:?}");
    // What does not fit so many times has what fits.
    let large = format!("algorithm: fixed_window, limit: {}, window: 1m", (1_u64 << 52) / 4);
    assert!(
        lines("", &large, v6)[1].contains(&((1_u64 << 52) / 2).to_string()),
        "{:?}",
        lines("", &large, v6)
    );
}
