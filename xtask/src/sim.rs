//! `cargo xtask sim`: the simulations, with their tables in docs/ADAPTIVE.md. Not part of CI.

use std::process::Stdio;

use crate::marked;
use crate::run::command;

/// The seeds of the recorded comparison, and the one of the hour.
const SEEDS: &str = "1 2 3 4 5";
const HOUR_SEED: &str = "1";

/// All adaptive limits in all scenarios. With seeds, only prints the table.
///
/// # Errors
/// When a simulation cannot be run, or the document cannot be written.
pub(crate) fn adaptive(seeds: &[&str]) -> Result<(), String> {
    if !seeds.is_empty() {
        return simulate(&format!("adaptive {}", seeds.join(" "))).map(|_| ());
    }
    let table = simulate(&format!("adaptive {SEEDS}"))?;
    let hour = simulate(&format!("hour {HOUR_SEED}"))?;
    marked::write("docs/ADAPTIVE.md", "adaptive", &format!("Seeds {SEEDS}.\n\n{table}"))?;
    marked::write("docs/ADAPTIVE.md", "hour", &format!("Seed {HOUR_SEED}.\n\n{hour}"))
}

/// A real server that collapses, behind the gateway. It takes two minutes, and needs a machine that has nothing else to do.
///
/// # Errors
/// When it cannot be run, or the document cannot be written.
pub(crate) fn collapse() -> Result<(), String> {
    let line = format!("cargo run --quiet --release --locked -p tollgate-collapse -- {COLLAPSE}");
    let table = printed(&line)?;
    let drawing = "![Goodput with and without an adaptive limit](benchmarks/collapse.svg)";
    marked::write("docs/ADAPTIVE.md", "collapse", &format!("{drawing}\n\n{table}"))
}

/// The drawing of [`collapse`].
const COLLAPSE: &str = "docs/benchmarks/collapse.svg";

fn simulate(words: &str) -> Result<String, String> {
    printed(&format!("cargo run --quiet --release --locked -p tollgate-sim -- {words}"))
}

fn printed(line: &str) -> Result<String, String> {
    // Progress is shown as it comes; the table is kept.
    let output = command(line).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start `{line}`: {error}"))?;
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{table}");
    if output.status.success() { Ok(table) } else { Err(format!("failed: {line}")) }
}
