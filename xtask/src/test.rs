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

/// Every step, in order. Each returns how many tests passed in it.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "install", what: "nothing to install: this toolchain is all it takes", run: || Ok(0) },
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
        println!("{:9} {}", step.name, step.what);
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

fn format() -> Result<u64, String> {
    captured(command("cargo fmt --all --check"))?;
    captured(command("cargo fmt --all --check --manifest-path bench/Cargo.toml"))?;
    Ok(0)
}

fn lint() -> Result<u64, String> {
    captured(command("cargo clippy --quiet --workspace --all-targets --locked -- -D warnings"))?;
    captured(command("cargo clippy --quiet --manifest-path bench/Cargo.toml --locked -- -D warnings"))?;
    Ok(0)
}

fn test() -> Result<u64, String> {
    counted(command("cargo test --workspace --all-targets --locked"))
}

fn doctest() -> Result<u64, String> {
    // The mutants are a copy, documentation and all: theirs is not run again.
    counted(command("cargo test --workspace --exclude tollgate-mutants --doc --locked"))
}

fn docs() -> Result<u64, String> {
    let mut doc = command("cargo doc --quiet --workspace --exclude tollgate-mutants --no-deps --locked");
    doc.env("RUSTDOCFLAGS", "-D warnings");
    captured(doc).map(|_| 0)
}

/// Runs tests and counts those that passed. A run that counts none has tested nothing, and fails.
fn counted(command: Command) -> Result<u64, String> {
    let printed = captured(command)?;
    match passed(&printed) {
        0 => Err(format!("{printed}\nno test was run")),
        count => Ok(count),
    }
}

/// The sum over lines such as `test result: ok. 12 passed; 0 failed; …`.
fn passed(printed: &str) -> u64 {
    let count = |line: &str| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<u64>().ok();
    printed.lines().filter_map(count).sum()
}

#[test]
fn passed_tests_are_counted_over_all_binaries() {
    let printed = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 0 ignored\n\ntest result: ok. 3 passed; 0 failed";
    assert_eq!(passed(printed), 15);
    assert_eq!(passed("test result: FAILED. 2 passed; 1 failed"), 0);
}
