//! Limits, good and bad, judged alike by the schema and by the reader; and those that only the reader can judge.

use super::{seen, validator};
use crate::{Policy, limit_schema};

const GCRA: &str = "algorithm: gcra, capacity: 5, refill_rate: 1";
const FIXED: &str = "algorithm: fixed_window, limit: 5, window: 1m";

fn reader(limits: &str) -> Result<Policy, String> {
    let head =
        "openapi: 3.1.0\nx-tollgate: { consumers: consumers.csv, jwt: { jwks: jwks.json } }\npaths: {}\n";
    let text = format!(
        "{head}x-other: {{ algorithm: gcra, capacity: 5, refill_rate: 1 }}\nx-rate-limit: {limits}\n"
    );
    Policy::load("openapi.yaml", &mut |name| match name {
        "openapi.yaml" => Ok(text.clone()),
        "jwks.json" => Ok(super::native::JWKS.into()),
        _ => Err("there is no such file".into()),
    })
    .map_err(|refused| refused.to_string())
}

/// Both say the same.
fn judged(limits: &str, good: bool) {
    let schema = validator(&limit_schema());
    let by_schema = schema.is_valid(&seen(limits));
    let by_reader = reader(limits);
    assert_eq!((by_schema, by_reader.is_ok()), (good, good), "{limits}\n{:?}", by_reader.err());
}

#[test]
fn limits_as_a_whole() {
    let many = |count| format!("[{}]", vec![format!("{{ {GCRA} }}"); count].join(", "));
    for good in
        ["none", "{ $ref: '#/x-other' }", "[{ $ref: '#/x-other' }]", &format!("{{ {GCRA} }}"), &many(10)]
    {
        judged(good, true);
    }
    for bad in ["~", "[]", "{}", "5", "off", "[none]", "[[]]", "{ $ref: 5 }", &many(11), "{ capacity: 5 }"] {
        judged(bad, false);
    }
}

#[test]
fn the_numbers_of_every_algorithm() {
    let good = [
        "algorithm: token_bucket, capacity: 5, refill_rate: 0.1",
        "algorithm: leaky_bucket, capacity: 5, refill_rate: 10 per second",
        "algorithm: leaky_bucket_queue, capacity: 5, refill_rate: 1 per 10 s, max_wait: 500ms",
        "algorithm: leaky_bucket_queue, capacity: 5, refill_rate: 2.50",
        "algorithm: leaky_bucket_queue, capacity: 5, refill_rate: 2.50, strict: true, fair_by: 'header:X-User + ip'",
        "algorithm: fixed_window, limit: 5, window_seconds: 60",
        "algorithm: fixed_window, limit: 5, window: calendar month, utc_offset: +05:30",
        "algorithm: fixed_window, limit: 5, window: calendar day, utc_offset: Z",
        "algorithm: fixed_window, limit: 5, window: calendar year",
        "algorithm: sliding_window, limit: 5, window: 1 day",
        "algorithm: sliding_window, limit: 5, window: 1m, buckets: 6",
        "algorithm: sliding_window_log, limit: 5, window: 90 s",
        "algorithm: concurrency, limit: 5",
        "algorithm: concurrency, limit: 5, max_hold: 1 hour",
        "algorithm: fixed_window, limit: 0, window: 1m",
    ];
    good.iter().for_each(|numbers| judged(&format!("{{ {numbers} }}"), true));
    let bad = [
        "algorithm: tokenbucket, capacity: 5, refill_rate: 1",
        "algorithm: gcra, capacity: 5",
        "algorithm: gcra, refill_rate: 5",
        "algorithm: gcra, capacity: 5, refill_rate: 1, limit: 5",
        "algorithm: gcra, capacity: 5, refill_rate: 1, window: 1m",
        "algorithm: gcra, capacity: 5, refill_rate: 1, window_seconds: 60",
        "algorithm: gcra, capacity: 5, refill_rate: 1, max_wait: 1s",
        "algorithm: fixed_window, limit: 5",
        "algorithm: fixed_window, window: 1m",
        "algorithm: fixed_window, limit: 5, window: 1m, window_seconds: 60",
        "algorithm: fixed_window, limit: 5, window: 1m, utc_offset: Z",
        "algorithm: fixed_window, limit: 5, window_seconds: 60, utc_offset: Z",
        "algorithm: fixed_window, limit: 5, window: 0s",
        "algorithm: fixed_window, limit: 5, window_seconds: 0",
        "algorithm: fixed_window, limit: 5, window_seconds: 2251799814",
        "algorithm: fixed_window, limit: 5, window: calendar hour",
        "algorithm: fixed_window, limit: 5, window: 1m, buckets: 5",
        "algorithm: sliding_window, limit: 5, window: calendar day",
        "algorithm: sliding_window, limit: 5, window: 1m, buckets: 0",
        "algorithm: sliding_window, limit: 5, window: 1m, buckets: 1025",
        "algorithm: sliding_window_log, limit: 5, window: calendar day",
        "algorithm: concurrency, limit: 5, window: 1m",
        "algorithm: concurrency, limit: 5, max_hold: 60",
        "algorithm: concurrency",
        "algorithm: concurrency, limit: 5, method: vegas",
        "algorithm: gcra, capacity: 5, refill_rate: 1, min: 5",
        "algorithm: gcra, capacity: -5, refill_rate: 1",
        "algorithm: gcra, capacity: '5', refill_rate: 1",
        "algorithm: gcra, capacity: 5.5, refill_rate: 1",
        "algorithm: gcra, capacity: 5, refill_rate: '1'",
        "algorithm: gcra, capacity: 5, refill_rate: 0",
        "algorithm: gcra, capacity: 5, refill_rate: -1",
        "algorithm: gcra, capacity: 5, refill_rate: 10/s",
        "algorithm: gcra, capacity: 5, refill_rate: 1 per 0 s",
        "algorithm: gcra, capacity: 5, refill_rate: 1 per fortnight",
        "algorithm: gcra, capacity: 5, refill_rate: .5 per second",
        "algorithm: gcra, capacity: ~, refill_rate: 1",
    ];
    bad.iter().for_each(|numbers| judged(&format!("{{ {numbers} }}"), false));
}

#[test]
fn the_numbers_of_adaptive_limits() {
    let good = [
        "algorithm: adaptive",
        "algorithm: adaptive, method: vegas, min: 2, max: 65536, initial: 4, max_hold: 1m",
        "algorithm: adaptive, method: aimd, target: 50ms, busy_status: 429",
        "algorithm: adaptive, tier_overrides: { staff: none, free: {} }",
    ];
    good.iter().for_each(|numbers| judged(&format!("{{ {numbers} }}"), true));
    let bad = [
        "algorithm: adaptive, limit: 5",
        "algorithm: adaptive, method: aimd",
        "algorithm: adaptive, method: netflix",
        "algorithm: adaptive, target: 50ms",
        "algorithm: adaptive, method: vegas, target: 50ms",
        "algorithm: adaptive, min: 0",
        "algorithm: adaptive, max: 65537",
        "algorithm: adaptive, initial: 0",
        "algorithm: adaptive, address_ceiling: 5",
        "algorithm: adaptive, tier_overrides: { free: { max: 5 } }",
    ];
    bad.iter().for_each(|numbers| judged(&format!("{{ {numbers} }}"), false));
}

#[test]
fn the_other_fields_of_a_limit() {
    let good = [
        "name: reports, description: For all., owner: team, reviewers: [a, b], visibility: hidden",
        "reviewers: a, mode: shadow, scope: leased, counted: per_operation",
        "name: 5, owner: true",
        "consumer_key: ip, missing_key: reject, repeated_key: address",
        "consumer_key: [api_key, ip]",
        "wait: 2s, fair_by: [api_key, ip]",
        "consumer_key: 'header: X-Team + query:user + cookie:a:b + ip'",
        "consumer_key: ['jwt_unverified:sub', 'jwt:sub', organisation, consumer, everyone]",
        "address_ceiling: 10, when_store_fails: local 1/4",
        "when_store_fails: deny",
        "cost: 1",
        "cost: { header: X-Cost, max: 5, default: 2 }",
        "cost: { query: n, max: 5 }",
        "cost: { reported: X-Cost, max: 5, estimate: 1 }",
        "cost: { operations: graphql, max: 5, max_body: 64 KiB }",
        "cost: { operations: json_array, max: 5, max_body: 1048576 }",
        "cost: { operations: json_array, max: 5, max_body: 1 MiB }",
        "tier_overrides: { free: { capacity: 1 }, pro: none, some: {} }",
    ];
    good.iter().for_each(|fields| judged(&format!("{{ {GCRA}, {fields} }}"), true));
    let bad = [
        "colour: red",
        "name: ''",
        "name: größe",
        "name: ~",
        "owner: [a]",
        "mode: off",
        "mode: [shadow]",
        "consumer_key: []",
        "consumer_key: apikey",
        "consumer_key: header",
        "consumer_key: 'header:'",
        "consumer_key: 'header:a b'",
        "consumer_key: 'header : a'",
        "consumer_key: 'ip + '",
        "consumer_key: 'ip + ip + ip + ip + ip'",
        "consumer_key: [ip, 5]",
        "consumer_key: [api_key, consumer, 'query:a', 'query:b', 'query:c', 'query:d', 'query:e', 'query:f', ip]",
        "missing_key: allow",
        "address_ceiling: 0",
        "when_store_fails: local 0/4",
        "when_store_fails: local 1",
        "cost: -1",
        "cost: 0",
        "cost: '1'",
        "cost: {}",
        "cost: { max: 5 }",
        "cost: { header: X-Cost }",
        "cost: { header: X-Cost, query: n, max: 5 }",
        "cost: { header: 'X Cost', max: 5 }",
        "cost: { header: X-Cost, max: 5, estimate: 1 }",
        "cost: { reported: X-Cost, max: 5, default: 1 }",
        "cost: { operations: xml, max: 5 }",
        "cost: { operations: graphql, max: 5, max_body: 1025 KiB }",
        "cost: { operations: graphql, max: 5, max_body: 1048577 }",
        "cost: { operations: graphql, max: 5, max_body: 64 kb }",
        "cost: { header: X-Cost, max: 5, max_body: 5 }",
        "tier_overrides: []",
        "tier_overrides: { free: all }",
        "tier_overrides: { free: ~ }",
        "tier_overrides: { free: { limit: 1 } }",
        "tier_overrides: { free: { name: x } }",
    ];
    bad.iter().for_each(|fields| judged(&format!("{{ {GCRA}, {fields} }}"), false));
    judged(&format!("{{ {FIXED}, tier_overrides: {{ free: {{ window: calendar day }} }} }}"), true);
    judged(&format!("{{ {FIXED}, tier_overrides: {{ free: {{ window: 1s, window_seconds: 1 }} }} }}"), false);
    judged(&format!("{{ {GCRA}, name: {} }}", "n".repeat(128)), true);
    judged(&format!("{{ {GCRA}, name: {} }}", "n".repeat(129)), false);
    judged(&format!("{{ {GCRA}, description: {} }}", "ä".repeat(1_001)), false);
}

/// What the schema lets pass and the reader refuses: sums, spellings of one number, and things that are not there.
#[test]
fn what_only_the_reader_can_judge() {
    let only = [
        ("sums", "{ algorithm: gcra, capacity: 4503599627370496, refill_rate: 1 per week }"),
        ("sums", "{ algorithm: sliding_window, limit: 4294967296, window: 1m }"),
        ("sums", "{ algorithm: sliding_window_log, limit: 65537, window: 1m }"),
        ("sums", "{ algorithm: fixed_window, limit: 5, window: 2251799814s }"),
        ("sums", "{ algorithm: sliding_window, limit: 5, window: 1us, buckets: 2 }"),
        ("sums", "{ algorithm: gcra, capacity: 5, refill_rate: 0 per second }"),
        ("sums", "{ algorithm: concurrency, limit: 5, max_hold: 99999999999999999999 s }"),
        ("sums", "{ algorithm: adaptive, min: 9, max: 5 }"),
        ("sums", "{ algorithm: adaptive, initial: 9, max: 5 }"),
        ("sums", "{ algorithm: gcra, capacity: 5, refill_rate: 1, when_store_fails: local 5/4 }"),
        ("sums", "{ algorithm: gcra, capacity: 5, refill_rate: 1, cost: { query: n, max: 1, default: 2 } }"),
        ("spelling", "{ algorithm: gcra, capacity: 5.0, refill_rate: 1 }"),
        ("spelling", "{ algorithm: gcra, capacity: 5, refill_rate: 1e0 }"),
        ("spelling", "{ algorithm: gcra, capacity: 5, refill_rate: 0.00000000001 }"),
        ("order", "{ algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: [ip, api_key] }"),
        (
            "two places",
            "{ algorithm: fixed_window, limit: 5, window: 1m, tier_overrides: { a: { utc_offset: Z } } }",
        ),
        ("elsewhere", "{ $ref: '#/nowhere' }"),
        (
            "elsewhere",
            "[{ algorithm: concurrency, limit: 5, name: a }, { algorithm: concurrency, limit: 6, name: a }]",
        ),
    ];
    let schema = validator(&limit_schema());
    for (why, limits) in only {
        let (by_schema, by_reader) = (schema.is_valid(&seen(limits)), reader(limits).is_ok());
        assert_eq!((by_schema, by_reader), (true, false), "{why}: {limits}");
    }
}
