//! `cargo xtask proof`: the long runs, with their reports in docs/PROOF.md. Not part of CI.

use std::process::Stdio;

use crate::bench::machine;
use crate::marked;
use crate::run::command;

/// The run against the model, with the given words, or in full: see `proof/src/main.rs`.
///
/// # Errors
/// When it finds a difference, or cannot be run.
pub(crate) fn model(numbers: &[&str]) -> Result<(), String> {
    run("proof", "tollgate-proof", "long run", numbers)
}

/// The runs against the memory store: see `proof/storm/src/main.rs`.
///
/// # Errors
/// When something is admitted that should not be, or it cannot be run.
pub(crate) fn store(numbers: &[&str]) -> Result<(), String> {
    run("proof store", "tollgate-storm", "store", numbers)
}

/// All orders of every scenario of the table: see `proof/explore/src/main.rs`.
///
/// # Errors
/// When something goes wrong in one of them.
pub(crate) fn explore(numbers: &[&str]) -> Result<(), String> {
    run("proof explore", "tollgate-explore", "explore", numbers)
}

/// The scripts of the shared store against the core, on real servers: see `proof/twins/src/main.rs`.
///
/// # Errors
/// When it finds a difference, or cannot be run.
pub(crate) fn redis(numbers: &[&str]) -> Result<(), String> {
    run("proof redis", "tollgate-twins", "redis", numbers)
}

/// Faults of real servers at full load: see `proof/faults/src/main.rs`.
///
/// # Errors
/// When a decision was wrong, or it cannot be run.
pub(crate) fn faults(words: &[&str]) -> Result<(), String> {
    run("faults", "tollgate-faults", "faults", words)
}

fn run(name: &str, package: &str, section: &str, numbers: &[&str]) -> Result<(), String> {
    let line = format!("cargo run --release --locked -p {package} -- {}", numbers.join(" "));
    // Progress is shown as it comes; the report is kept.
    let output = command(&line).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start `{line}`: {error}"))?;
    let report = String::from_utf8_lossy(&output.stdout);
    println!("{report}");
    if !output.status.success() {
        return Err(format!("failed: {line}"));
    }
    if !numbers.is_empty() {
        // Only the full run goes on record.
        return Ok(());
    }
    let separator = if section != "long run" { ".\n\n" } else { ", " };
    let report = format!("`cargo xtask {name}` on {}{separator}{report}", machine()?);
    let document = if section == "faults" { "docs/FAULTS.md" } else { "docs/PROOF.md" };
    marked::write(document, section, &report)
}
