//! Tests of the tests: with one operator broken, the laws notice, within the number of cases that CI runs.
#![cfg(test)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_core::Algorithm;
use tollgate_mutants::catalogue::MUTANTS;
use tollgate_proof::laws::Law;

tollgate_proof::engine!(
    /// The copy of the core in which one operator is broken.
    Mutated,
    tollgate_mutants
);

const CASES: u64 = 2_000;

/// Whether a law notices that an operator is broken. A panic is noticed too.
fn notices(law: Law, algorithm: Algorithm) -> bool {
    let check = AssertUnwindSafe(|| law.check::<Mutated>(algorithm, 1, CASES).is_err());
    catch_unwind(check).unwrap_or(true)
}

#[test]
fn every_law_notices_a_broken_operator_in_every_algorithm() {
    std::panic::set_hook(Box::new(|_| {}));
    let next = AtomicUsize::new(0);
    let caught = std::thread::scope(|scope| {
        let work = || {
            let mut caught = Vec::new();
            loop {
                let mutant = next.fetch_add(1, Ordering::Relaxed);
                if mutant >= MUTANTS.len() {
                    return caught;
                }
                tollgate_mutants::break_only(Some(mutant));
                for law in Law::ALL {
                    for algorithm in Algorithm::ALL {
                        if notices(law, algorithm) {
                            caught.push((mutant, law, algorithm));
                        }
                    }
                }
            }
        };
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let _ = std::panic::take_hook();
    let mut missing = Vec::new();
    for law in Law::ALL {
        let mut row = format!("{:28}", law.name());
        for algorithm in Algorithm::ALL {
            let count = caught.iter().filter(|found| found.1 == law && found.2 == algorithm).count();
            row += &format!("{count:5}");
            if count == 0 {
                missing.push(format!("no mutant is caught by law {} on {}", law.name(), algorithm.name()));
            }
        }
        println!("{row}");
    }
    for (number, mutant) in MUTANTS.iter().enumerate() {
        if !caught.iter().any(|found| found.0 == number) {
            missing.push(format!("nothing notices {mutant:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_copy_without_a_broken_operator_keeps_the_laws() {
    tollgate_mutants::break_only(None);
    for law in Law::ALL {
        for algorithm in Algorithm::ALL {
            law.check::<Mutated>(algorithm, 1, CASES).unwrap();
        }
    }
}
