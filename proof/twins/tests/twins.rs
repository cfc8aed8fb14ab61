//! The scripts against the core on every server, with as many decisions as CI has time for.
#![cfg(test)]

use tollgate_twins::compare;
use tollgate_twins::server::{Make, Server};

const SEED: u64 = 20_261_116;
const DECISIONS: u64 = 100_000;

fn compared(make: Make) {
    let server = Server::start(make, &[]).unwrap();
    let tally =
        compare::run(&server, (SEED, DECISIONS), None).unwrap_or_else(|why| panic!("{}: {why}", make.name()));
    println!("{}: {tally:?}", make.name());
    assert!(
        tally.refused > DECISIONS / 10 && tally.batches > DECISIONS / 10 && tally.refunds > DECISIONS / 50
    );
    assert!(tally.together > DECISIONS / 10);
    assert!(tally.clock_back > DECISIONS / 100 && tally.states > DECISIONS);
}

#[test]
fn redis_7_decides_and_stores_as_the_core_does() {
    compared(Make::Redis7);
}

#[test]
fn redis_6_2_decides_and_stores_as_the_core_does() {
    compared(Make::Redis6);
}

#[test]
fn valkey_9_decides_and_stores_as_the_core_does() {
    compared(Make::Valkey9);
}
