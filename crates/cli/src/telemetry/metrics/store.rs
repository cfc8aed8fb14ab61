//! Metrics of the shared store: whether it is up, and calls by result.

use tollgate_redis::{BreakerState, Health};

use super::page::{Kind, MetricsText};

/// Writes it.
pub(super) fn write(health: &Health, page: &mut MetricsText) {
    let name = ("shared_store_up", Kind::Gauge);
    page.number(name, "1 if there is a connection to the shared store.", u64::from(health.up));
    let open = u64::from(health.breaker != BreakerState::Closed);
    let name = ("shared_store_breaker_open", Kind::Gauge);
    page.number(name, "1 while the circuit breaker of the shared store is open.", open);
    let in_flight = u64::try_from(health.in_flight).unwrap_or(u64::MAX);
    page.number(("shared_store_in_flight", Kind::Gauge), "Calls to the shared store in flight.", in_flight);
    let mut calls =
        page.family("shared_store_calls_total", Kind::Counter, "Calls to the shared store by result.");
    calls.number(&[("result", "answered")], health.answered);
    for (cause, count) in &health.failed {
        calls.number(&[("result", cause.name())], *count);
    }
    let about = "Connections to the shared store by result.";
    let mut connections = page.family("shared_store_connections_total", Kind::Counter, about);
    connections.number(&[("result", "made")], health.connections);
    for (cause, count) in &health.connections_failed {
        connections.number(&[("result", cause.name())], *count);
    }
}

/// Writes the health of the nodes of a cluster, by their addresses.
pub(super) fn write_nodes(nodes: &[(String, Health)], page: &mut MetricsText) {
    if nodes.is_empty() {
        return;
    }
    let about = "1 if there is a connection to this node of the shared store.";
    let mut up = page.family("shared_store_node_up", Kind::Gauge, about);
    for (node, health) in nodes {
        up.number(&[("node", node)], u64::from(health.up));
    }
    let about = "1 while the circuit breaker of this node of the shared store is open.";
    let mut open = page.family("shared_store_node_breaker_open", Kind::Gauge, about);
    for (node, health) in nodes {
        open.number(&[("node", node)], u64::from(health.breaker != BreakerState::Closed));
    }
}
