//! `cargo xtask bench core`: instructions per decision, counted by callgrind, compared with those on record.
//!
//! Instructions and not time: they are the same on a busy machine. A case is run twice, with n and with 2n decisions;
//! the difference is the cost of n decisions, without start and warm-up.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};

use crate::deadline::Deadline;
use crate::install::{INSTALL_MAX, packages};
use crate::marked;
use crate::run::{captured, command, result_of, root};
use crate::{bench_doors, bench_gateway, bench_memory, bench_permits, bench_policy, bench_redis};

/// Runs the benchmark of this name.
///
/// # Errors
/// As the benchmark, or with how `cargo xtask` is used.
pub(crate) fn dispatch(words: &[&str]) -> Result<(), String> {
    match words {
        ["core"] => run(false),
        ["core", "--record"] => run(true),
        ["memory"] => bench_memory::run(false),
        ["memory", "quick"] => bench_memory::run(true),
        ["inflight"] => crate::bench_inflight::run(),
        ["permits"] => bench_permits::run(),
        ["policy"] => bench_policy::run(),
        ["gateway"] => bench_gateway::run(bench_gateway::Kind::Full),
        ["gateway", "--quick"] => bench_gateway::run(bench_gateway::Kind::Quick),
        ["gateway", "--noise"] => bench_gateway::run(bench_gateway::Kind::Noise),
        ["redis"] => bench_redis::run(false),
        ["redis", "--quick"] => bench_redis::run(true),
        ["doors", words @ ..] => bench_doors::run(words),
        _ => Err(include_str!("usage.txt").to_string()),
    }
}

/// A count above the one on record by more than this fails.
const REGRESSION_PERCENT_MAX: u64 = 10;
/// Decisions of the shorter run.
const DECISIONS: u64 = 20_000;
/// The counts on record: one `CASE COUNT` a line.
const RECORD: &str = "bench/core.txt";
const ALGORITHMS: [&str; 7] = [
    "token_bucket",
    "leaky_bucket",
    "gcra",
    "fixed_window",
    "sliding_window",
    "sliding_window_buckets",
    "sliding_window_log",
];

/// Who decides, whether it is granted, under which limit.
struct Case {
    who: &'static str,
    what: &'static str,
    limit: u64,
}

impl Case {
    fn name(&self) -> String {
        format!("{} {} {}", self.who, self.what, self.limit)
    }
}

fn cases() -> Vec<Case> {
    let both = |who, limit| [Case { who, what: "granted", limit }, Case { who, what: "refused", limit }];
    let mut cases: Vec<_> = ALGORITHMS.into_iter().flat_map(|who| both(who, 100)).collect();
    cases.extend([10, 1_000, 10_000].into_iter().flat_map(|limit| both("sliding_window_log", limit)));
    cases.extend([10, 100, 1_000, 10_000].map(|limit| Case {
        who: "sliding_window_log",
        what: "whole",
        limit,
    }));
    cases.extend(["memory", "memory+receipt", "memory+three"].into_iter().flat_map(|who| both(who, 100)));
    cases.extend(["concurrency", "adaptive"].into_iter().flat_map(|who| both(who, 100)));
    cases.extend(["governor", "governor+remaining"].into_iter().flat_map(|peer| both(peer, 100)));
    cases
}

/// Counts every case, and compares or records.
///
/// # Errors
/// When something cannot be run, or a count is more than 10 % above the one on record.
pub(crate) fn run(record: bool) -> Result<(), String> {
    // Callgrind is part of it.
    packages(&[("valgrind --version", "valgrind")], &Deadline::after(INSTALL_MAX))?;
    captured(command(
        "cargo build --release --locked --manifest-path bench/Cargo.toml --target-dir bench/target -p counts",
    ))?;
    let on_record = fs::read_to_string(root().join(RECORD)).unwrap_or_default();
    let (mut lines, mut worse) = (String::new(), Vec::new());
    println!("{:44} {:>8} {:>10}", "instructions per decision", "now", "on record");
    for case in cases() {
        let (name, count) = (case.name(), counted(&case)?);
        let before = recorded(&on_record, &name);
        println!("{name:44} {count:>8} {:>10}", before.map_or("-".into(), |before| before.to_string()));
        let _ = writeln!(lines, "{name} {count}");
        // A case that is not on record cannot be compared, and does not pass.
        if before.is_none_or(|before| regressed(before, count)) {
            worse.push(name);
        }
    }
    flat(&lines)?;
    if record {
        fs::write(root().join(RECORD), &lines).map_err(|error| format!("{RECORD}: {error}"))?;
        return marked::write("docs/benchmarks/APPENDIX.md", "core", &report(&lines)?);
    }
    if worse.is_empty() {
        return Ok(());
    }
    Err(format!("more than {REGRESSION_PERCENT_MAX} % above the record, or not on it: {}", worse.join(", ")))
}

/// The log's decisions must not get dearer as its limit grows.
fn flat(lines: &str) -> Result<(), String> {
    for what in ["granted", "refused"] {
        let count = |limit: u64| recorded(lines, &format!("sliding_window_log {what} {limit}")).unwrap_or(0);
        let (small, large) = (count(10), count(10_000));
        if regressed(small, large) {
            return Err(format!(
                "the log's cost grows with its limit: {what}, {small} at 10, {large} at 10,000"
            ));
        }
    }
    Ok(())
}

/// Whether a count is more than the tolerated share above another.
const fn regressed(before: u64, now: u64) -> bool {
    now * 100 > before * (100 + REGRESSION_PERCENT_MAX)
}

fn recorded(lines: &str, name: &str) -> Option<u64> {
    lines.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// Instructions per decision, rounded.
fn counted(case: &Case) -> Result<u64, String> {
    let (once, twice) = (instructions(case, DECISIONS)?, instructions(case, 2 * DECISIONS)?);
    Ok((twice.saturating_sub(once) + DECISIONS / 2) / DECISIONS)
}

fn instructions(case: &Case, decisions: u64) -> Result<u64, String> {
    let line = format!(
        "valgrind --tool=callgrind --callgrind-out-file=/dev/null bench/target/release/counts {} {decisions}",
        case.name()
    );
    let printed = captured(command(&line))?;
    let collected = printed.lines().find_map(|line| line.split_once("Collected : "));
    let count = collected.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| format!("callgrind said no count:\n{printed}"))
}

/// Builds a program that measures, runs it, and gives what it printed. What it says meanwhile is shown.
///
/// # Errors
/// When it cannot be built, or does not end well.
pub(crate) fn measured(package: &str, quick: bool) -> Result<String, String> {
    captured(command(&format!(
        "cargo build --release --locked --manifest-path bench/Cargo.toml --target-dir bench/target -p {package}"
    )))?;
    let mut program = Command::new(root().join("bench/target/release").join(package));
    program.args(quick.then_some("quick")).current_dir(root()).stderr(Stdio::inherit());
    result_of(program)
}

/// The processor, its cores, and the compiler.
///
/// # Errors
/// When the compiler does not say its version.
pub(crate) fn machine() -> Result<String, String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let rustc = result_of(command("rustc --version"))?;
    Ok(format!("{}, {cores} cores, {}", model.map_or("an unknown processor", |(_, name)| name), rustc.trim()))
}

fn report(lines: &str) -> Result<String, String> {
    let mut table = format!("`cargo xtask bench core --record` on {}.\n\n", machine()?);
    table.push_str("| | limit | granted | refused | whole |\n|---|---|---|---|---|\n");
    for case in cases().iter().filter(|case| case.what == "granted") {
        let count = |what| {
            let counted = recorded(lines, &format!("{} {what} {}", case.who, case.limit));
            counted.map_or(String::new(), |count| count.to_string())
        };
        let [granted, refused, whole] = ["granted", "refused", "whole"].map(count);
        let _ = writeln!(table, "| {} | {} | {granted} | {refused} | {whole} |", case.who, case.limit);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::{flat, recorded, regressed};

    #[test]
    fn ten_percent_more_is_tolerated_and_no_more() {
        assert!(!regressed(200, 220) && regressed(200, 221));
    }

    #[test]
    fn a_case_is_found_by_its_whole_name() {
        let lines = "gcra granted 100 202\ngcra granted 1000 205\n";
        assert_eq!(recorded(lines, "gcra granted 100"), Some(202));
        assert_eq!(recorded(lines, "gcra granted 10"), None);
    }

    #[test]
    fn a_log_whose_cost_grows_with_its_limit_is_noticed() {
        let lines = |large: u64| {
            let both = |limit, count| {
                format!(
                    "sliding_window_log granted {limit} {count}\nsliding_window_log refused {limit} {count}\n"
                )
            };
            both(10, 300) + &both(10_000, large)
        };
        assert!(flat(&lines(310)).is_ok() && flat(&lines(400)).is_err());
    }
}
