//! `tollgate serve` as far as its settings: what is in force and from where, and what is wrong with them, drawn.

use crate::support::check;

#[test]
fn settings_in_force_are_printed_with_where_they_come_from() {
    let file = "tests/documents/serve/tollgate.yaml";
    check("serve-print-config", &["serve", "--print-config", "--config", file, "--listen", "127.0.0.1:80"]);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    check("serve-bad-file", &["serve", "--config", "tests/documents/serve/bad.yaml"]);
    let flags = ["--listen", ":80", "--upstream", "127.0.0.1:9000", "--policy", "none.yaml"];
    check("serve-bad-flags", &[["serve"].as_slice(), &flags].concat());
    check("serve-nothing", &["serve"]);
    let two = ["--config", "tests/documents/serve/tollgate.yaml", "--policy", "tests/documents/good.yaml"];
    check("serve-two-policies", &[["serve"].as_slice(), &two].concat());
}
