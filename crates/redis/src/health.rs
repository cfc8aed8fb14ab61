//! The health of a link, for logs, metrics and readiness: counts by cause.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{BreakerState, Cause, LinkError, recent};

/// The health of a link at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Health {
    /// Whether there is a connection on which the server has replied.
    pub up: bool,
    /// How long `up` has had this value.
    pub since: Duration,
    /// Why there is no connection, if there is none.
    pub trouble: Option<LinkError>,
    /// The state of the circuit breaker.
    pub breaker: BreakerState,
    /// Number of calls in flight, including those whose callers have been cancelled.
    pub in_flight: usize,
    /// Number of successful calls.
    pub answered: u64,
    /// Number of failed calls by cause, in the order of [`Cause::all`], including replies without a decision
    /// and charges that could not wait for another caller's query.
    pub failed: Vec<(Cause, u64)>,
    /// The last error of each cause, with the server's message.
    pub errors: Vec<LinkError>,
    /// What was wrong with the last reply without a decision, and the remedy.
    pub no_decision: Option<Box<str>>,
    /// Number of successful connections.
    pub connections: u64,
    /// Number of failed connection attempts by cause, in the order of [`Cause::all`].
    pub connections_failed: Vec<(Cause, u64)>,
}

impl Health {
    /// The last error with this cause, with the server's message if there is one.
    #[must_use]
    pub fn error(&self, cause: Cause) -> Option<&LinkError> {
        recent::of(&self.errors, cause)
    }
}

/// Counts that all callers share.
#[derive(Debug)]
pub(crate) struct Counts {
    calls: CauseCounts,
    connections: CauseCounts,
}

/// How often something went well, and how often not, by cause.
#[derive(Debug)]
struct CauseCounts {
    well: AtomicU64,
    failed: [AtomicU64; Cause::COUNT],
}

impl Counts {
    pub(crate) const fn new() -> Self {
        Self { calls: CauseCounts::new(), connections: CauseCounts::new() }
    }

    /// A call has ended.
    pub(crate) fn ended(&self, cause: Option<Cause>) {
        self.calls.add(cause);
    }

    /// A connection was tried.
    pub(crate) fn tried(&self, cause: Option<Cause>) {
        self.connections.add(cause);
    }

    /// How many calls were answered, and how many were not.
    pub(crate) fn calls(&self) -> (u64, Vec<(Cause, u64)>) {
        self.calls.read()
    }

    /// How many connections were made, and how many were not.
    pub(crate) fn connections(&self) -> (u64, Vec<(Cause, u64)>) {
        self.connections.read()
    }
}

impl CauseCounts {
    const fn new() -> Self {
        Self { well: AtomicU64::new(0), failed: [const { AtomicU64::new(0) }; Cause::COUNT] }
    }

    fn add(&self, cause: Option<Cause>) {
        let count = match cause {
            None => Some(&self.well),
            Some(cause) => self.failed.get(cause as usize),
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn read(&self) -> (u64, Vec<(Cause, u64)>) {
        let failed = Cause::all().zip(self.failed.iter().map(|count| count.load(Ordering::Relaxed)));
        (self.well.load(Ordering::Relaxed), failed.collect())
    }
}
