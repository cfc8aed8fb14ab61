//! What documents say: the form of the product's own example, nearness, references, servers, both kinds of file.

use tollgate_policy::model::{CountScope, FailureRule, MissingKeyRule, Scope};
use tollgate_policy::{InheritedFrom, Policy};

use crate::support::{asked, files, openapi, policy};

/// The example of the product's description, as it stands.
const EXAMPLE: &str = "
openapi: 3.1.0
info: { title: Reports, version: '1' }
paths:
  /reports/generate:
    post:
      operationId: generateReport
      x-rate-limit:
        algorithm: token_bucket
        capacity: 5
        refill_rate: 0.1          # per second: one in ten seconds, sustained
        consumer_key: api_key
        tier_overrides:
          platform: { capacity: 20, refill_rate: 0.5 }
  /status:
    get:
      operationId: getStatus
      x-rate-limit:
        algorithm: sliding_window
        limit: 3000
        window_seconds: 60
        consumer_key: api_key
";

/// Each operation, where its limits come from, and what they are.
fn limits(policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    for operation in policy.operations() {
        let nearest = match operation.nearest {
            InheritedFrom::Off(_) => "off".to_owned(),
            InheritedFrom::Operation => "operation".to_owned(),
            InheritedFrom::Path => "path".to_owned(),
            InheritedFrom::Tag => "tag".to_owned(),
            InheritedFrom::Root => "root".to_owned(),
            InheritedFrom::Nothing => "nothing".to_owned(),
        };
        let names = operation.limits.iter().map(|id| policy.limits()[id.index()].name.as_str());
        lines.push(format!("{} ({nearest}): {}", operation.name(), names.collect::<Vec<_>>().join(", ")));
    }
    lines
}

#[test]
fn the_example_is_read_exactly_as_it_stands() {
    let policy = policy(EXAMPLE);
    let said: Vec<_> =
        policy.limits().iter().map(|limit| format!("{}: {}", limit.name, limit.numbers)).collect();
    assert_eq!(
        said,
        ["POST /reports/generate: 5 at once, then 1 per 10 s", "GET /status: 3000 in any 1 min, about"]
    );
    let limit = &policy.limits()[0];
    assert_eq!(limit.for_tier(Some("platform")).to_string(), "20 at once, then 1 per 2 s");
    assert_eq!(limit.for_tier(Some("other")), &limit.numbers);
    assert_eq!(asked("POST /reports/generate X-API-Key: k").operation(&policy), "POST /reports/generate");
}

#[test]
fn json_says_the_same_as_yaml() {
    let json = r#"{"openapi": "3.0.3", "info": {"title": "Reports", "version": "1"}, "paths": {"/reports/generate":
        {"post": {"description": "\ud83d\ude00\n", "x-rate-limit": {"algorithm": "token_bucket", "capacity": 5,
        "refill_rate": 0.1, "tier_overrides": {"platform": {"capacity": 20}}}}}}}"#;
    let read = policy(json);
    assert_eq!(read.limits()[0].numbers, policy(EXAMPLE).limits()[0].numbers);
    let minified: String = json.split_whitespace().collect();
    assert_eq!(policy(&minified).limits()[0].numbers, read.limits()[0].numbers);
}

#[test]
fn the_nearest_limit_wins() {
    let text = openapi(
        "
x-rate-limit: { algorithm: gcra, capacity: 1, refill_rate: 1 }
tags:
  - name: dear
    x-rate-limit: { algorithm: gcra, capacity: 2, refill_rate: 1 }
  - name: free
    x-rate-limit: none
paths:
  /root: { get: {} }
  /tag: { get: { tags: [other, dear] }, put: { tags: [free] } }
  /path:
    x-rate-limit: { algorithm: gcra, capacity: 3, refill_rate: 1 }
    get: { tags: [dear] }
    put:
      x-rate-limit:
        - { name: fast, algorithm: gcra, capacity: 4, refill_rate: 1 }
        - { algorithm: fixed_window, limit: 100, window: 1 day }
        - { algorithm: fixed_window, limit: 1000, window: calendar month }
    post: { x-rate-limit: none }
",
    );
    assert_eq!(
        limits(&policy(&text)),
        [
            "GET /root (root): default",
            "GET /tag (tag): tag dear",
            "PUT /tag (off): ",
            "GET /path (path): /path",
            "PUT /path (operation): fast, PUT /path (fixed_window), PUT /path (fixed_window) #2",
            "POST /path (off): ",
        ]
    );
}

#[test]
fn limits_of_one_name_are_one_limit_wherever_they_stand() {
    let text = openapi(
        "
components:
  x-rate-limits:
    heavy: { name: heavy, algorithm: gcra, capacity: 2, refill_rate: 1, owner: reports }
paths:
  /a: { get: { x-rate-limit: { $ref: '#/components/x-rate-limits/heavy' } } }
  /b: { get: { x-rate-limit: [{ $ref: '#/components/x-rate-limits/heavy' }] } }
",
    );
    let policy = policy(&text);
    assert_eq!(policy.limits().len(), 1);
    assert_eq!(limits(&policy), ["GET /a (operation): heavy", "GET /b (operation): heavy"]);
    assert_eq!(policy.limits()[0].owner.as_deref(), Some("reports"));
}

#[test]
fn a_tags_owner_owns_the_limits_of_its_operations() {
    let policy = policy(&openapi(
        "
tags: [{ name: dear, x-owner: '@search', x-reviewers: ['@money'] }]
x-rate-limit: { algorithm: gcra, capacity: 2, refill_rate: 1 }
paths:
  /a: { get: { tags: [dear], x-rate-limit: { algorithm: gcra, capacity: 2, refill_rate: 1 } } }
  /b: { get: { tags: [dear], x-rate-limit: { algorithm: gcra, capacity: 2, refill_rate: 1, owner: '@b' } } }
  /c: { get: { tags: [dear] } }
",
    ));
    let owners = policy
        .limits()
        .iter()
        .map(|limit| (limit.name.as_str(), limit.owner.as_deref(), limit.reviewers.len()));
    let owners: Vec<_> = owners.collect();
    assert_eq!(owners, [("default", None, 0), ("GET /a", Some("@search"), 1), ("GET /b", Some("@b"), 0)]);
}

#[test]
fn references_are_followed_into_other_files_and_servers_give_base_paths() {
    let main = openapi(
        "
servers: [{ url: 'https://api.example.org/v1/' }, { url: '/{stage}/v1', variables: { stage: { default: live, enum: [live, test] } } }, { url: 'https://h.example.org{base}', variables: { base: { default: /late } } }]
paths:
  /a: { $ref: 'parts/a.yaml#/items/0' }
  /b: { servers: [{ url: / }], get: {}, put: { servers: [{ url: 'https://x/only' }] } }
",
    );
    let part = "items: [{ $ref: '../common.json#/x~1y' }]\n";
    let common =
        r#"{"x/y": {"get": {"x-rate-limit": {"algorithm": "gcra", "capacity": 1, "refill_rate": 1}}}}"#;
    let policy = files(&[("api/main.yaml", &main), ("api/parts/a.yaml", part), ("api/common.json", common)]);
    let policy = policy.unwrap_or_else(|refused| panic!("{refused}"));
    let met = |request: &str| asked(request).operation(&policy);
    for path in ["/v1/a", "/live/v1/a", "/test/v1/a", "/late/a"] {
        assert_eq!(met(&format!("GET {path}")), "GET /v1/a", "{path}");
    }
    for (request, operation) in [("GET /b", "GET /b"), ("PUT /only/b", "PUT /only/b")] {
        assert_eq!(met(request), operation);
    }
    for request in ["GET /a", "GET /v1/b", "PUT /b", "GET /{stage}/v1/a"] {
        assert!(
            met(request).starts_with("Unmatched") || met(request).starts_with("400"),
            "{request}: {}",
            met(request)
        );
    }
    assert_eq!(policy.sources().locate(policy.limits()[0].place), "api/common.json:1:34");
}

/// A chain of references: limits, operations and servers may stand at every step of it, and the nearest count.
#[test]
fn every_step_of_a_chain_of_references_is_read() {
    let main = openapi("paths:\n  /a: { $ref: 'o.yaml#/one', servers: [{ url: /v9 }] }\n");
    let other = "
one: { $ref: '#/two', x-rate-limit: { algorithm: gcra, capacity: 7, refill_rate: 1 }, post: {} }
two: { get: {}, x-rate-limit: { algorithm: gcra, capacity: 8, refill_rate: 1 } }
";
    let policy = files(&[("m.yaml", &main), ("o.yaml", other)]).unwrap_or_else(|refused| panic!("{refused}"));
    for request in ["GET /v9/a", "POST /v9/a"] {
        assert!(asked(request).lines(&policy).join("").contains("(7 at once"), "{request}");
    }
}

#[test]
fn what_a_native_file_says_holds_for_the_documents_that_it_names() {
    let native = "
tollgate: 1
openapi: [a.yaml]
unmatched: forward
rate_limit: { algorithm: gcra, capacity: 9, refill_rate: 1 }
tags: { dear: { rate_limit: { algorithm: gcra, capacity: 2, refill_rate: 1 } } }
";
    let document = openapi("paths: { /a: { get: {} }, /b: { get: { tags: [dear] } } }");
    let numbers = |native: &str, document: &str, request: &str| {
        let policy =
            files(&[("t.yaml", native), ("a.yaml", document)]).unwrap_or_else(|refused| panic!("{refused}"));
        asked(request).lines(&policy).join("; ")
    };
    assert!(numbers(native, &document, "GET /a").starts_with("default: address 203.0.113.9 x1 (9 at once"));
    assert!(numbers(native, &document, "GET /b").starts_with("tag dear: address 203.0.113.9 x1 (2 at once"));
    assert!(numbers(native, &document, "GET /c").contains("(9 at once"));
    // And where only a document has a default, it is what limits the rest, by the document's own keys.
    let bare = "tollgate: 1\nopenapi: [a.yaml]\nunmatched: forward\n";
    let own = openapi(
        "
x-rate-limit: { algorithm: gcra, capacity: 4, refill_rate: 1 }
components: { securitySchemes: { k: { type: apiKey, in: query, name: key } } }
paths: {}
",
    );
    let said = numbers(bare, &own, "GET /c?key=k");
    assert!(said.starts_with("Test: default: api-key #") && said.contains("(4 at once"), "{said}");
}

#[test]
fn equal_limits_of_one_name_are_one_also_with_tiers() {
    let limit =
        "{ name: x, algorithm: gcra, capacity: 1, refill_rate: 1, tier_overrides: { p: { capacity: 2 } } }";
    let paths = format!(
        "paths: {{ /a: {{ get: {{ x-rate-limit: {limit} }} }}, /b: {{ get: {{ x-rate-limit: {limit} }} }} }}"
    );
    assert_eq!(policy(&openapi(&paths)).limits().len(), 1);
}

#[test]
fn every_extension_has_a_plain_spelling() {
    let text = openapi(
        "
paths:
  /a:
    get:
      x-rate-limit:
        algorithm: sliding_window
        name: searches
        description: Searches are dear.
        limit: 100
        window: 1m
        buckets: 10
        consumer_key: [api_key + header:X-Device, 'cookie:session', ip]
        missing_key: reject
        address_ceiling: 20
        cost: { query: n, max: 50, default: 5 }
        mode: shadow
        when_store_fails: local 1/4
        scope: leased
        counted: per_operation
        visibility: hidden
        owner: '@search'
        reviewers: ['@platform', '@security']
  /b:
    get: { x-rate-limit: { algorithm: concurrency, limit: 3, max_hold: 30s } }
    put: { x-rate-limit: { algorithm: leaky_bucket_queue, capacity: 10, refill_rate: 2 per second, max_wait: 5s } }
    post: { x-rate-limit: { algorithm: leaky_bucket, capacity: 10, refill_rate: 30 per minute, cost: { operations: graphql, max: 50, max_body: 64 KiB } } }
    patch: { x-rate-limit: { algorithm: fixed_window, limit: 7, window: calendar month, utc_offset: '+05:30', cost: { reported: X-Cost, estimate: 2, max: 9 } } }
    delete: { x-rate-limit: { algorithm: sliding_window_log, limit: 7, window: 90 s, when_store_fails: deny, scope: synced } }
",
    );
    let policy = policy(&text);
    let limit = &policy.limits()[0];
    assert_eq!((limit.scope, limit.counted, limit.visible), (Scope::Leased, CountScope::PerOperation, false));
    assert_eq!(limit.when_store_fails, FailureRule::Local { share: 1, of: 4 });
    assert_eq!((limit.key.chain.len(), limit.key.missing), (3, MissingKeyRule::Reject));
    assert_eq!(limit.key.chain[0].len(), 2);
    assert_eq!(limit.reviewers, ["@platform", "@security"]);
    let said: Vec<_> = policy.limits().iter().map(|limit| limit.numbers.to_string()).collect();
    assert_eq!(
        said,
        [
            "100 in any 1 min, never more (10 buckets)",
            "3 at the same time",
            "10 may wait, leaving at 2 per second, none waits longer than 5 s",
            "10 at once, then 1 per 2 s",
            "7 per calendar month (UTC+05:30)",
            "7 in any 90 s, exactly",
        ]
    );
}

#[test]
fn the_native_file_has_the_same_words_and_what_a_gateway_needs() {
    let native = "
tollgate: 1
openapi: openapi.yaml
unmatched: forward
trusted_proxies: { networks: [10.0.0.0/8], header: X-Forwarded-For }
addresses: { ipv6_prefix: 56, ipv6_wide_prefix: 48, ipv6_wide_multiple: 4 }
rate_limit: { algorithm: gcra, capacity: 9, refill_rate: 1 }
tags:
  dear: { owner: '@search', rate_limit: { algorithm: gcra, capacity: 8, refill_rate: 1 } }
routes:
  - { path: '/files/{rest*}', methods: [GET, HEAD] }
  - { path: /search, tags: dear }
  - { name: inside, path: /search, headers: { X-Internal: 'yes' }, rate_limit: none }
  - { path: /search, host: '*.example.org', rate_limit: { algorithm: gcra, capacity: 7, refill_rate: 1 } }
";
    let policy = files(&[("tollgate.yaml", native), ("openapi.yaml", EXAMPLE)]);
    let policy = policy.unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(
        limits(&policy),
        [
            "GET /files/{rest*} (root): default",
            "HEAD /files/{rest*} (root): default",
            "* /search (tag): tag dear",
            "* /search (off): ",
            "* /search (operation): * /search (host *.example.org)",
            "POST /reports/generate (operation): Reports: POST /reports/generate",
            "GET /status (operation): Reports: GET /status",
        ]
    );
    assert_eq!(policy.limits()[1].owner.as_deref(), Some("@search"));
    let lines = |request| asked(request).lines(&policy).join("; ");
    assert_eq!(lines("GET /files/a/b"), "default: address 203.0.113.9 x1 (9 at once, then 1 per second)");
    assert!(lines("PUT /search Host: a.b.example.org").starts_with("* /search (host *.example.org): "));
    assert!(lines("PUT /search Host: example.org").starts_with("tag dear: "));
    assert_eq!(lines("PUT /search X-Internal: yes"), "");
    // The host goes before headers.
    assert!(
        lines("PUT /search X-Internal: yes | Host: a.example.org")
            .starts_with("* /search (host *.example.org): ")
    );
    assert!(lines("GET /unknown").starts_with("default: "));
}
