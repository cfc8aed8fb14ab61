//! The front door, as its users see it: one file for each thing that is promised.
#![cfg(test)]

mod adaptive;
mod changed;
mod clocks;
mod concurrency;
mod crowd;
mod debug;
mod errors;
mod flood;
mod full;
mod leaky_queues;
mod lines;
mod members;
mod pacing;
mod receipts;
mod reservations;
mod serde;
mod snapshots;
mod squeezed;
mod traced;
mod verdicts;
mod waiting;
mod watched;

use tollgate::{Clock, Limiter, ManualClock, Micros};

/// A limiter and the hands of its clock.
fn with_clock() -> (Limiter, ManualClock) {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).build().unwrap();
    (limiter, clock)
}
