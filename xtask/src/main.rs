//! Everything that is not cargo's: test, proof, bench. It only calls other programs and says how they fared.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod bench;
mod bench_memory;
mod bench_policy;
mod examples;
mod marked;
mod proof;
mod readme;
mod run;
mod test;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test                     install what the tests need, then run all of them: formatting, lints, tests (tidy among
                           them), docs, examples, the README's commands
  proof [DECISIONS [SEED [ALGORITHM]]]
                           the long run against the model; in full (10^9 decisions per algorithm) if no number is given,
                           and then it writes docs/PROOF.md
  proof replay JUDGE ALGORITHM SEED CASE
                           one case again; JUDGE is `model` or the number of a law
  proof store [OPERATIONS [KEYS]]
                           all threads on few keys, every interval checked, and a flood of keys; in full (10^8 and 10^7) if
                           no number is given, and then it writes docs/PROOF.md
  proof explore [ORDERS]   every order in which the threads of the table's scenarios can take turns, or so many of each; in
                           full if no number is given, and then it writes docs/PROOF.md
  bench core [--record]    count instructions per decision (callgrind); fails on a regression over 10 %;
                           --record makes the counts the new ones to compare with, and writes docs/BENCHMARKS.md
  bench memory [quick]     limiters in memory side by side: time, memory, latency; writes docs/BENCHMARKS.md and
                           docs/keys.svg, but not if it is quick
  bench policy             matching a request, compiling a document of 10 MB, loading a million consumers; writes
                           docs/BENCHMARKS.md
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test::run(),
        ["proof", "store", numbers @ ..] => proof::store(numbers),
        ["proof", "explore", numbers @ ..] => proof::explore(numbers),
        ["proof", numbers @ ..] => proof::model(numbers),
        ["bench", "core"] => bench::run(false),
        ["bench", "core", "--record"] => bench::run(true),
        ["bench", "memory"] => bench_memory::run(false),
        ["bench", "memory", "quick"] => bench_memory::run(true),
        ["bench", "policy"] => bench_policy::run(),
        _ => Err(USAGE.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
