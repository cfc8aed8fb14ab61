//! `cargo xtask test`: the whole of CI, step by step, with times and a count. What is tested is elsewhere.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::run::command;
use crate::{examples, install, library, package, readme, service};

/// A step of the test command.
pub(crate) struct Step {
    /// What it is called, here and in the README.
    pub(crate) name: &'static str,
    /// What it does, in a few words.
    what: &'static str,
    /// How long it may take from a cold cache on two busy cores. Longer than that, something hangs.
    minutes: u64,
    run: fn(&Deadline) -> Result<u64, String>,
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
        what: "git, rustfmt, clippy, prometheus, grpcio, envoy, redis, valkey, iproute2 and faketime, if missing; the crates",
        minutes: 10,
        run: install,
    },
    Step { name: "format", what: "cargo fmt --check, both workspaces", minutes: 2, run: format },
    Step { name: "lint", what: "cargo clippy, no warnings, both workspaces", minutes: 30, run: lint },
    Step { name: "test", what: "unit, law, model, mutant and tidy tests", minutes: 45, run: test },
    Step {
        name: "doctest",
        what: "every example in the documentation and the README",
        minutes: 20,
        run: doctest,
    },
    Step { name: "docs", what: "cargo doc, no broken links", minutes: 20, run: docs },
    Step {
        name: "library",
        what: "the README's five lines and the layer's, with only the dependencies they print",
        minutes: 15,
        run: programs,
    },
    Step {
        name: "package",
        what: "every crate that ships, packed as for a registry",
        minutes: 5,
        run: package::run,
    },
    Step { name: "examples", what: "every example prints what it should", minutes: 20, run: examples::run },
    Step {
        name: "readme",
        what: "every command of the README prints what it says",
        minutes: 20,
        run: readme::run,
    },
];

/// The inner loop: what finds most mistakes, in little time. It needs no server, and nothing that `install` installs.
pub(crate) const FAST: &[Step] = &[
    Step { name: "format", what: "cargo fmt --check", minutes: 2, run: format_workspace },
    Step { name: "lint", what: "cargo clippy, no warnings", minutes: 20, run: lint_workspace },
    Step {
        name: "test",
        what: "unit, behaviour and tidy tests without servers",
        minutes: 20,
        run: test_fast,
    },
];

/// Packages whose tests play millions of decisions or start servers: they are left to the whole run.
const SLOW: [&str; 5] =
    ["tollgate-explore", "tollgate-faults", "tollgate-mutants", "tollgate-proof", "tollgate-twins"];

/// Tests that start servers although their neighbours do not: parts of their names.
const WITH_SERVERS: [&str; 4] = ["prometheus", "promtool", "make::tests::each_make", "server::tests::"];

/// Runs the named steps, or all if none is named, and stops at the first that fails. `--fast` names the inner loop.
///
/// # Errors
/// When a step fails or does not finish before its deadline, or when there is no step of a name.
#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    let steps = chosen(names)?;
    let start = Instant::now();
    let mut passed = 0;
    for step in steps {
        println!("{}", step.title());
        let began = Instant::now();
        let deadline = Deadline::after(Duration::from_secs(60 * step.minutes));
        let count = (step.run)(&deadline).map_err(|why| format!("{why}\n\nstep `{}` failed", step.name))?;
        let counted = if count > 0 { format!(", {count} passed") } else { String::new() };
        println!("{:9} ok in {:.1?}{counted}", "", began.elapsed());
        passed += count;
    }
    println!("\neverything in {:.0?}", start.elapsed());
    println!("{passed} passed, 0 failed");
    Ok(())
}

/// The steps of these names in their order, or all.
fn chosen(names: &[&str]) -> Result<Vec<&'static Step>, String> {
    if names == ["--fast"] {
        return Ok(FAST.iter().collect());
    }
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|step| step.name == **name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("there is no step `{unknown}`; the steps are {}", known.join(", ")));
    }
    Ok(STEPS.iter().filter(|step| names.is_empty() || names.contains(&step.name)).collect())
}

/// What the steps after it need besides cargo.
fn install(deadline: &Deadline) -> Result<u64, String> {
    install::for_tests(deadline)?;
    deadline.captured(command("cargo fetch --quiet --locked"))?;
    deadline.captured(command("cargo fetch --quiet --locked --manifest-path bench/Cargo.toml"))?;
    Ok(0)
}

fn format(deadline: &Deadline) -> Result<u64, String> {
    format_workspace(deadline)?;
    deadline.captured(command("cargo fmt --all --check --manifest-path bench/Cargo.toml"))?;
    Ok(0)
}

fn format_workspace(deadline: &Deadline) -> Result<u64, String> {
    deadline.captured(command("cargo fmt --all --check")).map(|_| 0)
}

fn lint(deadline: &Deadline) -> Result<u64, String> {
    lint_workspace(deadline)?;
    deadline.captured(command(
        "cargo clippy --quiet --manifest-path bench/Cargo.toml --all-targets --locked -- -D warnings",
    ))?;
    Ok(0)
}

fn lint_workspace(deadline: &Deadline) -> Result<u64, String> {
    let clippy = "cargo clippy --quiet --workspace --all-targets --all-features --locked -- -D warnings";
    deadline.captured(command(clippy)).map(|_| 0)
}

fn test_fast(deadline: &Deadline) -> Result<u64, String> {
    let excluded: String = SLOW.map(|package| format!(" --exclude {package}")).concat();
    let skipped: String = WITH_SERVERS.map(|part| format!(" --skip {part}")).concat();
    let tests = "--all-features --locked --lib --bins --test it --test allocations";
    counted(command(&format!("cargo test --workspace{excluded} {tests} --{skipped}")), deadline)
}

fn test(deadline: &Deadline) -> Result<u64, String> {
    counted(command("cargo test --workspace --all-targets --all-features --locked"), deadline)
}

fn doctest(deadline: &Deadline) -> Result<u64, String> {
    // The mutants are a copy, documentation and all: theirs is not run again.
    counted(
        command("cargo test --workspace --exclude tollgate-mutants --all-features --doc --locked"),
        deadline,
    )
}

fn docs(deadline: &Deadline) -> Result<u64, String> {
    let mut doc =
        command("cargo doc --quiet --workspace --exclude tollgate-mutants --all-features --no-deps --locked");
    doc.env("RUSTDOCFLAGS", "-D warnings");
    deadline.captured(doc).map(|_| 0)
}

/// The programs that newcomers meet first.
fn programs(deadline: &Deadline) -> Result<u64, String> {
    Ok(library::run(deadline)? + service::run(deadline)?)
}

/// Runs tests and counts those that passed. A run that counts none has tested nothing, and fails; so does one that
/// leaves a test out.
fn counted(command: Command, deadline: &Deadline) -> Result<u64, String> {
    let printed = deadline.captured(command)?;
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
fn steps_are_chosen_by_their_names_and_run_in_their_order() {
    let names = |wanted: &[&str]| {
        chosen(wanted).map(|steps| steps.into_iter().map(|step| step.name).collect::<Vec<_>>())
    };
    assert_eq!(names(&[]).unwrap().len(), STEPS.len());
    assert_eq!(names(&["--fast"]), Ok(vec!["format", "lint", "test"]));
    assert_eq!(names(&["docs", "format"]), Ok(vec!["format", "docs"]));
    assert!(
        names(&["docs", "fromat"])
            .unwrap_err()
            .starts_with("there is no step `fromat`; the steps are install,")
    );
}

#[test]
fn tests_are_counted_over_all_binaries() {
    let printed = "test a ... ok\ntest result: ok. 12 passed; 0 failed; 1 ignored; 0 measured\n\n\
                   test result: ok. 3 passed; 0 failed; 0 ignored";
    assert_eq!((sum(printed, "passed"), sum(printed, "ignored")), (15, 1));
    assert_eq!(sum("test result: FAILED. 2 passed; 1 failed", "passed"), 0);
}
