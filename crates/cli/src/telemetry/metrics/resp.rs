//! Counters of the endpoint for Redis clients.

use super::counter::{Count, Counter, Level};
use super::page::{Kind, Page};

/// The numbers of the endpoint.
#[derive(Default, Debug)]
pub struct RespMetrics {
    /// Connections that are open.
    pub connections_open: Level,
    /// Connections that were accepted.
    pub connections_total: Count,
    /// Connections that ended for a reason of ours.
    pub closed: Closed,
    /// Commands that were executed: `CL.THROTTLE`.
    pub throttle: Counter,
    /// Commands that were executed: those with a decision or a reservation of another form, and permits.
    pub own: Counter,
    /// Commands that were executed: all others.
    pub other: Counter,
    /// Replies that are errors, by reason.
    pub errors: Errors,
}

/// Connections that ended for a reason of ours.
#[derive(Default, Debug)]
pub struct Closed {
    /// Silent for too long, or without a token for too long.
    pub idle: Count,
    /// The client did not take its replies.
    pub slow: Count,
    /// What it sent was not the protocol, or beyond a bound.
    pub protocol: Count,
}

/// Replies that are errors.
#[derive(Default, Debug)]
pub struct Errors {
    /// A command that is unknown or malformed.
    pub invalid: Counter,
    /// No token, or a wrong one.
    pub denied: Counter,
    /// No decision was possible.
    pub unavailable: Counter,
}

impl RespMetrics {
    /// How many commands were executed.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.throttle.get().saturating_add(self.own.get()).saturating_add(self.other.get())
    }

    pub(super) fn write(&self, page: &mut Page) {
        page.number(
            ("resp_connections", Kind::Gauge),
            "Open connections of Redis clients.",
            self.connections_open.get(),
        );
        let name = ("resp_connections_total", Kind::Counter);
        page.number(name, "Accepted connections of Redis clients.", self.connections_total.get());
        let about = "Connections of Redis clients closed by the endpoint, by reason.";
        let mut family = page.family("resp_connections_closed_total", Kind::Counter, about);
        let closed = &self.closed;
        for (reason, count) in [("idle", &closed.idle), ("slow_reader", &closed.slow), ("protocol", &closed.protocol)] {
            family.number(&[("reason", reason)], count.get());
        }
        let about = "Commands of Redis clients, by kind.";
        let mut family = page.family("resp_commands_total", Kind::Counter, about);
        for (kind, count) in [("cl.throttle", &self.throttle), ("tg", &self.own), ("other", &self.other)] {
            family.number(&[("command", kind)], count.get());
        }
        let about = "Error replies to Redis clients, by reason.";
        let mut family = page.family("resp_errors_total", Kind::Counter, about);
        let errors = &self.errors;
        for (reason, count) in
            [("invalid", &errors.invalid), ("denied", &errors.denied), ("unavailable", &errors.unavailable)]
        {
            family.number(&[("reason", reason)], count.get());
        }
    }
}
