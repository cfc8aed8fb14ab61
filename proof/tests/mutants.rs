//! Tests of the tests: with one operator broken, the laws notice, within the number of cases that CI runs.
#![cfg(test)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_algorithms::Algorithm;
use tollgate_mutants::catalogue::MUTANTS;
use tollgate_proof::compare;
use tollgate_proof::laws::Law;

tollgate_proof::engine!(
    /// The copy of the core in which one operator is broken.
    Mutated,
    tollgate_mutants
);

/// The seed of `laws.rs` and `model.rs`, and a tenth of their cases.
const SEED: u64 = 20_261_115;
const CASES: u64 = 2_000;
const DECISIONS: u64 = 200_000;

/// A mutant, and who noticed it on which algorithm: a law, or (`None`) the model.
type Caught = (usize, Option<Law>, Algorithm);

/// Whether it is noticed that an operator is broken. A panic is noticed too.
fn notices(judge: Option<Law>, algorithm: Algorithm) -> bool {
    let check = || match judge {
        Some(law) => law.check::<Mutated>(algorithm, SEED, CASES).is_err(),
        None => compare::run::<Mutated>(algorithm, SEED, DECISIONS).is_err(),
    };
    catch_unwind(AssertUnwindSafe(check)).unwrap_or(true)
}

/// Breaks one operator after the other, on two threads.
fn caught() -> Vec<Caught> {
    let next = AtomicUsize::new(0);
    let judges: Vec<_> = Law::ALL.into_iter().map(Some).chain([None]).collect();
    let work = || {
        let mut caught = Vec::new();
        loop {
            let mutant = next.fetch_add(1, Ordering::Relaxed);
            if mutant >= MUTANTS.len() {
                return caught;
            }
            tollgate_mutants::break_only(Some(mutant));
            for &judge in &judges {
                let on = Algorithm::ALL.into_iter().filter(|&algorithm| notices(judge, algorithm));
                caught.extend(on.map(|algorithm| (mutant, judge, algorithm)));
            }
        }
    };
    std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// The copy without a broken operator is as good as the core.
fn keeps_the_laws() {
    tollgate_mutants::break_only(None);
    for algorithm in Algorithm::ALL {
        for law in Law::ALL {
            law.check::<Mutated>(algorithm, SEED, CASES).unwrap();
        }
        compare::run::<Mutated>(algorithm, SEED, DECISIONS).unwrap();
    }
}

#[test]
fn every_law_notices_a_broken_operator_in_every_algorithm() {
    keeps_the_laws();
    // Some mutants panic, and that is fine: no need to hear of each.
    std::panic::set_hook(Box::new(|_| {}));
    let caught = caught();
    let _ = std::panic::take_hook();
    let mut missing = Vec::new();
    for law in Law::ALL {
        let noticed =
            |algorithm| caught.iter().filter(|found| found.1 == Some(law) && found.2 == algorithm).count();
        let counts = Algorithm::ALL.map(noticed);
        println!("{:28}{counts:4?}", law.name());
        let blind = Algorithm::ALL.into_iter().zip(counts).filter(|(_, count)| *count == 0);
        missing
            .extend(blind.map(|(algorithm, _)| format!("law {} notices nothing on {algorithm}", law.name())));
    }
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let noticed =
            |by_law: bool| caught.iter().any(|found| found.0 == number && found.1.is_some() == by_law);
        if !noticed(true) && noticed(false) {
            println!("only the model notices {mutant:?}");
        } else if !noticed(true) {
            missing.push(format!("nothing notices {mutant:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
