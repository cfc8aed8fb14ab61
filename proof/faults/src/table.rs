//! Every fault, one after the other, as rows of a table. What a fault does is beside the tests.

use std::time::Duration;

use crate::announced::{busy, cannot_save, loading, no_password, no_replicas, out_of_memory, read_only};
use crate::clock::{Step, stepped};
use crate::figures::{Figures, Play};
use crate::make::Make;
use crate::partition::parted;
use crate::silent::{emptied, forgotten, frozen, killed, memory_while_frozen, slow};
use crate::support::run;
use crate::wires::{cut, lost};

/// The head of the table. Failing at once is what callers do who do not pay for the fault any more.
const HEAD: &str = "\
| fault | calls | answered | p99 | worst | wrong | first failure | failing at once | recovered | KiB before | after | noise |
|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Plays every fault, and prints a row for each.
pub(crate) fn print() {
    let play = Play::full(Duration::from_secs(2));
    println!("{HEAD}");
    let show = |figures: Figures| {
        println!("{figures}");
        assert_eq!(figures.wrong, 0, "decisions were wrong");
    };
    show(run(killed(&play)));
    show(run(frozen(&play)));
    show(run(slow(&play)));
    show(run(parted(&play)));
    show(run(cut(&play)));
    show(run(lost(&play)));
    show(run(forgotten(&play)));
    show(run(emptied(&play)));
    show(run(out_of_memory(&play)));
    show(run(no_replicas(&play)));
    show(run(read_only(&play)));
    show(run(cannot_save(&play)));
    show(run(busy(&play)));
    show(run(loading(&play)));
    show(run(no_password(&play)));
    let clocked = Play { make: Make::Valkey9, ..play };
    show(run(stepped(&clocked, Step::Forward)));
    show(run(stepped(&clocked, Step::Back)));
}

/// Freezes a server for a minute, and prints what the process takes.
pub(crate) fn memory() {
    let play = Play { callers: 1000, ..Play::full(Duration::from_secs(60)) };
    let ([before, during, after], failed) = run(memory_while_frozen(&play));
    println!("resident {before} KiB before, {during} during, {after} after {failed} calls in vain");
}
