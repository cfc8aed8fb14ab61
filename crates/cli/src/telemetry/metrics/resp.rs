//! What the endpoint for Redis clients counts besides what every endpoint does: commands, and why it closed connections.

use super::counter::{Count, Counter};
use super::page::{Kind, MetricsText};

/// The numbers of the endpoint.
#[derive(Default, Debug)]
pub struct RespMetrics {
    /// Connections that ended for a reason of ours.
    pub closed: Closed,
    /// `CL.THROTTLE`.
    pub throttle: Counter,
    /// Our own commands.
    pub own: Counter,
    /// All other commands.
    pub other: Counter,
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

impl RespMetrics {
    /// How many commands there were.
    #[must_use]
    pub fn commands(&self) -> u64 {
        self.throttle.get().saturating_add(self.own.get()).saturating_add(self.other.get())
    }

    pub(super) fn write(&self, page: &mut MetricsText) {
        let about = "Connections of Redis clients closed by the endpoint, by reason.";
        let mut family = page.family("resp_connections_closed_total", Kind::Counter, about);
        let closed = &self.closed;
        let reasons = [("idle", &closed.idle), ("slow_reader", &closed.slow), ("protocol", &closed.protocol)];
        for (reason, count) in reasons {
            family.number(&[("reason", reason)], count.get());
        }
        let about = "Commands of Redis clients, by kind.";
        let mut family = page.family("resp_commands_total", Kind::Counter, about);
        for (kind, count) in [("cl.throttle", &self.throttle), ("tg", &self.own), ("other", &self.other)] {
            family.number(&[("command", kind)], count.get());
        }
    }
}
