//! The JSON API: what is granted, what is refused, and what is an error.

use serde_json::json;
use tollgate_testing::patience::until;

use crate::support::Served;

/// A policy with a limit by name, a limit by address, and a concurrency limit; and no gateway.
const POLICY: &str = "
tollgate: 1
limits:
  logins: { algorithm: token_bucket, capacity: 2, refill_rate: 0.001 }
  reports at once: { algorithm: concurrency, limit: 1 }
routes:
  - path: /reports
    rate_limit: { name: reports, algorithm: fixed_window, limit: 1, window: 1 h, consumer_key: ip }
  - path: /login
    rate_limit: { use: logins }
  - path: /slow
    rate_limit: { use: reports at once }
  - path: /free
serve:
  api: { listen: '127.0.0.1:0' }
  operations: { listen: none }
";
/// Nothing but the endpoint.
const ALONE: &str = "tollgate: 1\nserve:\n  api: { listen: '127.0.0.1:0' }\n  operations: { listen: none }\n";

const RATE: &str = "1 per hour, burst 2";

fn hit(key: &str) -> String {
    json!({ "rate": RATE, "key": key }).to_string()
}

#[test]
fn a_limit_that_a_client_brings_grants_and_refuses() {
    let served = Served::new(ALONE);
    let check = |key: &str| served.post("/v1/check", &format!("{{\"hits\":[{}]}}", hit(key)));
    let first = check("ada");
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(first.json()["limits"][0]["remaining"], 1);
    assert_eq!(check("ada").status, 200);
    let refused = check("ada");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert_eq!(refused.json()["result"], "refused");
    let seconds: u64 = refused.header("retry-after").expect("it says when").parse().expect("seconds");
    assert!((3_500..=3_600).contains(&seconds), "{seconds}");
    assert_eq!(check("bob").status, 200, "another key has its own count");
    // All or none: bob is not charged, because ada is refused.
    let both = served.post("/v1/check", &format!("{{\"hits\":[{},{}]}}", hit("bob"), hit("ada")));
    assert_eq!(both.status, 429);
    let bob = served.post("/v1/peek", &format!("{{\"hits\":[{}]}}", hit("bob")));
    assert_eq!((bob.status, &bob.json()["limits"][0]["remaining"]), (200, &json!(1)));
    // A cost that never fits has no time at which it does.
    let never = served.post("/v1/check", r#"{"hits":[{"rate":"1 per hour, burst 2","key":"eve","cost":3}]}"#);
    assert_eq!((never.status, &never.json()["retry_after_ms"]), (429, &json!(null)));
    assert_eq!(never.header("retry-after"), None);
    // Names and algorithms separate keys.
    for other in [
        r#"{"rate":"1 per hour, burst 2","limit":"x","key":"ada"}"#,
        r#"{"rate":"gcra: 1 per hour, burst 2","key":"ada"}"#,
    ] {
        assert_eq!(served.post("/v1/check", &format!("{{\"hits\":[{other}]}}")).status, 200, "{other}");
    }
    // A limit in shadow mode is counted, and refuses nothing.
    let shadow =
        served.post("/v1/check", r#"{"hits":[{"rate":"1 per hour, burst 2","key":"ada","shadow":true}]}"#);
    assert_eq!((shadow.status, &shadow.json()["limits"][0]["granted"]), (200, &json!(false)));
}

#[test]
fn limits_of_the_policy_are_charged_by_name_and_requests_by_its_rules() {
    let served = Served::new(POLICY);
    let login = || served.post("/v1/check", r#"{"hits":[{"limit":"logins","key":"ada"}]}"#).status;
    assert_eq!([login(), login(), login()], [200, 200, 429]);
    let unknown = served.post("/v1/check", r#"{"hits":[{"limit":"login","key":"ada"}]}"#);
    assert_eq!((unknown.status, &unknown.json()["pointer"]), (404, &json!("/hits/0/limit")));
    let request = |target: &str, address: &str| {
        let request = json!({ "request": { "method": "GET", "target": target, "address": address } });
        served.post("/v1/check", &request.to_string())
    };
    let granted = request("/reports", "203.0.113.9");
    assert_eq!(granted.status, 200, "{granted:?}");
    assert!(
        granted.header("ratelimit").expect("it shows the limit").contains("\"reports\";r=0"),
        "{granted:?}"
    );
    // Another spelling of the path is the same limit.
    let refused = request("/%72eports?page=2", "203.0.113.9");
    assert_eq!((refused.status, &refused.json()["limits"][0]["name"]), (429, &json!("reports")));
    assert!(refused.header("retry-after").is_some() && refused.header("ratelimit").is_some());
    assert_eq!(request("/reports", "203.0.113.10").status, 200);
    assert_eq!(request("/free", "203.0.113.9").status, 200);
    let unmatched = request("/elsewhere", "203.0.113.9");
    assert_eq!((unmatched.status, &unmatched.json()["pointer"]), (422, &json!("/request")));
    let explained = served.ask("GET", "/v1/explain?target=/reports&address=203.0.113.9", "", "");
    assert_eq!((explained.status, &explained.json()["limits"][0]["name"]), (200, &json!("reports")));
    for wrong in [
        "",
        "?target=reports",
        "?target=/a&target=/b",
        "?target=/a&x=1",
        "?target=/a&address=x",
        "?target=%zz",
    ] {
        assert_eq!(served.ask("GET", &format!("/v1/explain{wrong}"), "", "").status, 400, "{wrong}");
    }
}

#[test]
fn a_receipt_is_refunded_once() {
    let served = Served::new(ALONE);
    let charged = served.post("/v1/check", &format!("{{\"receipt\":true,\"hits\":[{}]}}", hit("ada")));
    let receipt = charged.json()["receipt"].as_str().expect("an id").to_owned();
    assert_eq!(receipt.len(), 32);
    let refund = || served.post("/v1/refund", &json!({ "receipt": receipt }).to_string());
    let refunded = refund();
    assert_eq!((refunded.status, &refunded.json()["refunded"]), (200, &json!(1)));
    assert_eq!(refund().status, 404);
    let other = served.post("/v1/refund", &json!({ "receipt": "0".repeat(32) }).to_string());
    assert_eq!((other.status, &other.json()["pointer"]), (404, &json!("/receipt")));
    let left = served.post("/v1/peek", &format!("{{\"hits\":[{}]}}", hit("ada")));
    assert_eq!(left.json()["limits"][0]["remaining"], 2);
}

#[test]
fn a_reservation_is_committed_or_cancelled() {
    let served = Served::new(ALONE);
    let hits = r#"[{"rate":"1 per day, burst 1000","key":"ada","cost":400}]"#;
    let reserve = || {
        let reserved = served.post("/v1/reserve", &format!("{{\"hits\":{hits},\"expires_in_ms\":60000}}"));
        (reserved.status, reserved.json()["reservation"].as_str().unwrap_or_default().to_owned())
    };
    let (status, id) = reserve();
    assert_eq!(status, 200);
    let commit = |id: &str, actual: u64| {
        served.post("/v1/commit", &json!({ "reservation": id, "actual": actual }).to_string())
    };
    assert_eq!(commit(&id, 150).json()["refunded"], 250);
    assert_eq!(commit(&id, 150).json()["refunded"], 0, "again it changes nothing");
    let cancel = |id: &str| served.post("/v1/cancel", &json!({ "reservation": id }).to_string());
    assert_eq!(cancel(&id).status, 409, "it was committed");
    let (_, second) = reserve();
    assert_eq!(cancel(&second).json()["refunded"], 400);
    assert_eq!(commit(&second, 1).status, 409, "it was cancelled");
    assert_eq!(cancel(&"f".repeat(32)).status, 404);
    assert_eq!(cancel("odd").status, 400);
    let left = served.post("/v1/peek", r#"{"hits":[{"rate":"1 per day, burst 1000","key":"ada"}]}"#);
    assert_eq!(left.json()["limits"][0]["remaining"], 850);
}

#[test]
fn a_permit_is_released_or_expires() {
    let served = Served::new(POLICY);
    let acquire = |body: &str| served.post("/v1/acquire", body);
    let brought = r#"{"concurrency":1,"key":"ada"}"#;
    let first = acquire(brought);
    assert_eq!(first.status, 200, "{first:?}");
    let busy = acquire(brought);
    assert_eq!((busy.status, &busy.json()["in_progress"]), (429, &json!(1)));
    let release =
        |id: &serde_json::Value| served.post("/v1/release", &json!({ "permit": id }).to_string()).status;
    let id = first.json()["permit"].clone();
    assert_eq!([release(&id), release(&id)], [200, 404]);
    // Its holder crashes: it expires.
    let lost = acquire(r#"{"concurrency":1,"key":"ada","expires_in_ms":1}"#);
    assert_eq!(lost.status, 200);
    until("the permit expires", || acquire(brought).status == 200);
    assert_eq!(release(&lost.json()["permit"]), 404, "a late release frees nobody else's");
    assert_eq!(acquire(brought).status, 429);
    // The policy's own.
    let of_policy = r#"{"limit":"reports at once","key":"ada"}"#;
    assert_eq!([acquire(of_policy).status, acquire(of_policy).status], [200, 429]);
    assert_eq!(acquire(r#"{"limit":"logins","key":"ada"}"#).status, 404, "it is no concurrency limit");
}

#[test]
fn without_a_store_there_is_no_decision_and_that_is_no_grant() {
    let store = "  store: { url: 'redis://127.0.0.1:1' }\n";
    let served = Served::new(&format!("{ALONE}{store}"));
    let check = |fails: &str| {
        let hit = json!({ "rate": RATE, "key": "ada", "when_store_fails": fails });
        served.post("/v1/check", &json!({ "hits": [hit] }).to_string())
    };
    let denied = check("deny");
    assert_eq!(denied.status, 503, "{denied:?}");
    assert_eq!(denied.header("content-type").as_deref(), Some("application/problem+json"));
    let allowed = check("allow");
    assert_eq!((allowed.status, &allowed.json()["degraded"]), (200, &json!(true)));
    let local = [check("local").status, check("local").status, check("local").status];
    assert_eq!(local, [200, 200, 429], "its share is counted here");
    assert_eq!(served.post("/v1/peek", &format!("{{\"hits\":[{}]}}", hit("ada"))).status, 503);
}

#[test]
fn what_is_wrong_is_told_by_its_member_and_charges_nothing() {
    let served = Served::new(ALONE);
    let long = "x".repeat(1_025);
    for (body, pointer) in [
        (r#"{"hits":[{"rate":"1 per hour, burst 2","key":"a","cost":1e3}]}"#.to_owned(), "/hits/0/cost"),
        (r#"{"hits":[{"rate":"1 per hour, burst 2","key":"a","cost":-1}]}"#.into(), "/hits/0/cost"),
        (r#"{"hits":[{"rate":"1 per hour, burst 2","key":"a","cost":1.0}]}"#.into(), "/hits/0/cost"),
        (
            r#"{"hits":[{"rate":"1 per hour, burst 2","key":"a","cost":9007199254740992}]}"#.into(),
            "/hits/0/cost",
        ),
        (r#"{"hits":[{"rate":"1 per hour, burst 2","key":"a","cots":1}]}"#.into(), "/hits/0/cots"),
        (r#"{"hits":[{"rate":"ten per hour","key":"a"}]}"#.into(), "/hits/0/rate"),
        (r#"{"hits":[{"rate":"0 per hour","key":"a"}]}"#.into(), "/hits/0/rate"),
        (r#"{"hits":[{"rate":"1 per hour, burst 2"}]}"#.into(), "/hits/0"),
        (r#"{"hits":[{"rate":"1 per hour, burst 2","key":7}]}"#.into(), "/hits/0/key"),
        (format!(r#"{{"hits":[{{"rate":"1 per hour","key":"{long}"}}]}}"#), "/hits/0/key"),
        (format!(r#"{{"hits":[{}]}}"#, vec![hit("a"); 33].join(",")), "/hits"),
        (r#"{"hits":[]}"#.into(), "/hits"),
        (r#"{"hits":{}}"#.into(), "/hits"),
        (r#"{"hits":[1]}"#.into(), "/hits/0"),
        (r#"{"hits":[{"rate":"1 per hour","key":"a"},{"rate":"2 per hour","key":"a"}]}"#.into(), "/hits"),
        (
            r#"{"hits":[{"rate":"1 per hour","key":"a","when_store_fails":"open"}]}"#.into(),
            "/hits/0/when_store_fails",
        ),
        (r#"{"request":{"method":"GET","target":"x","address":"::1"}}"#.into(), "/request/target"),
        (r#"{"request":{"method":"GET","target":"/","address":"localhost"}}"#.into(), "/request/address"),
        (
            r#"{"request":{"method":"GET","target":"/","address":"::1","headers":{"a b":"c"}}}"#.into(),
            "/request/headers/a b",
        ),
        (
            r#"{"request":{"method":"GET","target":"/","address":"::1","headers":{"a":"b\r\nc"}}}"#.into(),
            "/request/headers/a",
        ),
    ] {
        let response = served.post("/v1/check", &body);
        assert_eq!(
            (response.status, response.json()["pointer"].as_str()),
            (400, Some(pointer)),
            "{body}\n{response:?}"
        );
    }
    for body in [
        "",
        "{}",
        "[]",
        "null",
        "{\"hits\":[],\"hits\":[]}",
        "{\"hits\":[{\"cost\":NaN}]}",
        &"[".repeat(5_000),
    ] {
        let response = served.post("/v1/check", body);
        assert_eq!(response.status, 400, "{body}");
        assert_eq!(response.header("content-type").as_deref(), Some("application/problem+json"));
    }
    let left = served.post("/v1/peek", &format!("{{\"hits\":[{}]}}", hit("a")));
    assert_eq!(left.json()["limits"][0]["remaining"], 2, "nothing was charged");
}
