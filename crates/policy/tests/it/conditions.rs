//! Limits that apply to some requests only: by headers and query parameters.

use crate::support::{asked, files, policy};

const EXPORTS: &str = "
openapi: 3.1.0
info: { title: Exports, version: '1' }
x-tollgate: { limits: { units: { algorithm: gcra, capacity: 100, refill_rate: 1 } } }
x-rate-limit: { use: units }
paths:
  /export:
    get:
      x-rate-limit:
        - { use: inherited }
        - { use: units, cost: 25, when: { query: { format: pdf } } }
        - { use: units, cost: 50, when: { query: { format: pdf }, header: { X-Quality: high } } }
        - { name: previews, algorithm: gcra, capacity: 2, refill_rate: 1, when: { header: { X-Preview: } } }
";

#[test]
fn the_last_use_whose_condition_is_met_counts() {
    let policy = policy(EXPORTS);
    let table = [
        ("GET /export", "units x1"),
        ("GET /export?format=csv", "units x1"),
        ("GET /export?format=pdf", "units x25"),
        ("GET /export?format=p%64f", "units x25"),
        ("GET /export?format=pdf X-Quality: high", "units x50"),
        ("GET /export X-Quality: high", "units x1"),
        ("GET /export X-Preview: yes", "units x1, previews x1"),
        ("GET /export X-Preview: ", "units x1, previews x1"),
        // The upstream may read the other value.
        ("GET /export?format=csv&format=pdf", "units x25"),
        ("GET /export?format=pdf X-Quality: low | X-Quality: high", "units x50"),
    ];
    for (request, wanted) in table {
        let lines = asked(request).lines(&policy);
        let short: Vec<_> = lines
            .iter()
            .map(|line| {
                let (name, rest) = line.split_once(": ").expect("a charge");
                let cost = rest.split(" x").nth(1).and_then(|rest| rest.split(' ').next());
                format!("{name} x{}", cost.expect("a cost"))
            })
            .collect();
        assert_eq!(short.join(", "), wanted, "{request}");
    }
}

#[test]
fn a_conditional_use_neither_satisfies_nor_undercuts_a_required_limit() {
    let platform = "tollgate: 1\nopenapi: team.yaml\nlimits: { units: { algorithm: gcra, capacity: 100, refill_rate: 1, required: true } }\nrate_limit: { use: units, cost: 2 }\n";
    let said = |limits: &str| {
        let team = format!(
            "openapi: 3.1.0\ninfo: {{ title: T, version: '1' }}\npaths: {{ /a: {{ get: {{ x-rate-limit: {limits} }} }} }}"
        );
        files(&[("platform.yaml", platform), ("team.yaml", &team)]).err().map(|refused| refused.to_string())
    };
    let pdf = "when: { query: { format: pdf } }";
    assert_eq!(said(&format!("[{{ use: inherited }}, {{ use: units, cost: 9, {pdf} }}]")), None);
    let cheaper =
        said(&format!("[{{ use: inherited }}, {{ use: units, cost: 1, {pdf} }}]")).expect("refused");
    assert!(cheaper.contains("a request costs less of the required limit `units`"), "{cheaper}");
    let sometimes = said(&format!("[{{ use: units, cost: 9, {pdf} }}]")).expect("refused");
    assert!(sometimes.contains("the required limit `units` does not apply here"), "{sometimes}");
}

#[test]
fn lint_says_where_requests_without_the_condition_have_no_limit() {
    let policy = policy(
        "
tollgate: 1
routes:
  - { path: /a, rate_limit: { name: a, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ip, when: { query: { q: } } } }
",
    );
    let advice = tollgate_policy::lint::advise(&policy);
    let lines = advice.findings.lines(policy.sources());
    assert!(
        lines.iter().any(|line| line.contains("* /a has no limit for requests that meet no condition")),
        "{lines:?}"
    );
    assert_eq!(advice.coverage.whole.limited, 0);
}

#[test]
fn a_condition_that_came_or_went_is_a_difference() {
    let with = |when: &str| {
        policy(&format!(
            "tollgate: 1\nlimits: {{ u: {{ algorithm: gcra, capacity: 50, refill_rate: 1 }} }}\nrate_limit: {{ use: u }}\nroutes: [{{ path: /a, rate_limit: [{{ use: inherited }}, {{ use: u, cost: 5, {when} }}] }}]"
        ))
    };
    let (pdf, csv) = (with("when: { query: { format: pdf } }"), with("when: { query: { format: csv } }"));
    assert!(tollgate_policy::diff::diff(&pdf, &pdf).is_empty());
    let changed = tollgate_policy::diff::diff(&pdf, &csv);
    assert_eq!(changed.operations.len(), 1, "{changed:?}");
    let dearer = tollgate_policy::diff::diff(
        &pdf,
        &with("when: { query: { format: pdf } }, cost: 5".replace(", cost: 5", "").as_str()),
    );
    assert!(dearer.is_empty());
}

#[test]
fn another_cost_at_a_use_is_a_difference_of_that_operation_alone() {
    let with = |cost: u64| {
        policy(&format!(
            "tollgate: 1\nlimits: {{ u: {{ algorithm: gcra, capacity: 50, refill_rate: 1 }} }}\nrate_limit: {{ use: u }}\nroutes: [{{ path: /a }}, {{ path: /b, rate_limit: {{ use: u, cost: {cost} }} }}]"
        ))
    };
    let changed = tollgate_policy::diff::diff(&with(5), &with(10));
    let rows: Vec<_> =
        changed.operations.iter().map(|row| format!("{} {:?}", row.name, row.verdict)).collect();
    assert_eq!(rows, ["* /b Tighter"]);
    assert!(changed.limits.is_empty());
    assert!(tollgate_policy::diff::diff(&with(10), &with(5)).fails_on(tollgate_policy::diff::FailOn::Looser));
}
