//! `cargo xtask bench memory`: limiters in memory side by side. It runs the program that measures and shows
//! what it found, as tables and as a curve; it measures nothing itself.

mod chart;
mod rows;
mod tables;

use std::fs;

use crate::bench::{machine, measured};
use crate::marked;
use crate::run::root;
use crate::targets;
use rows::Report;

const DOCUMENT: &str = "docs/benchmarks/APPENDIX.md";
const CHART: &str = "docs/benchmarks/keys.svg";
/// Whose versions stand with the figures.
const PEERS: [&str; 8] = [
    "governor",
    "foldhash",
    "throttlecrab",
    "pingora-limits",
    "gcra",
    "tokio-rate-limit",
    "flux-limiter",
    "limitador",
];

/// Measures and shows. In full it also writes the document and the curve; quick figures are not for the
/// record.
///
/// # Errors
/// When something cannot be run, what was to be measured did not happen, or a target is missed.
pub(crate) fn run(quick: bool) -> Result<(), String> {
    let report = Report::parse(&measured("memory", quick)?)?;
    let tables = tables::all(&report);
    println!("{tables}");
    if quick {
        return Ok(());
    }
    fs::write(root().join(CHART), chart::draw(&report)?).map_err(|error| format!("{CHART}: {error}"))?;
    let lock = fs::read_to_string(root().join("bench/Cargo.lock")).unwrap_or_default();
    let versions: Vec<_> = PEERS.into_iter().filter_map(|name| version(&lock, name)).collect();
    let head = format!("`cargo xtask bench memory` on {}, with {}.", machine()?, versions.join(", "));
    marked::write(DOCUMENT, "memory", &format!("{head}\n\n{tables}"))?;
    targets::judge("memory", &tables)
}

/// A package's name and version, as a lock file has them.
fn version(lock: &str, name: &str) -> Option<String> {
    let after = lock.split_once(&format!("name = \"{name}\"\nversion = \""))?.1;
    Some(format!("{name} {}", after.split_once('"')?.0))
}

#[test]
fn a_version_is_found_by_the_whole_name() {
    let lock = "name = \"gcra-x\"\nversion = \"9.0.0\"\n\nname = \"gcra\"\nversion = \"0.6.0\"\n";
    assert_eq!(version(lock, "gcra").as_deref(), Some("gcra 0.6.0"));
    assert_eq!(version(lock, "gc"), None);
}
