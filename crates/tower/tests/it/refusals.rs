//! What those are told who are not let through, and that nothing is charged for it.

use std::time::Duration;

use tollgate::{Clock, Limit, Limiter, Micros, Mode};
use tollgate_tower::ResponseConfig;

use crate::support::{START, get, limiter, policy, request, send};

const ONE: &str = "
tollgate: 1
routes:
  - path: /a
    rate_limit: { name: 'a \"b\"', algorithm: token_bucket, capacity: 2, refill_rate: 0.1, description: \"Ask <us>\\nfor more.\" }
";

#[test]
fn a_refusal_says_which_limit_and_how_long_in_fields_and_body_alike() {
    let (limiter, clock) = limiter();
    let layer = policy(&limiter, ONE);
    assert_eq!([get(&layer, "/a").status, get(&layer, "/a").status], [200, 200]);
    clock.advance(Duration::from_micros(2_500_000));
    let told = get(&layer, "/a");
    assert_eq!((told.status, told.field("retry-after")), (429, "8"));
    assert_eq!(told.field("ratelimit-policy"), r#""a \"b\"";q=2;w=20"#);
    assert_eq!(told.field("ratelimit"), r#""a \"b\"";r=0;t=8"#);
    assert_eq!(told.number("x-ratelimit-reset"), START + 20);
    let wanted = serde_json::json!({
        "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
        "title": "Request cannot be satisfied as assigned quota has been exceeded",
        "status": 429,
        "detail": "Rate limit 'a \"b\"' exceeded. Retry in 8 s. Ask <us>\nfor more.",
        "violated-policies": ["a \"b\""],
        "retry_after": 8,
        "policies": [{ "name": "a \"b\"", "limit": 2, "remaining": 0, "reset": 18 }],
    });
    assert_eq!(told.problem(), wanted);
}

/// Whoever waits as long as they are told is granted, whatever the rest of a second is; and whoever comes a second early is not,
/// where the wait was a whole number of seconds.
#[test]
fn obeying_retry_after_succeeds_and_one_second_earlier_does_not() {
    let windows =
        ["token_bucket, capacity: 1, refill_rate: 0.1", "gcra, capacity: 3, refill_rate: 3 per 7 s"];
    let others = [
        "fixed_window, limit: 3, window: 90s",
        "sliding_window, limit: 3, window: 10s",
        "sliding_window_log, limit: 3, window: 10s",
    ];
    for algorithm in windows.iter().chain(&others) {
        for shift in [0, 1, 499_999, 500_000, 999_999] {
            let text = format!(
                "tollgate: 1\nroutes: [{{ path: /a, rate_limit: {{ name: a, algorithm: {algorithm} }} }}]"
            );
            let (limiter, clock) = limiter();
            clock.advance(Duration::from_micros(shift));
            let layer = policy(&limiter, &text);
            let refused = loop {
                let told = get(&layer, "/a");
                if told.status == 429 {
                    break told;
                }
                assert!(!told.headers.contains_key("retry-after"));
            };
            let wait = refused.number("retry-after");
            assert!(
                wait >= 1 && refused.parameter("ratelimit", "t") <= i64::try_from(wait).expect("it fits")
            );
            clock.advance(Duration::from_secs(wait - 1));
            let early = get(&layer, "/a");
            assert_eq!((early.status, early.number("retry-after")), (429, 1), "{algorithm}, {wait} s");
            clock.advance(Duration::from_secs(1));
            assert_eq!(get(&layer, "/a").status, 200, "{algorithm}, {wait} s");
        }
    }
}

#[test]
fn a_wait_of_a_moment_is_a_second() {
    let (limiter, _) = limiter();
    let text = "tollgate: 1\nroutes: [{ path: /a, rate_limit: { name: a, algorithm: gcra, capacity: 1, refill_rate: 1000 } }]";
    let layer = policy(&limiter, text);
    assert_eq!(get(&layer, "/a").status, 200);
    assert_eq!(get(&layer, "/a").field("retry-after"), "1");
}

const TWO: &str = "
tollgate: 1
routes:
  - path: /a
    rate_limit:
      - { name: first, algorithm: token_bucket, capacity: 10, refill_rate: 1 }
      - { name: second, algorithm: token_bucket, capacity: 1, refill_rate: 0.1 }
      - { name: third, algorithm: token_bucket, capacity: 1, refill_rate: 0.01 }
";

#[test]
fn who_is_refused_by_one_limit_has_not_paid_for_another() {
    let (limiter, clock) = limiter();
    let layer = policy(&limiter, TWO);
    assert_eq!(get(&layer, "/a").status, 200);
    for _ in 0..20 {
        let told = get(&layer, "/a");
        assert_eq!((told.status, told.field("retry-after")), (429, "100"));
        assert_eq!(told.problem()["violated-policies"], serde_json::json!(["second", "third"]));
        assert_eq!(told.list("ratelimit")[0], ("first".into(), vec![("r".into(), 9), ("t".into(), 1)]));
        assert_eq!((told.number("x-ratelimit-limit"), told.number("x-ratelimit-reset")), (1, START + 100));
    }
    clock.advance(Duration::from_secs(100));
    let told = get(&layer, "/a");
    assert_eq!(
        (told.status, told.list("ratelimit")[0].1[0].1),
        (200, 9),
        "the first was charged once, and again now"
    );
}

const HIDDEN: &str = "
tollgate: 1
routes:
  - path: /a
    rate_limit:
      - { name: seen, algorithm: token_bucket, capacity: 10, refill_rate: 1 }
      - { name: secret-one, algorithm: token_bucket, capacity: 1, refill_rate: 0.1, visibility: hidden, description: Hush. }
";

#[test]
fn a_hidden_limit_refuses_without_being_named() {
    let (limiter, _) = limiter();
    let layer = policy(&limiter, HIDDEN);
    assert_eq!(get(&layer, "/a").status, 200);
    let told = get(&layer, "/a");
    assert_eq!((told.status, told.field("retry-after")), (429, "10"));
    let problem = told.problem();
    assert_eq!(problem["violated-policies"], serde_json::json!([]));
    assert_eq!(problem["detail"], "Rate limit exceeded. Retry in 10 s.");
    assert_eq!(told.field("ratelimit"), r#""seen";r=9;t=1"#);
    let all = format!("{told:?}");
    assert!(!all.contains("secret-one") && !all.contains("Hush"), "{all}");
}

/// 422, because waiting does not help and a client that meets 429 comes again for ever.
#[test]
fn what_never_fits_is_an_error_of_its_own_without_a_wait() {
    let (limiter, _) = limiter();
    let text = "tollgate: 1\nroutes: [{ path: /a, rate_limit: { name: a, algorithm: token_bucket, capacity: 5, refill_rate: 1, \
                cost: { header: X-Cost, max: 9 } } }]";
    let layer = policy(&limiter, text);
    let told = send(&layer, request("GET", "/a", &[("x-cost", "6")]));
    assert_eq!((told.status, told.field("retry-after")), (422, ""));
    let problem = told.problem();
    assert_eq!(
        problem["detail"],
        "The request costs more than rate limit 'a' can ever allow. Retrying will not succeed."
    );
    assert_eq!(
        (problem.get("retry_after"), &problem["violated-policies"]),
        (None, &serde_json::json!(["a"]))
    );
    assert_eq!(told.field("ratelimit"), r#""a";r=5;t=0"#, "nothing was charged");
}

#[test]
fn a_wrong_request_is_400_with_a_sentence_and_charges_nothing() {
    let (limiter, _) = limiter();
    let text = "
tollgate: 1
routes:
  - path: /a
    rate_limit: { name: a, algorithm: token_bucket, capacity: 1, refill_rate: 0.1, cost: { header: X-Cost, max: 9 },
      consumer_key: 'header:X-Key' }
";
    let layer = policy(&limiter, text);
    let table = [
        (request("GET", "/a%2fb", &[]), "slash"),
        (request("GET", "/a", &[("x-cost", "-1")]), "whole number from 1 to 9"),
        (request("GET", "/a", &[("x-cost", "0")]), "whole number from 1 to 9"),
        (request("GET", "/a", &[("x-key", "one"), ("x-key", "two")]), "more than once"),
        (request("GET", "/a", &[("host", "a"), ("host", "b")]), "two hosts"),
        (request("GET", "http://a/a", &[("host", "b")]), "two hosts"),
    ];
    for (request, why) in table {
        let told = send(&layer, request);
        assert_eq!(told.status, 400);
        let detail = told.problem()["detail"].to_string();
        assert!(detail.contains(why), "{detail}");
    }
    assert_eq!(get(&layer, "/a").status, 200, "nothing was charged");
}

#[test]
fn what_no_operation_names_is_404_and_another_method_405_with_those_that_are_there() {
    let (limiter, _) = limiter();
    let text = "
tollgate: 1
rate_limit: { name: a, algorithm: token_bucket, capacity: 1, refill_rate: 0.1 }
routes:
  - { path: '/a/{id}', methods: [GET, DELETE] }
  - { path: /b, methods: [POST] }
";
    let layer = policy(&limiter, text);
    assert_eq!(get(&layer, "/c").status, 404);
    assert_eq!(get(&layer, "/c").problem()["title"], "Not Found");
    for (method, target, allow) in
        [("PUT", "/a/1", "DELETE, GET, HEAD"), ("GET", "/b", "POST"), ("OPTIONS", "/b", "POST")]
    {
        let told = send(&layer, request(method, target, &[]));
        assert_eq!((told.status, told.field("allow")), (405, allow), "{method} {target}");
        assert_eq!(told.problem()["title"], "Method Not Allowed");
    }
    assert_eq!(get(&layer, "/a/1").status, 200, "nothing was charged");
}

#[test]
fn jitter_only_makes_a_wait_longer_and_spreads_those_who_were_refused_together() {
    let (limiter, _) = limiter();
    let answers = ResponseConfig { retry_jitter: Micros::from_secs(20), ..ResponseConfig::default() };
    let layer = policy(&limiter, ONE).with_responses(answers);
    assert_eq!([get(&layer, "/a").status, get(&layer, "/a").status], [200, 200]);
    let mut waits = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let told = get(&layer, "/a");
        let wait = told.number("retry-after");
        assert!((10..=30).contains(&wait), "{wait}");
        assert_eq!(told.problem()["retry_after"], wait);
        assert_eq!(told.parameter("ratelimit", "t"), 10, "the exact wait stays where machines read it");
        waits.insert(wait);
    }
    assert!(waits.len() > 10, "{waits:?}");
}

/// A store that is full, with so many limits in it that a new key of a further one cannot even share a cell.
fn full() -> Limiter {
    let clock = Clock::manual(Micros::from_secs(START));
    let limiter =
        Limiter::builder().clock(clock.clock()).max_memory(4 << 20).build().expect("there is memory");
    let day = Limit::token_bucket(1, 1, Micros::DAY).expect("it fits");
    let flood = limiter.limit("flood", day);
    for key in 0..400_000_u32 {
        let _ = limiter.try_charge(&[flood.hit(&key.to_be_bytes())]).expect("a good hit");
    }
    for number in 0..1_000 {
        let limit = limiter.limit(&format!("crowd {number}"), day);
        for key in 0..8_u8 {
            let _ = limiter.try_charge(&[limit.hit(&[key])]).expect("a good hit");
        }
    }
    limiter
}

#[test]
fn when_it_cannot_be_told_it_is_503_unless_every_enforced_limit_says_allow() {
    let limiter = full();
    let limit = |name: &str, fails: &str, mode: Mode| {
        let mode = if mode == Mode::Shadow { ", mode: shadow" } else { "" };
        format!(
            "{{ name: {name}, algorithm: token_bucket, capacity: 5, refill_rate: 1, when_store_fails: {fails}{mode} }}"
        )
    };
    let table = [
        (vec![limit("a", "deny", Mode::Enforced)], 503),
        (vec![limit("b", "allow", Mode::Enforced)], 200),
        (vec![limit("c", "allow", Mode::Enforced), limit("d", "deny", Mode::Enforced)], 503),
        (vec![limit("e", "allow", Mode::Enforced), limit("f", "deny", Mode::Shadow)], 200),
    ];
    for (limits, status) in table {
        let text = format!("tollgate: 1\nroutes: [{{ path: /a, rate_limit: [{}] }}]", limits.join(", "));
        let layer = policy(&limiter, &text);
        let told = get(&layer, "/a");
        assert_eq!(told.status, status, "{text}");
        assert!(!told.headers.contains_key("ratelimit"), "nothing is known");
        if status == 503 {
            assert_eq!(told.field("retry-after"), "1");
            let kind = told.problem()["type"].as_str().map(str::to_owned);
            assert!(kind.is_some_and(|kind| kind.ends_with("#temporary-reduced-capacity")));
        }
    }
}

/// No request would be granted, so that neither waiting nor another request helps.
#[test]
fn a_limit_of_0_is_403_or_429_as_the_policy_says_and_has_no_wait() {
    let limits = [
        "algorithm: token_bucket, capacity: 0, refill_rate: 1",
        "algorithm: fixed_window, limit: 0, window: 1m",
        "algorithm: sliding_window_log, limit: 0, window: 1m",
    ];
    let answers =
        [("", 403, "Forbidden"), (", zero_status: 403", 403, "Forbidden"), (", zero_status: 429", 429, "")];
    for (limit, (field, status, title)) in
        limits.iter().flat_map(|limit| answers.map(|answer| (limit, answer)))
    {
        let (limiter, _) = limiter();
        let text =
            format!("tollgate: 1\nroutes: [{{ path: /a, rate_limit: {{ name: a, {limit}{field} }} }}]");
        let told = get(&policy(&limiter, &text), "/a");
        assert_eq!((told.status, told.field("retry-after")), (status, ""), "{limit}{field}");
        let problem = told.problem();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["detail"], "Rate limit 'a' is 0: it allows no requests.");
        assert!(title.is_empty() || problem["title"] == title, "{problem}");
        assert_eq!(problem.get("retry_after"), None);
    }
}

#[test]
fn a_tier_of_0_is_refused_as_that_also_beside_a_limit_that_the_cost_never_fits() {
    let (limiter, _) = limiter();
    let text = "
tollgate: 1
tiers: { names: [free], default: free }
routes:
  - path: /a
    rate_limit:
      - { name: small, algorithm: token_bucket, capacity: 2, refill_rate: 1, cost: 3 }
      - { name: paid, algorithm: token_bucket, capacity: 9, refill_rate: 1, tier_overrides: { free: { capacity: 0 } } }
";
    let told = get(&policy(&limiter, text), "/a");
    assert_eq!(told.status, 403);
    assert_eq!(told.problem()["detail"], "Rate limit 'paid' is 0: it allows no requests.");
}

/// A browser keeps an answer from scripts of other origins unless the answer allows it.
#[test]
fn a_refusal_is_readable_by_scripts_as_the_policy_says() {
    let text = |cors: &str| {
        format!(
            "tollgate: 1\n{cors}\nroutes: [{{ path: /a, rate_limit: {{ name: a, algorithm: token_bucket, capacity: 0, refill_rate: 1, \
             zero_status: 429 }} }}]"
        )
    };
    let listed = "cors: { origins: ['https://app.example.org', 'http://localhost:3000'] }";
    let trusted = "cors: { origins: 'https://app.example.org', credentials: true }";
    // The setting, the request's origin, and what is allowed: origin, credentials, `Vary`.
    let table = [
        ("", "https://app.example.org", "", "", ""),
        ("cors: { origins: '*' }", "https://any.example.org", "*", "", ""),
        ("cors: { origins: '*' }", "", "*", "", ""),
        (listed, "https://app.example.org", "https://app.example.org", "", "origin"),
        (listed, "http://localhost:3000", "http://localhost:3000", "", "origin"),
        (listed, "https://evil.example.org", "", "", "origin"),
        (listed, "https://app.example.org.evil.org", "", "", "origin"),
        (listed, "null", "", "", "origin"),
        (listed, "", "", "", "origin"),
        (trusted, "https://app.example.org", "https://app.example.org", "true", "origin"),
        (trusted, "https://evil.example.org", "", "", "origin"),
    ];
    for (cors, origin, allowed, credentials, vary) in table {
        let (limiter, _) = limiter();
        let fields: Vec<_> = (!origin.is_empty()).then_some(("origin", origin)).into_iter().collect();
        let told = send(&policy(&limiter, &text(cors)), request("GET", "/a", &fields));
        assert_eq!(told.status, 429);
        let got = (
            told.field("access-control-allow-origin"),
            told.field("access-control-allow-credentials"),
            told.field("vary"),
        );
        assert_eq!(got, (allowed, credentials, vary), "{cors} {origin}");
        let exposed = told.field("access-control-expose-headers");
        let wanted = if allowed.is_empty() { "" } else { "ratelimit-policy" };
        assert!(exposed.contains(wanted) && exposed.is_empty() == allowed.is_empty(), "{exposed}");
    }
}
