//! The situations in which limits are compared: how much is offered, how the server behaves, and what changes when.

use crate::server::Discipline;

/// One situation. Times are in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What it is called in the table.
    pub name: &'static str,
    /// How long it runs.
    pub length: f64,
    /// When the last sudden change happens; what came before it is not judged.
    pub change: f64,
    /// Requests that the server works on at full speed, before and after the change.
    pub capacity: (f64, f64),
    /// The mean service time at full speed, before and after the change.
    pub service: (f64, f64),
    /// Whether the service time drifts: to the second value until the middle, and back until the end.
    pub drifts: bool,
    /// What is offered, as a part of the capacity, before and after the change.
    pub load: (f64, f64),
    /// The spread of service times.
    pub sigma: f64,
    /// The part of the requests that takes 25 times as long.
    pub slow: f64,
    /// The part of the requests that is never answered.
    pub lost: f64,
    /// At how many times its capacity the server refuses requests itself.
    pub refuses_at: Option<f64>,
    /// How quickly the server collapses.
    pub collapse: f64,
    /// How requests share the server.
    pub discipline: Discipline,
}

/// How much longer a slow request takes.
pub const SLOW_FACTOR: f64 = 25.0;
/// How long clients wait for a response.
pub const TIMEOUT: f64 = 1.0;
/// How long a refusal of the server takes.
pub const REFUSAL: f64 = 0.001;

const PLAIN: Scenario = Scenario {
    name: "3×",
    length: 60.0,
    change: 0.0,
    capacity: (40.0, 40.0),
    service: (0.020, 0.020),
    drifts: false,
    load: (3.0, 3.0),
    sigma: 0.3,
    slow: 0.0,
    lost: 0.0,
    refuses_at: None,
    collapse: 0.5,
    discipline: Discipline::Sharing,
};

/// Every scenario of the table.
pub const SCENARIOS: [Scenario; 16] = [
    PLAIN,
    Scenario { name: "1.1×, 240 s", load: (1.1, 1.1), length: 240.0, ..PLAIN },
    Scenario { name: "k 40→10", capacity: (40.0, 10.0), change: 20.0, load: (3.0, 3.0), ..PLAIN },
    Scenario { name: "k 10→40", capacity: (10.0, 40.0), change: 20.0, ..PLAIN },
    Scenario { name: "service 20→60 ms", service: (0.020, 0.060), change: 20.0, ..PLAIN },
    Scenario { name: "drift 20→60→20 ms", service: (0.020, 0.060), drifts: true, length: 120.0, ..PLAIN },
    Scenario { name: "noise, σ = 1", sigma: 1.0, ..PLAIN },
    Scenario { name: "1 % 25 × slower", slow: 0.01, ..PLAIN },
    Scenario { name: "0.3× then 3×", load: (0.3, 3.0), change: 20.0, ..PLAIN },
    Scenario { name: "0.8×", load: (0.8, 0.8), ..PLAIN },
    Scenario { name: "503 above 1.5 k", refuses_at: Some(1.5), ..PLAIN },
    Scenario { name: "5 % time out", lost: 0.05, ..PLAIN },
    Scenario { name: "k = 4", capacity: (4.0, 4.0), ..PLAIN },
    Scenario { name: "k = 400", capacity: (400.0, 400.0), length: 30.0, ..PLAIN },
    Scenario { name: "FIFO server", discipline: Discipline::Fifo, ..PLAIN },
    Scenario { name: "collapse 4 × as fast", collapse: 2.0, ..PLAIN },
];

/// An hour of mild overload, in which limits with an averaged baseline grow without bound.
pub const HOUR: Scenario = Scenario { name: "1.1×, one hour", load: (1.1, 1.1), length: 3_600.0, ..PLAIN };

impl Scenario {
    /// The mean service time of a request that starts now, without slow and lost ones.
    #[must_use]
    pub fn service_at(&self, now: f64) -> f64 {
        let (before, after) = self.service;
        if self.drifts {
            let part = 1.0 - (2.0 * now / self.length - 1.0).abs();
            return before + (after - before) * part;
        }
        if now < self.change { before } else { after }
    }

    /// The requests that the server works on at full speed now.
    #[must_use]
    pub fn capacity_at(&self, now: f64) -> f64 {
        if now < self.change { self.capacity.0 } else { self.capacity.1 }
    }

    /// The requests per second that the server can answer now.
    #[must_use]
    pub fn throughput_at(&self, now: f64) -> f64 {
        self.capacity_at(now) / (self.service_at(now) * (1.0 + self.slow * (SLOW_FACTOR - 1.0)))
    }

    /// The requests per second that are offered now: so many times what could be answered at the end.
    #[must_use]
    pub fn offered_at(&self, now: f64) -> f64 {
        let load = if now < self.change { self.load.0 } else { self.load.1 };
        load * self.throughput_at(now)
    }

    /// The requests per second that can be answered in time now, with what is offered.
    #[must_use]
    pub fn attainable_at(&self, now: f64) -> f64 {
        self.throughput_at(now).min(self.offered_at(now) * (1.0 - self.lost))
    }
}
