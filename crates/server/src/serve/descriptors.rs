//! Room for connections: each of a client's, and each to the upstream, is a descriptor, and the system gives only so many.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::gateway::logs::Logs;
use crate::settings::Settings;

/// So many descriptors are kept for everything that is not a connection: files, listeners, health checks.
const KEPT: usize = 64;

/// Takes as many descriptors as the system gives, and lowers the bound of connections to what they are enough for: a
/// client's and one to the upstream each. Beyond it clients wait in the listener's queue, and nothing fails.
pub(super) fn make_room(settings: &mut Settings, logs: &Logs) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let given = if raised.is_ok() { maximum } else { current };
    let Some(given) = given.and_then(|given| usize::try_from(given).ok()) else { return };
    let enough_for = connections(given);
    if enough_for < settings.bounds.connections {
        let wanted = settings.bounds.connections;
        logs.within(|| {
            tracing::warn!(
                descriptors = given,
                wanted,
                connections = enough_for,
                "the system's limit of descriptors (ulimit -n) is enough for fewer connections than `bounds.connections`"
            );
        });
        settings.bounds.connections = enough_for;
    }
}

/// How many connections so many descriptors are enough for.
fn connections(descriptors: usize) -> usize {
    (descriptors.saturating_sub(KEPT) / 2).max(1)
}

#[test]
fn every_connection_has_two_descriptors_and_something_is_kept() {
    assert_eq!(connections(1_024), 480);
    assert_eq!(connections(0), 1, "one is always tried");
}
