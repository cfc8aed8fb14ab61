//! Tests of the test: with one place of a script broken, the comparison notices.
#![cfg(test)]

use tollgate_twins::compare;
use tollgate_twins::mutants::MUTANTS;
use tollgate_twins::server::{Make, Server};

/// The seed of `twins.rs`, and as many decisions.
const SEED: u64 = 20_261_116;
const DECISIONS: u64 = 100_000;

#[test]
fn every_broken_script_is_noticed() {
    let server = Server::start(Make::Redis7, &[]).unwrap();
    let mut missed = Vec::new();
    for mutant in MUTANTS {
        match compare::run(&server, (SEED, DECISIONS), Some(*mutant)) {
            Ok(_) => missed.push(format!("nothing notices {mutant:?}")),
            Err(why) if why.contains("stands in no script") => missed.push(format!("{why}: {mutant:?}")),
            Err(why) => {
                println!("{:60} {}", mutant.broken.replace('\n', " "), why.lines().next().unwrap_or_default())
            }
        }
    }
    assert!(MUTANTS.len() >= 20);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
