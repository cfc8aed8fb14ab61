//! Every broken table is noticed: tests of the tests.
#![cfg(test)]

use std::panic::{catch_unwind, set_hook, take_hook};

use tollgate_explore::break_only;
use tollgate_explore::catalogue::MUTANTS;
use tollgate_explore::scenarios::{ALL, ORDERS_MAX};

#[test]
fn every_broken_table_is_noticed() {
    // What is expected to panic need not say so.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let mut unnoticed = Vec::new();
    for (number, mutant) in MUTANTS.iter().enumerate() {
        let scenario = ALL.iter().find(|scenario| scenario.name == mutant.noticed_by);
        // As it ships, the same scenario finds nothing, also after a broken one.
        break_only(None);
        let shipped = scenario.map(|scenario| scenario.explore(100));
        assert!(shipped.is_some_and(|(orders, _)| orders > 1), "{}", mutant.noticed_by);
        break_only(Some(number));
        if scenario.is_none_or(|scenario| catch_unwind(|| scenario.explore(2 * ORDERS_MAX)).is_ok()) {
            unnoticed.push(format!("{}: not by `{}`", mutant.name, mutant.noticed_by));
        }
    }
    break_only(None);
    set_hook(hook);
    assert!(unnoticed.is_empty(), "{unnoticed:#?}");
}
