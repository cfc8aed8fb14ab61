//! `cargo xtask bench redis`: our scripts beside the usual ones, in one Redis. It runs the program that measures and shows what it
//! found, as tables and as a curve; it measures nothing itself.

mod rows;
mod tables;

use std::fs;

use crate::bench::{machine, measured};
use crate::chart::{self, Chart};
use crate::deadline::Deadline;
use crate::install::{INSTALL_MAX, servers};
use crate::marked;
use crate::run::{command, result_of, root};
use crate::targets;
use rows::Report;

const DOCUMENT: &str = "docs/benchmarks/APPENDIX.md";
const CHART: &str = "docs/benchmarks/in-flight.svg";

/// Measures and shows. In full it also writes the document and the curve; quick figures are not for the record.
///
/// # Errors
/// When something cannot be run, what was to be measured did not happen, or a target is missed.
pub(crate) fn run(quick: bool) -> Result<(), String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 2 {
        return Err("Redis is measured on one core and loaded from another: this takes two".into());
    }
    servers(&Deadline::after(INSTALL_MAX))?;
    let report = Report::parse(&measured("redis-bench", quick)?)?;
    let tables = tables::all(&report);
    println!("{tables}");
    if quick {
        return Ok(());
    }
    fs::write(root().join(CHART), curve(&report)?).map_err(|error| format!("{CHART}: {error}"))?;
    let version = version(&result_of(command("redis-server --version"))?)?;
    let head = format!("`cargo xtask bench redis` on {}, with {version}.", machine()?);
    marked::write(DOCUMENT, "redis", &format!("{head}\n\n{tables}"))?;
    targets::judge("redis", &tables)
}

/// The curve of decisions a second over how many are in flight.
fn curve(report: &Report) -> Result<String, String> {
    let numbers = report.in_flight();
    let points = |subject| {
        let point =
            |number: &u32| Some((*number, thousands(report.rate(subject, *number)?.per_second.median)));
        numbers.iter().filter_map(point).collect::<Vec<_>>()
    };
    let lines = report.subjects().into_iter().map(|subject| (subject, points(subject)));
    chart::draw(&Chart {
        title: "Decisions a second over the number in flight",
        heading: "Decisions a second, one Redis on one core, 1,000,000 keys",
        across: "in flight",
        up: "thousands of decisions a second",
        // One point is no line.
        lines: lines.filter(|(_, points)| points.len() > 1).collect(),
        numbers,
    })
}

#[expect(clippy::float_arithmetic, reason = "a place on a drawing")]
fn thousands(number: f64) -> f64 {
    number / 1e3
}

/// The server's name and version, from what it says: `Redis server v=7.0.15 sha=…`.
fn version(said: &str) -> Result<String, String> {
    let version = said.split_once("v=").and_then(|(_, rest)| rest.split_whitespace().next());
    version.map(|version| format!("Redis {version}")).ok_or_else(|| format!("no version in `{said}`"))
}

#[cfg(test)]
mod tests {
    use super::{Report, curve, version};

    #[test]
    fn a_version_is_what_the_server_calls_so() {
        assert_eq!(version("Redis server v=7.0.15 sha=0:0 malloc=x").unwrap(), "Redis 7.0.15");
        assert!(version("valkey").is_err());
    }

    #[test]
    fn the_curve_has_a_line_for_each_who_was_measured_at_more_than_one_number() {
        let line = |name: &str, number: u32| format!("rate\t{name}\t{number}\t9\t8\t10\t5\t4\t6\t99\t100\n");
        let printed = line("a", 64) + &line("b", 64) + &line("a", 512);
        let drawing = curve(&Report::parse(&printed).unwrap()).unwrap();
        assert_eq!(drawing.matches("<polyline").count(), 1);
        assert!(drawing.contains(">a</text>") && !drawing.contains(">b</text>"));
    }
}
