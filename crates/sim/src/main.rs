//! `cargo xtask sim`: prints the tables of the simulations on standard output, and progress on standard error.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

use std::process::ExitCode;

use tollgate_sim::report;
use tollgate_sim::scenario::{HOUR, SCENARIOS};

const USAGE: &str = "usage: tollgate-sim adaptive [SEED]... | hour [SEED] | series SCENARIO [SEED]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let progress = |name: &str| eprintln!("{name} …");
    let printed = match words.as_slice() {
        ["adaptive", seeds @ ..] => numbers(seeds).map(|seeds| report::comparison(&seeds, progress)),
        ["hour", seeds @ ..] => numbers(seeds).map(|seeds| report::hour(seeds[0], progress)),
        ["series", name, seeds @ ..] => SCENARIOS
            .iter()
            .chain([&HOUR])
            .find(|scenario| scenario.name == *name)
            .zip(numbers(seeds))
            .map(|(scenario, seeds)| report::series(scenario, seeds[0])),
        _ => None,
    };
    let Some(printed) = printed else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    print!("{printed}");
    ExitCode::SUCCESS
}

/// The seeds that are given, or 1 to 5. None if one is no number.
fn numbers(words: &[&str]) -> Option<Vec<u64>> {
    if words.is_empty() {
        return Some((1..=5).collect());
    }
    words.iter().map(|word| word.parse().ok()).collect()
}
