//! The health of a link, for logs, metrics and readiness: counts by cause.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Cause, LinkError, Standing, recent};

/// How a link is doing at a moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Health {
    /// Whether there is a connection on which the server has spoken.
    pub up: bool,
    /// How long that has been so.
    pub since: Duration,
    /// Why there is no connection, if there is none.
    pub trouble: Option<LinkError>,
    /// Where the breaker stands.
    pub breaker: Standing,
    /// How many calls are in flight, those whose callers have gone among them.
    pub in_flight: usize,
    /// How many calls were answered.
    pub answered: u64,
    /// How many calls were not, by cause, in the order of [`Cause::all`]. Those whose answer was no decision are here too, and so
    /// are charges that were to wait for another's answer, and could not.
    pub failed: Vec<(Cause, u64)>,
    /// The last error of each cause for which a call failed or a connection ended, with the server's own words.
    pub errors: Vec<LinkError>,
    /// What was wrong with the last answer that was no decision, and what to do about it: a sentence.
    pub no_decision: Option<Box<str>>,
    /// How many connections were made.
    pub connections: u64,
    /// How many tries to make one failed, by cause, in the order of [`Cause::all`].
    pub connections_failed: Vec<(Cause, u64)>,
}

impl Health {
    /// Why calls fail for this cause: what was said about the last one, in the server's own words if it said anything.
    #[must_use]
    pub fn error(&self, cause: Cause) -> Option<&LinkError> {
        recent::of(&self.errors, cause)
    }
}

/// Counts that all callers share.
#[derive(Debug)]
pub(crate) struct Counts {
    calls: Tally,
    connections: Tally,
}

/// How often something went well, and how often not, by cause.
#[derive(Debug)]
struct Tally {
    well: AtomicU64,
    failed: [AtomicU64; Cause::COUNT],
}

impl Counts {
    pub(crate) const fn new() -> Self {
        Self { calls: Tally::new(), connections: Tally::new() }
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

impl Tally {
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
