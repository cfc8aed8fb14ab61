//! A gRPC client in Python: statuses, errors, tokens, health and reflection; and reloads.

use std::process::Command;

use tollgate_testing::PYTHON;
use tollgate_testing::patience::{until, within};

use crate::support::Tollgate;

const LIMITS: &str =
    "{ domain: edge, descriptors: [{ key: a, rate_limit: { name: as, unit: hour, requests_per_unit: 2 } }] }";

/// What the client says.
fn ask(tollgate: &Tollgate, args: &[&str]) -> String {
    let mut command = Command::new(PYTHON);
    command.args(["tests/envoy/client.py", &tollgate.grpc.to_string()]).args(args);
    let asked = within("the client ends", move || command.output());
    let asked = asked.expect("`cargo xtask test install` installs grpcio");
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(asked.status.success(), "{said}{}", String::from_utf8_lossy(&asked.stderr));
    said.trim().to_owned()
}

#[test]
fn statuses_and_errors_are_those_of_the_protocol() {
    let tollgate = Tollgate::new(LIMITS, &[]);
    let check = |args: &[&str]| ask(&tollgate, &[&["check"], args].concat());
    assert!(check(&["edge", "a=1"]).starts_with("OK [OK 1/2 as "), "{}", check(&["edge", "a=2"]));
    assert!(check(&["edge", "a=1"]).starts_with("OK [OK 0/2 as "));
    assert!(check(&["edge", "a=1"]).starts_with("OVER_LIMIT [OVER_LIMIT 0/2 as "));
    assert_eq!(check(&["edge", "b=1"]), "OK [OK]");
    assert_eq!(check(&["unknown", "a=1"]), "OK [OK]");
    assert_eq!(
        check(&["", "a=1"]),
        "INVALID_ARGUMENT the domain is empty: set `domain` in Envoy's rate limit filter"
    );
    let many = ["a=1"; 33];
    let error = check(&[&["edge"], many.as_slice()].concat());
    assert!(error.starts_with("INVALID_ARGUMENT there are 33 descriptors"), "{error}");
    assert_eq!(ask(&tollgate, &["garbage"]), "INTERNAL");
    assert_eq!(ask(&tollgate, &["huge"]), "OUT_OF_RANGE");
    // And it serves on.
    assert!(check(&["edge", "a=3"]).starts_with("OK [OK 1/2"));
}

#[test]
fn health_and_reflection_answer() {
    let tollgate = Tollgate::new(LIMITS, &[]);
    assert_eq!(ask(&tollgate, &["health"]), "SERVING");
    let services = ask(&tollgate, &["reflection"]);
    assert_eq!(services, "envoy.service.ratelimit.v3.RateLimitService grpc.health.v1.Health");
}

#[test]
fn a_token_is_asked_for_if_the_settings_say_so() {
    let tokens = tollgate_testing::folder::Folder::new("tokens");
    let file = tokens.put("tokens", b"0123456789abcdef0123456789abcdef\n");
    let tollgate = Tollgate::new(LIMITS, &[("GRPC_TOKENS", &file)]);
    assert!(ask(&tollgate, &["check", "edge", "a=1"]).starts_with("UNAUTHENTICATED send a token"));
    let token = ["--token", "0123456789abcdef0123456789abcdef"];
    assert!(
        ask(&tollgate, &[token.as_slice(), &["check", "edge", "a=1"]].concat()).starts_with("OK [OK 1/2")
    );
    let wrong = ["--token", "x123456789abcdef0123456789abcdef"];
    let denied = ask(&tollgate, &[wrong.as_slice(), &["check", "edge", "a=1"]].concat());
    assert!(denied.starts_with("UNAUTHENTICATED the token is not one of this endpoint"), "{denied}");
}

#[test]
fn limits_are_reloaded_and_bad_ones_are_not() {
    let tollgate = Tollgate::new(LIMITS, &[]);
    assert!(ask(&tollgate, &["check", "edge", "a=1"]).starts_with("OK [OK 1/2 as "));
    tollgate
        .folder
        .put("limits.yaml", LIMITS.replace("requests_per_unit: 2", "requests_per_unit: 7").as_bytes());
    let reloads = |result: &str, count: u32| {
        let line = format!("tollgate_reloads_total{{result=\"{result}\"}} {count}\n");
        until("the file is read again", || tollgate.metrics().contains(&line));
    };
    reloads("ok", 1);
    assert!(ask(&tollgate, &["check", "edge", "a=1"]).starts_with("OK [OK 5/7 as "));
    tollgate.folder.put("limits.yaml", b"domain: edge\ndescriptors: [{ kee: a }]\n");
    reloads("failed", 1);
    assert!(ask(&tollgate, &["check", "edge", "a=1"]).starts_with("OK [OK 4/7 as "));
    let log = std::fs::read_to_string(tollgate.folder.path("log")).expect("it has a log");
    assert!(log.contains("limits.yaml:2:17: error: a descriptor has no field `kee`"), "{log}");
}
