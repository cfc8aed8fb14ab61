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
    /// The health of a cluster: that of its nodes together, with its own counts of calls. The breaker is that of the worst node.
    pub(crate) fn together(nodes: &[Self], counts: &Counts, trouble: Option<LinkError>) -> Self {
        let (answered, failed) = counts.calls();
        let down = nodes.iter().find(|node| !node.up);
        let worst = |standing: BreakerState| match standing {
            BreakerState::Closed => 0,
            BreakerState::Probing => 1,
            BreakerState::Open => 2,
        };
        let breaker = nodes.iter().map(|node| node.breaker).max_by_key(|standing| worst(*standing));
        let sum = |of: fn(&Self) -> &[(Cause, u64)]| {
            let count =
                |cause: Cause| nodes.iter().flat_map(of).filter(|(of, _)| *of == cause).map(|(_, n)| n).sum();
            Cause::all().map(|cause| (cause, count(cause))).collect()
        };
        let mut errors: Vec<LinkError> = Vec::new();
        for error in nodes.iter().flat_map(|node| &node.errors) {
            if recent::of(&errors, error.cause()).is_none() {
                errors.push(error.clone());
            }
        }
        Self {
            up: trouble.is_none() && !nodes.is_empty() && down.is_none(),
            since: nodes.iter().map(|node| node.since).min().unwrap_or_default(),
            trouble: down.and_then(|node| node.trouble.clone()).or(trouble),
            breaker: breaker.unwrap_or(BreakerState::Closed),
            in_flight: nodes.iter().map(|node| node.in_flight).sum(),
            answered,
            failed,
            errors,
            no_decision: None,
            connections: nodes.iter().map(|node| node.connections).sum(),
            connections_failed: sum(|node| &node.connections_failed),
        }
    }

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
