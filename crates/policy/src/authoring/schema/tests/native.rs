//! Native files, good and bad, judged alike by the schema and by the reader; and those that only the reader can judge.

use super::{native_schema, seen, validator};
use crate::Policy;

/// A key set that is good for nothing but being there.
pub(super) const JWKS: &str =
    r#"{"keys":[{"kty":"oct","alg":"HS256","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}]}"#;

fn reader(text: &str) -> Result<Policy, String> {
    Policy::load("tollgate.yaml", &mut |name| match name {
        "tollgate.yaml" => Ok(text.to_owned()),
        "jwks.json" => Ok(JWKS.into()),
        "openapi.yaml" => Ok("openapi: 3.1.0\npaths: {}\n".into()),
        _ => Err("there is no such file".into()),
    })
    .map_err(|refused| refused.to_string())
}

fn judged(text: &str, good: bool) {
    let schema = validator(&native_schema());
    let (by_schema, by_reader) = (schema.is_valid(&seen(text)), reader(text));
    assert_eq!((by_schema, by_reader.is_ok()), (good, good), "{text}\n{:?}", by_reader.err());
}

#[test]
fn files_with_a_version() {
    for good in ["tollgate: 1", "tollgate: '1'", "{ tollgate: 1 }"] {
        judged(good, true);
    }
    for bad in ["{}", "tollgate: 2", "tollgate: ~", "[]", "routes: []", "tollgate: 1\ncolour: red"] {
        judged(bad, false);
    }
}

#[test]
fn the_fields_of_a_file() {
    let limit = "{ algorithm: gcra, capacity: 5, refill_rate: 1 }";
    let good = [
        "openapi: openapi.yaml".to_owned(),
        "openapi: [openapi.yaml]".into(),
        "rate_limit: none".into(),
        format!("rate_limit: {limit}"),
        format!("tags: {{ a: {{ rate_limit: [{limit}], owner: team, reviewers: b, description: For all. }} }}"),
        "routes: []".into(),
        format!("routes: [{{ path: '/a/{{id}}', methods: [GET, PUT], name: one, rate_limit: {limit}, tags: [a] }}]"),
        "routes: [{ path: '/{rest*}', host: '*.example.org', headers: { X-A: ~, X-B: c, X-C: 5 }, methods: GET }]".into(),
        "consumers: consumers.csv".into(),
        "api_key: 'header:X-Key'".into(),
        "api_key: ['query:key', 'cookie: key']".into(),
        "tiers: { names: [free, pro], default: free }".into(),
        "tiers: { from: consumers }\nconsumers: a.csv".into(),
        "jwt: { jwks: jwks.json, issuer: a, audience: b, leeway: 5s, header: X-Token }".into(),
        "tiers: { from: 'jwt:plan' }\njwt: { jwks: jwks.json }".into(),
        "trusted_proxies: { networks: [10.0.0.0/8, '2001:db8::/32'], header: X-Forwarded-For }".into(),
        "trusted_proxies: { networks: 10.0.0.1, header: Forwarded }".into(),
        "trusted_proxies: { hops: 2, header: X-Forwarded-For }".into(),
        "addresses: { ipv4_prefix: 24, ipv6_prefix: 56, ipv6_wide_prefix: 48, ipv6_wide_multiple: 2 }".into(),
        "unmatched: forward".into(),
    ];
    good.iter().for_each(|fields| judged(&format!("tollgate: 1\n{fields}\n"), true));
    let bad = [
        "openapi: { a: b }",
        "rate_limit: ~",
        "tags: []",
        "tags: { a: none }",
        "tags: { a: { colour: red } }",
        "tags: { a: { rate_limit: { algorithm: gcra } } }",
        "routes: {}",
        "routes: [a]",
        "routes: [{ methods: [GET] }]",
        "routes: [{ path: a }]",
        "routes: [{ path: /a, methods: [get] }]",
        "routes: [{ path: /a, headers: { 'X A': b } }]",
        "routes: [{ path: /a, headers: { X-A: [b] } }]",
        "routes: [{ path: /a, x-rate-limit: none }]",
        "api_key: X-Key",
        "api_key: 'header:X Key'",
        "api_key: 'query:'",
        "tiers: [free]",
        "tiers: { from: cookies }",
        "tiers: { from: 'header:X Tier' }",
        "tiers: { colour: red }",
        "jwt: { issuer: a }",
        "jwt: { jwks: jwks.json, leeway: 5 }",
        "trusted_proxies: { networks: [10.0.0.0/8] }",
        "trusted_proxies: { header: X-Forwarded-For }",
        "trusted_proxies: { header: X-Forwarded-For, networks: [10.0.0.0/8], hops: 1 }",
        "trusted_proxies: { header: X-Forwarded-For, networks: [] }",
        "trusted_proxies: { header: X-Forwarded-For, networks: [inside] }",
        "trusted_proxies: { header: X-Forwarded-For, hops: 0 }",
        "addresses: { ipv4_prefix: 33 }",
        "addresses: { ipv4_prefix: 0 }",
        "addresses: { ipv6_prefix: 129 }",
        "addresses: { ipv6_wide_multiple: 0 }",
        "unmatched: allow",
    ];
    bad.iter().for_each(|fields| judged(&format!("tollgate: 1\n{fields}\n"), false));
}

/// What the schema lets pass and the reader refuses.
#[test]
fn what_only_the_reader_can_judge() {
    let only = [
        ("spelling", "tollgate: 1.0"),
        ("order", "tollgate: 1\naddresses: { ipv6_prefix: 56, ipv6_wide_prefix: 56 }"),
        ("grammar", "tollgate: 1\nroutes: [{ path: '/a/{b' }]"),
        ("grammar", "tollgate: 1\nroutes: [{ path: /a, host: 'a b' }]"),
        ("bits", "tollgate: 1\ntrusted_proxies: { networks: [10.0.0.1/8], header: X-Forwarded-For }"),
        ("names", "tollgate: 1\ntiers: { names: [free], default: pro }"),
        ("files", "tollgate: 1\nopenapi: missing.yaml"),
        ("settings", "tollgate: 1\nrate_limit: { algorithm: concurrency, limit: 5, consumer_key: consumer }"),
        (
            "twice",
            "tollgate: 1\nroutes: [{ path: /a, rate_limit: none }, { path: /a, rate_limit: { algorithm: gcra, capacity: 1, refill_rate: 1 } }]",
        ),
    ];
    let schema = validator(&native_schema());
    for (why, text) in only {
        let (by_schema, by_reader) = (schema.is_valid(&seen(text)), reader(text).is_ok());
        assert_eq!((by_schema, by_reader), (true, false), "{why}: {text}");
    }
}

#[test]
fn the_fields_about_headers_browsers_and_wide_prefixes() {
    let good = [
        "addresses: { ipv6_wide_prefix: none }",
        "header_names: any",
        "base_path: /v1",
        "query_semicolons: separator",
        "cors: { origins: '*' }",
        "cors: { origins: ['https://a.example.org', 'http://[::1]:3000'], credentials: true }",
        "rate_limit: { algorithm: gcra, capacity: 0, refill_rate: 1, zero_status: 429 }",
    ];
    good.iter().for_each(|fields| judged(&format!("tollgate: 1\n{fields}\n"), true));
    let bad = [
        "addresses: { ipv6_wide_prefix: some }",
        "header_names: plane",
        "query_semicolons: comma",
        "cors: { credentials: true }",
        "cors: { origins: [] }",
        "cors: { origins: 'https://a/' }",
        "rate_limit: { algorithm: gcra, capacity: 0, refill_rate: 1, zero_status: 422 }",
    ];
    bad.iter().for_each(|fields| judged(&format!("tollgate: 1\n{fields}\n"), false));
}
