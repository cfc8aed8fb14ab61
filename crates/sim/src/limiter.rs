//! What stands before the simulated server: anything that says how many requests may be in flight.

use tollgate_algorithms::Micros;
use tollgate_algorithms::adaptive::{AdaptiveLimit, Outcome, Start};

/// A concurrency limit as the simulated world sees it. Instants are in microseconds.
pub trait Limiter {
    /// What a request carries from its start to its end.
    type Ticket: Copy;

    /// How many requests may be in flight now.
    fn limit(&self) -> u32;

    /// A request starts, with this many in flight including itself.
    fn start(&mut self, now: u64, in_flight: u32) -> Self::Ticket;

    /// A request was refused.
    fn refuse(&mut self, now: u64);

    /// A request ended.
    fn end(&mut self, now: u64, ticket: Self::Ticket, outcome: Outcome);

    /// What it takes for the latency of a server without load, in microseconds.
    fn baseline(&self) -> Option<u64>;
}

impl Limiter for AdaptiveLimit {
    type Ticket = Start;

    fn limit(&self) -> u32 {
        self.limit()
    }

    fn start(&mut self, now: u64, in_flight: u32) -> Start {
        self.start(Micros::new(now), in_flight)
    }

    fn refuse(&mut self, now: u64) {
        self.refuse(Micros::new(now));
    }

    fn end(&mut self, now: u64, start: Start, outcome: Outcome) {
        self.record(Micros::new(now), start, outcome);
    }

    fn baseline(&self) -> Option<u64> {
        self.baseline().latency()
    }
}

/// A limit that never changes. With `u32::MAX` it is none.
#[derive(Clone, Copy, Debug)]
pub struct Fixed(pub u32);

impl Limiter for Fixed {
    type Ticket = ();

    fn limit(&self) -> u32 {
        self.0
    }

    fn start(&mut self, _now: u64, _in_flight: u32) {}

    fn refuse(&mut self, _now: u64) {}

    fn end(&mut self, _now: u64, (): (), _outcome: Outcome) {}

    fn baseline(&self) -> Option<u64> {
        None
    }
}
