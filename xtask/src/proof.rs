//! `cargo xtask proof`: the long run against the model, with its report in docs/PROOF.md. Not part of CI.

use std::process::Stdio;

use crate::bench::machine;
use crate::marked;
use crate::run::command;

/// Runs it with the given words, or in full: see `proof/src/main.rs`.
///
/// # Errors
/// When it finds a difference, or cannot be run.
pub(crate) fn run(numbers: &[&str]) -> Result<(), String> {
    let line = format!("cargo run --release --locked -p tollgate-proof -- {}", numbers.join(" "));
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
    marked::write("docs/PROOF.md", "long run", &format!("`cargo xtask proof` on {}, {report}", machine()?))
}
