//! The clients that people use, unmodified: redis-cli, redis-benchmark, redis-py, ioredis.

use std::process::Command;

use tollgate_testing::PYTHON;
use tollgate_testing::patience::within;

use super::support::Served;

const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/node");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/resp");

fn output(what: &'static str, mut command: Command) -> String {
    let output =
        within(what, move || command.output()).expect("it is installed by `cargo xtask test install`");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{what}: {said}{errors}");
    format!("{said}{errors}")
}

fn redis_cli(served: &Served, arguments: &[&str]) -> String {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &served.port().to_string()]).args(arguments);
    output("redis-cli", command)
}

#[test]
fn redis_cli_shows_replies_of_both_protocols() {
    let served = Served::new();
    for protocol in ["-2", "-3"] {
        let said = redis_cli(&served, &[protocol, "CL.THROTTLE", protocol, "15", "30", "60"]);
        assert_eq!(said, "0\n16\n15\n-1\n2\n");
    }
    let said = redis_cli(&served, &["-3", "--no-raw", "TG.CHECK", "TOKEN_BUCKET", "key", "5", "1", "10"]);
    assert!(
        said.contains("\"granted\" => (true)") && said.contains("\"remaining\" => (integer) 4"),
        "{said}"
    );
    let said = redis_cli(&served, &["INFO"]);
    assert!(said.contains("tollgate_version:"), "{said}");
}

/// redis-cli makes both from `COMMAND DOCS`.
#[test]
fn redis_cli_has_help_for_our_commands() {
    let served = Served::new();
    let plain = |said: String| {
        ["1", "90", "33", "0"].iter().fold(said, |said, code| said.replace(&format!("\x1b[{code}m"), ""))
    };
    let said = plain(redis_cli(&served, &["help", "CL.THROTTLE"]));
    assert!(said.contains("CL.THROTTLE key max_burst count period [quantity]"), "{said}");
    assert!(said.contains("summary: Charges a key as in redis-cell"), "{said}");
    let said = plain(redis_cli(&served, &["help", "TG.CHECK", "NAMED"]));
    assert!(said.contains("TG.CHECK NAMED key name [TIER tier] [COST cost]"), "{said}");
}

/// A terminal, in which redis-cli shows hints while somebody types.
#[test]
fn redis_cli_shows_hints() {
    let served = Served::new();
    let mut command = Command::new(PYTHON);
    command.arg(format!("{SCRIPTS}/hints.py")).arg(served.port().to_string());
    let said = output("redis-cli in a terminal", command);
    assert!(said.contains("max_burst count period [quantity]"), "{said}");
}

#[test]
fn redis_benchmark_runs_with_and_without_pipelines() {
    let served = Served::new();
    for pipeline in ["1", "16"] {
        let mut command = Command::new("redis-benchmark");
        command.args([
            "-p",
            &served.port().to_string(),
            "-n",
            "20000",
            "-c",
            "20",
            "-r",
            "1000",
            "-q",
            "-P",
            pipeline,
        ]);
        command.args(["CL.THROTTLE", "key:__rand_int__", "15", "30", "60"]);
        let said = output("redis-benchmark", command);
        assert!(said.contains("requests per second") && !said.contains("WARNING"), "{said}");
    }
    assert_eq!(served.endpoint.metrics().throttle.get(), 40_000);
    let metrics = served.endpoint.endpoint_metrics();
    assert_eq!((metrics.invalid.get(), metrics.granted.get() + metrics.refused.get()), (0, 40_000));
}

#[test]
fn redis_py_works() {
    let served = Served::new();
    let mut command = Command::new(PYTHON);
    command.arg(format!("{SCRIPTS}/client.py")).arg(served.port().to_string());
    assert_eq!(output("redis-py", command), "redis-py: ok\n");
}

#[test]
fn ioredis_works() {
    let served = Served::new();
    let mut command = Command::new("node");
    command.arg(format!("{SCRIPTS}/client.js")).arg(served.port().to_string());
    command.env("NODE_PATH", format!("{NODE}/node_modules"));
    assert_eq!(output("ioredis", command), "ioredis: ok\n");
}
