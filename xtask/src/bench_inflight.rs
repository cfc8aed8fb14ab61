//! `cargo xtask bench inflight`: runs the program that measures permits and queues and writes what it found. It measures nothing itself.

use crate::bench::{machine, measured};
use crate::marked;
use crate::targets;

/// Measures, shows and writes.
///
/// # Errors
/// When something cannot be run, or a target is missed.
pub(crate) fn run() -> Result<(), String> {
    let tables = measured("inflight", false)?;
    println!("{tables}");
    let head = format!("`cargo xtask bench inflight` on {}.", machine()?);
    marked::write("docs/benchmarks/APPENDIX.md", "inflight", &format!("{head}\n\n{tables}"))?;
    targets::judge("inflight", &tables)
}
