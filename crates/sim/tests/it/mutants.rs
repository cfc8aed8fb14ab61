//! Tests of the tests: with one operator broken, a law notices.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tollgate_mutants::machine_number;
use tollgate_mutants::machines::ADAPTIVE;

use crate::laws::laws;
use crate::machine::{METHODS, Mutated};
use tollgate_testing::random::Random;

/// The name of a law that notices what is broken on this thread. A panic is noticed too.
fn noticed(cases: u64) -> Option<&'static str> {
    for case in 0..cases {
        for (name, law) in laws::<Mutated>() {
            for method in 0..METHODS.len() {
                let check = || law(method, Random::case(9, case)).is_err();
                if catch_unwind(AssertUnwindSafe(check)).unwrap_or(true) {
                    return Some(name);
                }
            }
        }
    }
    None
}

#[test]
fn every_broken_operator_of_an_adaptive_limit_is_noticed() {
    assert_eq!(noticed(4), None, "the copy without a broken operator keeps the laws");
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let survivors: Vec<_> = ADAPTIVE
        .iter()
        .enumerate()
        .filter(|(index, _)| {
            tollgate_mutants::break_only(Some(machine_number(*index)));
            noticed(60).is_none()
        })
        .map(|(_, mutant)| format!("{mutant:?}"))
        .collect();
    tollgate_mutants::break_only(None);
    std::panic::set_hook(hook);
    assert!(survivors.is_empty(), "no law notices:\n{}", survivors.join("\n"));
}
