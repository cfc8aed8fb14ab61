//! The engine, as its users see it: outcomes of requests against documents and rules.
#![cfg(test)]

mod policies;
mod simulate;

use tollgate::{Clock, Limiter, ManualClock, Micros};

/// A limiter, and its clock.
fn with_clock() -> (Limiter, ManualClock) {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let limiter = Limiter::builder().clock(clock.clock()).build().unwrap();
    (limiter, clock)
}
