//! What endpoints count: connections, clients that may not use them, and results.

use std::sync::Arc;

use super::counter::{Count, Counter, Level};
use super::page::{Kind, MetricsText};

/// The metrics of one endpoint.
#[derive(Debug, Default)]
pub struct EndpointMetrics {
    /// Connections that were accepted.
    pub connections_total: Count,
    /// Connections that are open.
    pub connections_open: Level,
    /// TLS handshakes that failed, also for want of a client certificate.
    pub handshakes_failed: Count,
    /// Requests without a token that is right.
    pub denied: Count,
    /// Requests that could not be understood, or asked for more than the endpoint's maximum.
    pub invalid: Counter,
    /// Decisions that granted.
    pub granted: Counter,
    /// Decisions that refused.
    pub refused: Counter,
    /// Requests without a decision, because a store makes none.
    pub undetermined: Counter,
}

/// Writes the metrics of all endpoints, by the names of their sections.
pub(super) fn write(endpoints: &[(&'static str, Arc<EndpointMetrics>)], page: &mut MetricsText) {
    if endpoints.is_empty() {
        return;
    }
    type Get = fn(&EndpointMetrics) -> u64;
    let families: [(&'static str, Kind, &str, Get); 4] = [
        ("endpoint_connections_total", Kind::Counter, "Accepted connections.", |m| m.connections_total.get()),
        ("endpoint_connections_open", Kind::Gauge, "Open connections.", |m| m.connections_open.get()),
        ("endpoint_handshakes_failed_total", Kind::Counter, "Failed TLS handshakes.", |m| {
            m.handshakes_failed.get()
        }),
        ("endpoint_denied_total", Kind::Counter, "Requests without a valid token.", |m| m.denied.get()),
    ];
    for (name, kind, help, get) in families {
        let mut family = page.family(name, kind, help);
        for (endpoint, metrics) in endpoints {
            family.number(&[("endpoint", endpoint)], get(metrics));
        }
    }
    let mut family = page.family("endpoint_requests_total", Kind::Counter, "Requests by result.");
    for (endpoint, metrics) in endpoints {
        let results = [
            ("granted", &metrics.granted),
            ("refused", &metrics.refused),
            ("undetermined", &metrics.undetermined),
            ("invalid", &metrics.invalid),
        ];
        for (result, count) in results {
            family.number(&[("endpoint", endpoint), ("result", result)], count.get());
        }
    }
}
