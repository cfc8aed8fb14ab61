//! What the laws are checked on: the machine as it ships, and the copy in which one operator can be broken.

use tollgate_algorithms::adaptive::Outcome;

/// Which method, by its place in [`METHODS`].
pub(crate) type MethodNumber = usize;

/// The names of the methods. The last is compared with [`TARGET`].
pub(crate) const METHODS: [&str; 4] = ["gradient2", "vegas", "gradient", "aimd"];

/// The latency that AIMD aims at, in microseconds.
pub(crate) const TARGET: u64 = 40_000;

/// The lowest limit, the first, and the highest.
pub(crate) type Range = (u32, u32, u32);

/// An adaptive limit, whichever crate it comes from. Instants are in microseconds.
pub(crate) trait Machine {
    /// What a request carries from its start to its end.
    type Ticket: Copy;

    fn new(method: MethodNumber, range: Range, seed: u64) -> Self;
    fn limit(&self) -> u32;
    fn baseline(&self) -> Option<u64>;
    fn probes(&self) -> u64;
    fn start(&mut self, now: u64, in_flight: u32) -> Self::Ticket;
    fn refuse(&mut self, now: u64);
    fn end(&mut self, now: u64, ticket: Self::Ticket, outcome: Outcome);
}

macro_rules! machine {
    ($(#[$meta:meta])* $name:ident, $krate:ident) => {
        $(#[$meta])*
        pub(crate) struct $name($krate::adaptive::AdaptiveLimit);

        impl Machine for $name {
            type Ticket = $krate::adaptive::Start;

            fn new(method: MethodNumber, (min, start, max): Range, seed: u64) -> Self {
                use $krate::adaptive::{AdaptiveConfig, AdaptiveLimit, Method};
                let target = $krate::Micros::new(TARGET);
                let method =
                    [Method::Gradient2, Method::Vegas, Method::Gradient, Method::Aimd { target }][method];
                let config = AdaptiveConfig::new(method).with_range(min, start, max).unwrap().with_seed(seed);
                Self(AdaptiveLimit::new(config))
            }

            fn limit(&self) -> u32 {
                self.0.limit()
            }

            fn baseline(&self) -> Option<u64> {
                self.0.baseline().latency()
            }

            fn probes(&self) -> u64 {
                self.0.baseline().probes()
            }

            fn start(&mut self, now: u64, in_flight: u32) -> Self::Ticket {
                self.0.start($krate::Micros::new(now), in_flight)
            }

            fn refuse(&mut self, now: u64) {
                self.0.refuse($krate::Micros::new(now));
            }

            fn end(&mut self, now: u64, ticket: Self::Ticket, outcome: Outcome) {
                let outcome = match outcome {
                    Outcome::Success => $krate::adaptive::Outcome::Success,
                    Outcome::Ignored => $krate::adaptive::Outcome::Ignored,
                    Outcome::Dropped => $krate::adaptive::Outcome::Dropped,
                };
                self.0.record($krate::Micros::new(now), ticket, outcome);
            }
        }
    };
}

machine!(
    /// The machine as it ships.
    Shipped,
    tollgate_algorithms
);
machine!(
    /// The copy in which one operator can be broken.
    Mutated,
    tollgate_mutants
);
