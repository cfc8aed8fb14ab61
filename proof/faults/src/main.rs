//! Faults of real servers at full load, printed as a table; and how fast a link is. What must hold is in the tests.
//!
//! `cargo xtask faults` plays every fault for two seconds; with the word `memory` it freezes a server for a minute, and with
//! `speed` it compares the link with `redis-benchmark` (by `taskset -c 1`: the server takes core 0).
#![expect(clippy::unwrap_used, clippy::panic, reason = "what helps tests fails them")]
#![expect(clippy::print_stdout, reason = "it prints what it finds")]
#![allow(dead_code, reason = "the tests use the rest of it")]

#[path = "../../../crates/redis/tests/faults/announced.rs"]
mod announced;
#[path = "../../../crates/redis/tests/faults/figures.rs"]
mod figures;
#[path = "../../../crates/redis/tests/faults/load.rs"]
mod load;
#[path = "../../../crates/redis/tests/faults/proxy.rs"]
mod proxy;
#[path = "../../../crates/redis/tests/faults/server.rs"]
mod server;
#[path = "../../../crates/redis/tests/faults/silent.rs"]
mod silent;
mod speed;
#[path = "../../../crates/redis/tests/faults/support.rs"]
mod support;

use std::time::Duration;

use crate::announced::{busy, cannot_save, loading, no_replicas, out_of_memory, read_only};
use crate::figures::{Figures, Play};
use crate::silent::{forgotten, frozen, killed, memory_while_frozen, slow};
use crate::support::run;

fn main() {
    match std::env::args().nth(1).as_deref() {
        None => table(),
        Some("memory") => memory(),
        Some("speed") => speed::calls_per_second(),
        Some(other) => panic!("`{other}` is not known: say `memory`, `speed` or nothing"),
    }
}

/// The head of the table. Failing at once is what callers do who do not pay for the fault any more.
const HEAD: &str = "\
| fault | calls | answered | p99 | worst | wrong | first failure | failing at once | recovered | KiB before | after | noise |
|---|---|---|---|---|---|---|---|---|---|---|---|";

fn table() {
    let play = Play::full(Duration::from_secs(2));
    println!("{HEAD}");
    let show = |figures: Figures| {
        println!("{figures}");
        assert_eq!(figures.wrong, 0, "decisions were wrong");
    };
    show(run(killed(&play)));
    show(run(frozen(&play)));
    show(run(slow(&play)));
    show(run(forgotten(&play)));
    show(run(out_of_memory(&play)));
    show(run(no_replicas(&play)));
    show(run(read_only(&play)));
    show(run(cannot_save(&play)));
    show(run(busy(&play)));
    show(run(loading(&play)));
}

fn memory() {
    let play = Play { callers: 1000, ..Play::full(Duration::from_secs(60)) };
    let ([before, during, after], failed) = run(memory_while_frozen(&play));
    println!("resident {before} KiB before, {during} during, {after} after {failed} calls in vain");
}
