//! Envoy's rate limit filter, with the example that users copy.

use crate::support::{Envoy, Tollgate, header, status};

const AS_IT_IS: (&str, &str) = ("failure_mode_deny: false", "failure_mode_deny: false");
const DENYING: (&str, &str) = ("failure_mode_deny: false", "failure_mode_deny: true");

#[test]
fn requests_are_granted_and_refused_with_headers() {
    let tollgate = Tollgate::example();
    let envoy = Envoy::new(tollgate.grpc, AS_IT_IS);
    for remaining in ["2", "1", "0"] {
        let granted = envoy.get("/", "");
        assert_eq!(status(&granted), 200, "{granted}");
        assert_eq!(header(&granted, "ratelimit-policy"), Some(r#""per address";q=3;w=3600"#));
        let state = header(&granted, "ratelimit").expect("it has one");
        assert!(state.starts_with(&format!("\"per address\";r={remaining};t=")), "{state}");
        // From the statuses, by Envoy.
        assert_eq!(header(&granted, "x-ratelimit-remaining"), Some(remaining), "{granted}");
        assert_eq!(header(&granted, "retry-after"), None);
    }
    let refused = envoy.get("/", "");
    assert_eq!(status(&refused), 429, "{refused}");
    assert_eq!(header(&refused, "x-envoy-ratelimited"), Some("true"));
    let retry: u64 =
        header(&refused, "retry-after").and_then(|retry| retry.parse().ok()).expect("it has one");
    assert!((1..=3600).contains(&retry), "{refused}");
    assert!(
        header(&refused, "x-ratelimit-limit").is_some_and(|limit| limit.starts_with("3, 3;w=3600")),
        "{refused}"
    );
}

#[test]
fn descriptors_match_as_in_envoyproxy_ratelimit() {
    let tollgate = Tollgate::example();
    let envoy = Envoy::new(tollgate.grpc, AS_IT_IS);
    let report = |user: &str, path: &str| status(&envoy.get(path, &format!("x-user: {user}\r\n")));
    assert_eq!(
        [report("ada", "/reports/1"), report("ada", "/reports/1"), report("ada", "/reports/1")],
        [200, 200, 429]
    );
    // The path is part of the key, and so is the user. One user is unlimited, and without a user no limit matches.
    assert_eq!([report("ada", "/reports/2"), report("bob", "/reports/1")], [200, 200]);
    assert_eq!([(); 4].map(|()| report("batch", "/reports/1")), [200; 4]);
    assert_eq!([(); 4].map(|()| status(&envoy.get("/reports/1", ""))), [200; 4]);
}

#[test]
fn a_limit_in_shadow_mode_refuses_nothing_and_an_override_takes_effect() {
    let tollgate = Tollgate::example();
    let envoy = Envoy::new(tollgate.grpc, AS_IT_IS);
    assert_eq!([(); 3].map(|()| status(&envoy.get("/trial", ""))), [200; 3]);
    let metrics = tollgate.metrics();
    let line = r#"tollgate_envoy_hits_total{limit="edge.generic_key_trial",result="shadow_refused"} 2"#;
    assert!(metrics.contains(line), "{metrics}");
    assert!(
        metrics.contains(r#"tollgate_endpoint_requests_total{endpoint="grpc",result="granted"} 3"#),
        "{metrics}"
    );
    assert_eq!([(); 2].map(|()| status(&envoy.get("/override", ""))), [200, 429]);
}

#[test]
fn without_tollgate_envoys_failure_mode_decides() {
    let mut tollgate = Tollgate::example();
    let (allowing, denying) = (Envoy::new(tollgate.grpc, AS_IT_IS), Envoy::new(tollgate.grpc, DENYING));
    assert_eq!([status(&allowing.get("/trial", "")), status(&denying.get("/trial", ""))], [200, 200]);
    tollgate.kill();
    assert_eq!([status(&allowing.get("/trial", "")), status(&denying.get("/trial", ""))], [200, 500]);
}

/// A store that fails under `deny` is an error of the call. `UNKNOWN` would let the request pass in either mode.
#[test]
fn a_store_that_fails_under_deny_is_never_let_through_by_a_denying_envoy() {
    let limits = "{ domain: edge, descriptors: [{ key: generic_key, rate_limit: { unit: hour, requests_per_unit: 9 } }] }";
    // Nobody listens there.
    let store = format!("redis://127.0.0.1:{}", tollgate_testing::server::free_port("127.0.0.1"));
    for (rule, statuses) in [("deny", [200, 500]), ("allow", [200, 200]), ("local", [200, 200])] {
        let settings = [("STORE_URL", store.as_str()), ("GRPC_WHEN_STORE_FAILS", rule)];
        let tollgate = Tollgate::new(limits, &settings);
        let (allowing, denying) = (Envoy::new(tollgate.grpc, AS_IT_IS), Envoy::new(tollgate.grpc, DENYING));
        let said = [status(&allowing.get("/trial", "")), status(&denying.get("/trial", ""))];
        assert_eq!(said, statuses, "{rule}");
    }
}
