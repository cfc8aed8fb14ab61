//! Scenarios: the examples' own pass, and each kind of difference is noticed.

use std::path::Path;
use std::sync::Arc;

use tollgate_engine::simulate;
use tollgate_policy::consumers::{Loader, LoaderLimits};
use tollgate_policy::scenario::Scenarios;
use tollgate_policy::{ConsumerIndex, Policy};

/// Every difference of a file of scenarios, as `scenario/step: what`.
fn differences(name: &str, mut read: impl FnMut(&str) -> Result<String, String>) -> Vec<String> {
    let scenarios = Scenarios::load(name, &mut read).unwrap_or_else(|refused| panic!("{refused}"));
    let policy = Policy::load(&scenarios.policy, &mut read).unwrap_or_else(|refused| panic!("{refused}"));
    let directory = policy.settings().consumers.clone().map(|(file, _)| {
        let mut loader = Loader::new(LoaderLimits::default());
        loader.feed(read(&file).unwrap().as_bytes());
        Arc::new(ConsumerIndex::new(loader.finish().unwrap(), &policy).unwrap())
    });
    let policy = Arc::new(policy);
    let mut all = Vec::new();
    for scenario in &scenarios.list {
        let reports = simulate(scenario, &policy, directory.as_ref()).unwrap();
        assert_eq!(reports.len(), scenario.steps.len());
        for (step, report) in (1..).zip(reports) {
            all.extend(
                report.differences.iter().map(|difference| format!("{}/{step}: {difference}", scenario.name)),
            );
        }
    }
    all
}

#[test]
fn the_examples_scenarios_come_out_as_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies");
    for name in ["reports.scenarios.yaml", "separate.scenarios.yaml", "company/scenarios.yaml"] {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
        assert_eq!(differences(name, read), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn every_kind_of_difference_is_noticed() {
    let policy = "
tollgate: 1
routes:
  - { path: /a, rate_limit: { name: l, algorithm: token_bucket, capacity: 2, refill_rate: 1, cost: { header: X-Cost, max: 9 } } }
  - { path: /b, rate_limit: none }
";
    let scenarios = "
policy: p
scenarios:
  - name: s
    steps:
      - { request: GET /a, expect: { answer: refused } }
      - { request: GET /a, times: 3, expect: { answer: granted, granted: 3, refused: 0, remaining: 7, retry_after: 2s, by: k } }
      - { at: 9s, request: GET /a, headers: { X-Cost: 3 }, expect: refused }
      - { request: GET /b, expect: granted }
      - { request: GET /c, expect: unlimited }
      - { request: GET /a//, expect: granted }
      - { request: GET /a, expect: { retry_after: 1s, by: l } }
";
    let read = |name: &str| Ok(if name == "p" { policy.to_owned() } else { scenarios.to_owned() });
    assert_eq!(
        differences("s", read),
        [
            "s/1: answer: expected refused, got granted",
            "s/2: answer: expected granted, got refused (request 2 of 3)",
            "s/2: granted: expected 3, got 1",
            "s/2: refused: expected 0, got 2",
            "s/2: remaining: expected 7, got 0",
            "s/2: retry_after: expected 2 s, got 1 s",
            "s/2: by: expected k, got l",
            "s/3: answer: expected refused, got never",
            "s/4: answer: expected granted, got unlimited",
            "s/5: answer: expected unlimited, got unmatched",
            "s/6: answer: expected granted, got wrong",
            "s/7: retry_after: expected 1 s, got nothing",
            "s/7: by: expected l, got nothing",
        ]
    );
}

/// Requests that take time hold their permits for it, and those that wait go on when it is their turn.
#[test]
fn requests_take_time_and_wait_for_their_turn() {
    let policy = "
tollgate: 1
routes:
  - { path: /busy, rate_limit: { name: busy, algorithm: concurrency, limit: 2, consumer_key: ip, scope: local } }
  - { path: /patient, rate_limit: { name: patient, algorithm: concurrency, limit: 1, wait: 5s, consumer_key: ip, scope: local } }
  - { path: /queue, rate_limit: { name: queue, algorithm: leaky_bucket_queue, capacity: 3, refill_rate: 2, consumer_key: ip, scope: local } }
  - path: /fair
    rate_limit: { name: fair, algorithm: leaky_bucket_queue, capacity: 8, refill_rate: 2, consumer_key: everyone, fair_by: ip, scope: local }
";
    let scenarios = "
policy: p
scenarios:
  - name: at once
    steps:
      - { request: GET /busy, takes: 3s, times: 3, expect: { granted: 2, refused: 1, by: busy } }
      - { at: 2999ms, request: GET /busy, expect: refused }
      - { at: 3s, request: GET /busy, times: 5, expect: granted }
  - name: in turn
    steps:
      - { request: GET /patient, takes: 2s, times: 4, expect: { granted: 3, refused: 1 } }
      - { at: 4s, request: GET /patient, expect: { answer: granted, waited: 2s } }
  - name: in line
    steps:
      - { request: GET /queue, times: 5, expect: { granted: 4, refused: 1, waited: 0s } }
      - { at: 500ms, request: GET /queue, expect: { answer: granted, waited: 1500ms } }
      - { at: 1m, request: GET /queue, expect: { answer: granted, waited: 0s } }
  - name: fairly
    steps:
      - { request: GET /fair, from: 192.0.2.1, times: 5, expect: { answer: granted, waited: 2500ms } }
      - { request: GET /fair, from: 192.0.2.2, expect: { answer: granted, waited: 1s } }
";
    let policy = Arc::new(Policy::parse("p", policy).unwrap());
    let scenarios = Scenarios::load("s", &mut |_| Ok(scenarios.into())).unwrap();
    for scenario in &scenarios.list {
        let reports = simulate(scenario, &policy, None).unwrap();
        let differences: Vec<_> = reports.iter().map(|report| &report.differences).collect();
        assert!(
            differences.iter().all(|differences| differences.is_empty()),
            "{}: {differences:?}",
            scenario.name
        );
    }
}
