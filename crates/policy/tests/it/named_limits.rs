//! Limits that are defined once and used by name: at what cost, together with which inherited ones, and across files.

use tollgate_policy::{Policy, RequestMatch};

use crate::support::{asked, files, policy};

/// What each request is charged, without the numbers.
fn charged(policy: &Policy, requests: &[&str]) -> Vec<String> {
    let charged = |request: &&str| {
        let lines = asked(&format!("{request} X-API-Key: k")).lines(policy);
        let short = lines.iter().map(|line| {
            let (name, rest) = line.split_once(": ").unwrap_or((line, ""));
            let cost = rest.split(" x").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("?");
            format!("{name} x{cost}")
        });
        format!("{request}: {}", short.collect::<Vec<_>>().join(", "))
    };
    requests.iter().map(charged).collect()
}

const METERED: &str = "
openapi: 3.1.0
info: { title: Metered, version: '1' }
x-tollgate:
  limits:
    monthly: { algorithm: fixed_window, limit: 1000, window: calendar month }
    burst: { algorithm: gcra, capacity: 10, refill_rate: 5 }
    export: { algorithm: gcra, capacity: 2, refill_rate: 0.1, cost: 2 }
x-rate-limit: [{ use: monthly }, { use: burst }]
tags:
  - name: heavy
    x-rate-limit: [{ use: inherited }, { use: monthly, cost: 5 }]
paths:
  /read: { get: {} }
  /search: { get: { tags: [heavy] } }
  /report:
    x-rate-limit: { use: inherited }
    post:
      x-rate-limit:
        - { use: monthly, cost: 25 }
        - { use: inherited }
        - { name: reports, algorithm: gcra, capacity: 3, refill_rate: 1 }
    get: {}
  /export: { get: { x-rate-limit: { use: export } }, put: { x-rate-limit: { use: export, cost: 1 } } }
";

#[test]
fn an_expensive_operation_costs_more_of_the_same_quota() {
    let policy = policy(METERED);
    let requests = ["GET /read", "GET /search", "POST /report", "GET /report", "GET /export", "PUT /export"];
    assert_eq!(
        charged(&policy, &requests),
        [
            "GET /read: monthly x1, burst x1",
            "GET /search: burst x1, monthly x5",
            "POST /report: burst x1, monthly x25, reports x1",
            "GET /report: monthly x1, burst x1",
            "GET /export: export x2",
            "PUT /export: export x1",
        ]
    );
    let names: Vec<_> = policy.limits().iter().map(|limit| limit.name.as_str()).collect();
    assert_eq!(names, ["monthly", "burst", "export", "reports"]);
}

#[test]
fn operations_that_use_one_named_limit_have_one_key_in_one_limit() {
    let policy = policy(METERED);
    let of = |request: &str| {
        let (_, lines) = asked(request).hits(&policy, None).expect("hits");
        lines.into_iter().find(|line| line.starts_with("monthly")).map(|line| line.replace("x25", "x1"))
    };
    let read = of("GET /read X-API-Key: k");
    assert!(read.is_some());
    assert_eq!(read, of("POST /report X-API-Key: k"));
}

#[test]
fn a_cost_at_a_use_may_be_read_from_the_request() {
    let policy = policy(
        "
tollgate: 1
limits: { units: { algorithm: gcra, capacity: 100, refill_rate: 1 } }
routes:
  - { path: /a, rate_limit: { use: units, cost: { header: X-Units, max: 50, default: 3 } } }
  - { path: /b, rate_limit: { use: units, cost: { reported: X-Cost, max: 9, estimate: 2 } } }
",
    );
    assert_eq!(charged(&policy, &["GET /a", "GET /b"]), ["GET /a: units x3", "GET /b: units x2"]);
    assert_eq!(asked("GET /a X-Units: 7").lines(&policy).len(), 1);
    let wrong = asked("GET /a X-Units: 51").lines(&policy);
    assert_eq!(wrong, ["the cost for the limit `units` must be a whole number from 1 to 50"]);
    let (matched, _) = asked("GET /b").hits(&policy, None).expect("hits");
    let RequestMatch::Operation(_) = matched else { panic!("{matched:?}") };
    let uses = policy.uses_of(matched);
    let reported = uses[0].cost.as_ref().and_then(|cost| cost.reported_in());
    assert_eq!(reported.map(|(name, max)| (name.as_str().to_owned(), max)), Some(("x-cost".to_owned(), 9)));
}

#[test]
fn documents_use_the_names_of_the_file_that_names_them_and_inherit_its_limits() {
    let platform = "
tollgate: 1
openapi: [orders.yaml, reports.yaml]
limits:
  monthly: { algorithm: fixed_window, limit: 1000, window: calendar month }
  address: { algorithm: gcra, capacity: 50, refill_rate: 10, consumer_key: ip }
rate_limit: [{ use: monthly }, { use: address }]
tags: { slow: { rate_limit: [{ use: inherited }, { name: slow, algorithm: gcra, capacity: 1, refill_rate: 1 }] } }
";
    let orders = "
openapi: 3.1.0
info: { title: Orders, version: '1' }
x-tollgate: { limits: { orders: { algorithm: gcra, capacity: 5, refill_rate: 1 } } }
x-rate-limit: [{ use: inherited }, { use: orders }]
paths:
  /orders: { get: {}, post: { x-rate-limit: [{ use: monthly, cost: 10 }] } }
  /slow: { get: { tags: [slow] } }
";
    let reports = "
openapi: 3.1.0
info: { title: Reports, version: '1' }
tags: [{ name: slow, x-rate-limit: [{ use: inherited }, { use: monthly, cost: 2 }] }]
paths:
  /reports: { get: { tags: [slow] }, put: {} }
";
    let read = files(&[("platform.yaml", platform), ("orders.yaml", orders), ("reports.yaml", reports)]);
    let policy = read.unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(
        charged(&policy, &["GET /orders", "POST /orders", "GET /slow", "GET /reports", "PUT /reports"]),
        [
            "GET /orders: monthly x1, address x1, orders x1",
            "POST /orders: monthly x10",
            // A tag of the platform's file inherits what would apply without it: the document's root.
            "GET /slow: monthly x1, address x1, orders x1, slow x1",
            // The document's tag inherits from the platform's tag of the same name.
            "GET /reports: address x1, slow x1, monthly x2",
            "PUT /reports: monthly x1, address x1",
        ]
    );
}

#[test]
fn a_reference_to_a_definition_is_the_definition() {
    let policy = policy(
        "
openapi: 3.1.0
info: { title: T, version: '1' }
x-tollgate: { limits: { shared: { $ref: '#/components/x-limits/gcra' } } }
components: { x-limits: { gcra: { algorithm: gcra, capacity: 5, refill_rate: 1 } } }
paths:
  /a: { get: { x-rate-limit: { $ref: '#/x-tollgate/limits/shared' } } }
  /b: { get: { x-rate-limit: { use: shared } } }
  /c: { get: { x-rate-limit: { $ref: '#/components/x-limits/gcra' } } }
",
    );
    assert_eq!(
        charged(&policy, &["GET /a", "GET /b", "GET /c"]),
        ["GET /a: shared x1", "GET /b: shared x1", "GET /c: GET /c x1"]
    );
}

/// Whoever adds a named limit to a list does not rename the limit that stands there.
#[test]
fn unnamed_limits_keep_their_names_beside_named_ones() {
    let names = |limits: &str| {
        let text = format!(
            "tollgate: 1\nlimits: {{ m: {{ algorithm: gcra, capacity: 5, refill_rate: 1 }} }}\nrate_limit: {{ use: m }}\nroutes: [{{ path: /a, rate_limit: {limits} }}]"
        );
        charged(&policy(&text), &["GET /a"])
    };
    let own = "{ algorithm: gcra, capacity: 5, refill_rate: 1 }";
    assert_eq!(names(own), ["GET /a: * /a x1"]);
    assert_eq!(names(&format!("[{{ use: m, cost: 2 }}, {own}]")), ["GET /a: m x2, * /a x1"]);
    assert_eq!(names(&format!("[{own}, {{ use: inherited }}]")), ["GET /a: m x1, * /a x1"]);
}

#[test]
fn what_is_switched_off_is_inherited_as_nothing() {
    let policy = policy(
        "
tollgate: 1
rate_limit: { algorithm: gcra, capacity: 5, refill_rate: 1 }
tags: { free: { rate_limit: none } }
routes:
  - { path: /a, tags: [free], rate_limit: { use: inherited } }
  - { path: /b, tags: [free], rate_limit: [{ use: inherited }, { name: b, algorithm: gcra, capacity: 5, refill_rate: 1 }] }
",
    );
    assert_eq!(charged(&policy, &["GET /a", "GET /b"]), ["GET /a: ", "GET /b: b x1"]);
    assert!(matches!(policy.operations()[0].nearest, tollgate_policy::InheritedFrom::Off(_)));
}
