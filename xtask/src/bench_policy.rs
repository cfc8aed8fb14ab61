//! `cargo xtask bench policy`: runs the program that measures policies and writes what it found. It measures nothing itself.

use crate::bench::{machine, measured};
use crate::marked;
use crate::targets;

/// Measures, shows and writes.
///
/// # Errors
/// When something cannot be run, or a target is missed.
pub(crate) fn run() -> Result<(), String> {
    let tables = measured("policy", false)?;
    println!("{tables}");
    let head = format!("`cargo xtask bench policy` on {}.", machine()?);
    marked::write("docs/benchmarks/APPENDIX.md", "policy", &format!("{head}\n\n{tables}"))?;
    targets::judge("policy", &tables)
}
