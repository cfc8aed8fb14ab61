//! Every algorithm against its model: every promise of every answer, on random traces. The seed is fixed; another is
//! tried with `cargo xtask proof`.
#![cfg(test)]

use tollgate_algorithms::Algorithm;
use tollgate_proof::compare::{self, Tally};
use tollgate_proof::drift;
use tollgate_proof::engine::Core;
use tollgate_proof::spec::{Calendar, Spec};

const SEED: u64 = 20_261_115;
const DECISIONS: u64 = 2_000_000;

/// A comparison proves something only if it meets every kind of answer.
fn meets_everything(tally: &Tally) -> bool {
    let rare = tally.decisions / 500;
    [tally.charged, tally.refused, tally.never, tally.refunds, tally.settled, tally.clock_back, tally.changed]
        .iter()
        .all(|&count| count > rare)
}

fn compare(algorithm: Algorithm) {
    let tally = compare::run::<Core>(algorithm, SEED, DECISIONS).unwrap_or_else(|why| panic!("{why}"));
    println!("{}: {tally:?}", algorithm.name());
    assert!(tally.decisions >= DECISIONS && meets_everything(&tally), "{tally:?}");
}

#[test]
fn the_token_bucket_keeps_every_promise() {
    compare(Algorithm::TokenBucket);
}

#[test]
fn the_leaky_bucket_keeps_every_promise() {
    compare(Algorithm::LeakyBucket);
}

#[test]
fn gcra_keeps_every_promise() {
    compare(Algorithm::Gcra);
}

#[test]
fn the_fixed_window_keeps_every_promise() {
    compare(Algorithm::FixedWindow);
}

#[test]
fn the_sliding_window_keeps_every_promise() {
    compare(Algorithm::SlidingWindow);
}

#[test]
fn the_buckets_keep_every_promise() {
    compare(Algorithm::SlidingWindowBuckets);
}

#[test]
fn the_log_keeps_every_promise() {
    compare(Algorithm::SlidingWindowLog);
}

/// Rates that do not divide, over a million steps; the long run takes a hundred times as many.
#[test]
fn constant_demand_admits_exactly_capacity_plus_rate_times_time() {
    let day = 86_400_000_000;
    for (count, window, steps) in [(7, 3_000_000, 1_000_000), (1, day, 25_000), (1_000_003, day, 1_000_000)] {
        for algorithm in [Algorithm::TokenBucket, Algorithm::LeakyBucket, Algorithm::Gcra] {
            let spec = Spec { algorithm, limit: 5, count, window, buckets: 1, calendar: Calendar::None };
            let drift = drift::run::<Core>(&spec, SEED, steps, window / count).unwrap();
            assert_eq!(drift.admitted, drift.exact, "{spec:?} over {} us", drift.micros);
        }
    }
}
