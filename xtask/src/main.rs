//! Everything that is not cargo's: test, proof, bench. It only calls other programs and says how they fared.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod bench;
mod bench_doors;
mod bench_gateway;
mod bench_inflight;
mod bench_memory;
mod bench_permits;
mod bench_policy;
mod bench_redis;
mod chart;
mod corpus;
mod deadline;
mod examples;
mod fuzz;
mod install;
mod library;
mod markdown;
mod marked;
mod package;
mod processes;
mod proof;
mod readme;
mod run;
mod service;
mod sim;
mod targets;
mod test;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test", steps @ ..] => test::run(steps),
        ["proof", "store", numbers @ ..] => proof::store(numbers),
        ["proof", "explore", numbers @ ..] => proof::explore(numbers),
        ["proof", "redis", numbers @ ..] => proof::redis(numbers),
        ["proof", numbers @ ..] => proof::model(numbers),
        ["bench", words @ ..] => bench::dispatch(words),
        ["faults", words @ ..] => proof::faults(words),
        ["sim", "adaptive", seeds @ ..] => sim::adaptive(seeds),
        ["sim", "collapse"] => sim::collapse(),
        ["corpus", folder @ ..] => corpus::run(folder.first().copied()),
        ["fuzz", numbers @ ..] => fuzz::run(numbers),
        _ => Err(include_str!("usage.txt").to_string()),
    };
    let Err(why) = done else { return ExitCode::SUCCESS };
    eprintln!("{why}");
    ExitCode::FAILURE
}
