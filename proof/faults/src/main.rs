//! Faults of real servers at full load, printed as a table; and how fast a link is. What must hold is in the tests.
//!
//! `cargo xtask faults` plays every fault for two seconds; with the word `memory` it freezes a server for a minute, and with
//! `speed` it compares the link with `redis-benchmark` (by `taskset -c 1`: the server takes core 0).
#![expect(clippy::unwrap_used, clippy::panic, reason = "what helps tests fails them")]
#![expect(clippy::print_stdout, reason = "it prints what it finds")]
#![allow(dead_code, reason = "the tests use the rest of it")]

#[path = "../../../crates/redis/tests/faults/announced.rs"]
mod announced;
#[path = "../../../crates/redis/tests/faults/clock.rs"]
mod clock;
#[path = "../../../crates/redis/tests/faults/decisions.rs"]
mod decisions;
#[path = "../../../crates/redis/tests/faults/figures.rs"]
mod figures;
#[path = "../../../crates/redis/tests/faults/hot.rs"]
mod hot;
#[path = "../../../crates/redis/tests/faults/load.rs"]
mod load;
#[path = "../../../crates/redis/tests/faults/partition.rs"]
mod partition;
#[path = "../../../crates/redis/tests/faults/proxy.rs"]
mod proxy;
#[path = "../../../crates/redis/tests/faults/server.rs"]
mod server;
#[path = "../../../crates/redis/tests/faults/silent.rs"]
mod silent;
mod speed;
#[path = "../../../crates/redis/tests/faults/support.rs"]
mod support;
mod table;
#[path = "../../../crates/redis/tests/faults/wires.rs"]
mod wires;

use tollgate_testing::make;

fn main() {
    match std::env::args().nth(1).as_deref() {
        None => table::print(),
        Some("memory") => table::memory(),
        Some("speed") => speed::calls_per_second(),
        Some(other) => panic!("`{other}` is not known: say `memory`, `speed` or nothing"),
    }
}
