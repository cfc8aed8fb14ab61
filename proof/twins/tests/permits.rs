//! Shared permits and queues: the scripts against the core on every server, and broken scripts that the comparison notices.
#![cfg(test)]

use tollgate_twins::compare::Stopped;
use tollgate_twins::permits::{MUTANTS, run};
use tollgate_twins::server::{Make, Server};

const SEED: u64 = 20_261_119;
const STEPS: u64 = 40_000;

fn compared(make: Make) {
    let server = Server::start(make, &[]).unwrap();
    let tally = run(&server, (SEED, STEPS), None).unwrap_or_else(|why| panic!("{}: {why}", make.name()));
    println!("{}: {tally:?}", make.name());
    let often = [tally.short, tally.gone, tally.recovering, tally.slots, tally.refused];
    assert!(often.iter().all(|count| *count > STEPS / 40));
    assert!(tally.stale > 200 && tally.full > 20 && tally.given_back > 200);
}

#[test]
fn redis_7_shares_permits_as_the_core_does() {
    compared(Make::Redis7);
}

#[test]
fn redis_6_2_shares_permits_as_the_core_does() {
    compared(Make::Redis6);
}

#[test]
fn valkey_9_shares_permits_as_the_core_does() {
    compared(Make::Valkey9);
}

#[test]
fn every_broken_script_about_permits_is_noticed() {
    let server = Server::start(Make::Redis7, &[]).unwrap();
    let mut missed = Vec::new();
    for mutant in MUTANTS {
        match run(&server, (SEED, STEPS), Some(*mutant)) {
            Err(Stopped::Difference(_)) => {}
            Err(Stopped::Failure(why)) => missed.push(format!("{why}: {mutant:?}")),
            Ok(_) => missed.push(format!("nothing notices {mutant:?}")),
        }
    }
    assert!(MUTANTS.len() >= 45);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
