//! The long runs against the memory store, outside CI: prints a report for docs/PROOF.md. What it checks is in its modules.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool")]

mod crowd;
mod flood;

use std::process::ExitCode;

/// Operations of all threads together, and keys of the flood, unless told otherwise.
const OPERATIONS: u64 = 100_000_000;
const KEYS: u64 = 10_000_000;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (Ok(operations), Ok(keys)) = (next(OPERATIONS), next(KEYS)) else {
        eprintln!("usage: tollgate-storm [OPERATIONS [KEYS]]");
        return ExitCode::FAILURE;
    };
    match crowd::run(operations).and_then(|crowd| Ok((crowd, flood::run(keys)?))) {
        Ok((crowd, flood)) => {
            println!("{crowd}\n{flood}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
