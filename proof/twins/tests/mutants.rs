//! Tests of the test: with one place of a script broken, the comparison notices.
#![cfg(test)]

use tollgate_twins::compare::{self, Stopped};
use tollgate_twins::mutants::{MUTANTS, Mutant};
use tollgate_twins::server::{Make, Server};

/// The seed of `twins.rs`, and as many decisions.
const SEED: u64 = 20_261_116;
const DECISIONS: u64 = 100_000;

/// As many decisions as show between two mutants that the server answers, and that the scripts that ship still agree.
const BETWEEN: u64 = 500;

/// A mutant counts as noticed only if a response or a state differs. Everything else is a failure of this test.
#[test]
fn every_broken_script_is_noticed() {
    let mut server = Server::start(Make::Redis7, &[]).unwrap();
    let mut missed = Vec::new();
    for mutant in MUTANTS {
        match compare::run(&server, (SEED, DECISIONS), Some(*mutant)) {
            Err(Stopped::Difference(what)) => {
                println!(
                    "{:60} {}",
                    mutant.broken.replace('\n', " "),
                    what.lines().next().unwrap_or_default()
                );
            }
            Err(Stopped::Failure(why)) => missed.push(format!("{why}: {mutant:?}")),
            Ok(_) => missed.push(format!("nothing notices {mutant:?}")),
        }
        if let Err(why) = compare::run(&server, (SEED, BETWEEN), None) {
            missed.push(format!("after it the scripts that ship do not pass: {why}: {mutant:?}"));
            // The next mutant shall not be blamed.
            server = Server::start(Make::Redis7, &[]).unwrap();
        }
    }
    assert!(MUTANTS.len() >= 20);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// A test of the test: what breaks the harness instead of a decision does not count as noticed.
#[test]
fn a_mutant_that_breaks_the_harness_is_not_noticed() {
    let server = Server::start(Make::Redis7, &[]).unwrap();
    let failures = [
        // In every script, and no Lua.
        ("return", "retrun ("),
        // In no script.
        ("there is no such text", ""),
    ];
    for (shipped, broken) in failures {
        let compared = compare::run(&server, (SEED, BETWEEN), Some(Mutant { shipped, broken }));
        assert!(matches!(compared, Err(Stopped::Failure(_))), "{shipped}: {compared:?}");
        compare::run(&server, (SEED, BETWEEN), None).unwrap();
    }
    server.signal("KILL").unwrap();
    let compared = compare::run(&server, (SEED, BETWEEN), Some(MUTANTS[0]));
    assert!(matches!(compared, Err(Stopped::Failure(_))), "{compared:?}");
}
