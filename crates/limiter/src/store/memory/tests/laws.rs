//! Every law of the algorithms, applied to the store: law 9 for memory.

use tollgate_algorithms::Algorithm;
use tollgate_proof::compare;
use tollgate_proof::laws::Law;

use super::super::test_engine::Stored;

const SEED: u64 = 20_261_115;

/// A store's clock does not run back, so law 7 has nothing to say here; clocks are tested by themselves.
#[test]
fn every_law_holds_through_the_store() {
    for law in Law::ALL.into_iter().filter(|law| *law != Law::Time) {
        for algorithm in Algorithm::ALL {
            law.check::<Stored>(algorithm, SEED, 2_000).unwrap();
        }
    }
}

#[test]
fn the_store_answers_as_the_model_does() {
    for algorithm in Algorithm::ALL {
        let tally = compare::run::<Stored>(algorithm, SEED, 40_000).unwrap();
        assert!(tally.charged > 1_000 && tally.refused > 1_000 && tally.refunds > 100, "{tally:?}");
    }
}
