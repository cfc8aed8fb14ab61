//! The whole metrics page: promtool's verdict, and the values after known events.

use std::io::Write;
use std::process::{Command, Stdio};

use tollgate::Limiter;
use tollgate_engine::PolicyLimits;
use tollgate_policy::Policy;
use tollgate_tower::ResponseConfig;

use super::*;
use crate::active_policy::ActivePolicy;

const POLICY: &str = "
tollgate: 1
routes:
  - path: /reports
    rate_limit: { name: 'odd \"name\\', algorithm: fixed_window, limit: 5, window: 10 s }
";

fn counted() -> Arc<Metrics> {
    let metrics = Metrics::new();
    let policy = Policy::parse("folder/limits.yaml", POLICY).unwrap();
    let limits = PolicyLimits::new(Limiter::new().unwrap(), Arc::new(policy), None);
    let in_force = ActivePolicy::new(limits, ResponseConfig::default(), &metrics, 7);
    metrics.put_in_force(in_force.generation);
    in_force.meters[0].refused.inc();
    for worker in [metrics.worker(), metrics.worker()] {
        worker.decision.record(500);
        worker.connections_open.inc();
        worker.responses.count(http::StatusCode::TOO_MANY_REQUESTS);
        worker.answered.refused.inc();
        worker.upstream_errors.tls.inc();
    }
    metrics.reloads.failed.inc();
    metrics
}

#[test]
fn workers_are_summed_and_everything_has_a_line() {
    let text = counted().encode();
    for line in [
        concat!("tollgate_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n"),
        "tollgate_decisions_total{policy=\"limits.yaml\",limit=\"odd \\\"name\\\\\",outcome=\"refused\"} 1\n",
        "tollgate_decision_seconds_count 2\n",
        "tollgate_decision_seconds_sum 0.000001\n",
        "tollgate_connections_open 2\n",
        "tollgate_responses_total{class=\"4xx\"} 2\n",
        "tollgate_answered_total{kind=\"refused\"} 2\n",
        "tollgate_answered_total{kind=\"bad_gateway\"} 0\n",
        "tollgate_upstream_errors_total{kind=\"tls\"} 2\n",
        "tollgate_reloads_total{result=\"failed\"} 1\n",
        "tollgate_config_generation 7\n",
        "tollgate_store_overflowed_total 0\n",
        "tollgate_log_lines_dropped_total 0\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn before_a_policy_is_loaded_the_page_is_good_too() {
    let text = Metrics::new().encode();
    assert!(text.contains("tollgate_config_generation 0\n") && !text.contains("tollgate_store_"), "{text}");
    checked(&text);
}

#[test]
fn promtool_finds_nothing_wrong_with_the_page() {
    checked(&counted().encode());
}

/// It prints what is wrong with a page, and with its style, and fails if there is something.
fn checked(text: &str) {
    let mut promtool = Command::new("promtool");
    let piped = promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("promtool comes with the package `prometheus`");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success() && said.is_empty(), "{said}\n{text}");
}
