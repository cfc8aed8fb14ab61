//! Checks that the file descriptor limit suffices for the maximum number of connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::settings::Settings;
use crate::telemetry::logs::Logs;

/// File descriptors reserved for everything but connections: files, listeners, health checks.
const KEPT: usize = 64;
/// So many descriptors, and no more, are kept for connections to the upstream. Where more requests than that are in flight at
/// once and the system gives no more, they are 502.
const UPSTREAM_MAX: usize = 5_000;

/// Takes as many descriptors as the system gives, and lowers the bound of connections to what they are enough for: one
/// for each, and one to the upstream for each that has a request. Beyond it clients wait in the listener's queue, and nothing fails.
pub(super) fn make_room(settings: &mut Settings, logs: &Logs) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let given = if raised.is_ok() { maximum } else { current };
    let Some(given) = given.and_then(|given| usize::try_from(given).ok()) else { return };
    // The endpoints' connections have one descriptor each.
    let endpoints = settings.endpoints().into_iter().filter(|(_, endpoint)| endpoint.listen.is_some());
    let endpoints = endpoints.fold(0_usize, |sum, (_, endpoint)| sum.saturating_add(endpoint.connections));
    let enough_for = connections(given.saturating_sub(endpoints.min(given / 2)));
    if enough_for < settings.bounds.connections {
        let wanted = settings.bounds.connections;
        logs.within(|| {
            tracing::warn!(
                descriptors = given,
                wanted,
                connections = enough_for,
                "the file descriptor limit (ulimit -n) is too low for `bounds.connections`"
            );
        });
        settings.bounds.connections = enough_for;
    }
}

/// How many connections so many descriptors are enough for.
fn connections(descriptors: usize) -> usize {
    let left = descriptors.saturating_sub(KEPT);
    left.saturating_sub((left / 2).min(UPSTREAM_MAX)).max(1)
}

#[test]
fn every_connection_has_two_descriptors_and_something_is_kept() {
    assert_eq!(connections(1_024), 480);
    assert_eq!(connections(20_000), 14_936, "idle connections need one only");
    assert_eq!(connections(0), 1, "one is always tried");
}
