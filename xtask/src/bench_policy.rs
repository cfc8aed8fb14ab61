//! `cargo xtask bench policy`: runs the program that measures policies and writes what it found. It measures nothing itself.

use std::process::Command;

use crate::bench::machine;
use crate::marked;
use crate::run::{captured, command, result_of, root};

/// Measures, shows and writes.
///
/// # Errors
/// When something cannot be run.
pub(crate) fn run() -> Result<(), String> {
    captured(command(
        "cargo build --release --locked --manifest-path bench/Cargo.toml --target-dir bench/target -p policy",
    ))?;
    let mut program = Command::new(root().join("bench/target/release/policy"));
    program.current_dir(root());
    let tables = result_of(program)?;
    println!("{tables}");
    let head = format!("`cargo xtask bench policy` on {}.", machine()?);
    marked::write("docs/BENCHMARKS.md", "policy", &format!("{head}\n\n{tables}"))
}
