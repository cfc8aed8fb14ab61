//! The long run of the scripts against the core, outside CI: prints a report for docs/PROOF.md. What it compares is `compare.rs`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::process::ExitCode;
use std::time::Instant;

use tollgate_twins::compare;
use tollgate_twins::server::{Make, Server};

/// Decisions on each server, and the seed, unless told otherwise.
const DECISIONS: u64 = 10_000_000;
const SEED: u64 = 20_261_117;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (Ok(decisions), Ok(seed)) = (next(DECISIONS), next(SEED)) else {
        eprintln!("usage: tollgate-twins [DECISIONS [SEED]]");
        return ExitCode::FAILURE;
    };
    match report(decisions, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch for the report")]
fn report(decisions: u64, seed: u64) -> Result<(), String> {
    println!("Seed {seed}.\n");
    println!(
        "| server | decisions | differences | refused | batches | together | refunds | clock back | states compared | time |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for make in Make::ALL {
        let start = Instant::now();
        let server = Server::start(make, &[])?;
        let tally = compare::run(&server, (seed, decisions), None)
            .map_err(|why| format!("{}: {why}", make.name()))?;
        println!(
            "| {} | {} | 0 | {} | {} | {} | {} | {} | {} | {} s |",
            make.name(),
            tally.decisions,
            tally.refused,
            tally.batches,
            tally.together,
            tally.refunds,
            tally.clock_back,
            tally.states,
            start.elapsed().as_secs()
        );
    }
    Ok(())
}
