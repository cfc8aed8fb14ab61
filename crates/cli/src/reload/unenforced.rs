//! Log lines about parts of a policy that this version does not enforce yet, at start-up and on reload.

use tollgate_policy::{Diagnostic, Policy};

use crate::finding::printable;
use crate::telemetry::logs::Logs;

/// Warns about a policy that is in force from now on.
pub(crate) fn warn_unenforced(policy: &Policy, logs: &Logs) {
    for Diagnostic { message, place, .. } in tollgate_policy::lint::not_enforced(policy) {
        let (at, why) = (policy.sources().locate(place), printable(&message));
        logs.within(|| tracing::warn!(%at, why, "a part of the policy is not enforced yet"));
    }
}
