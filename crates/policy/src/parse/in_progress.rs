//! Fields of limits on what is in progress: `busy_status`, `wait`, and what an adaptive limit has no use for.

use tollgate_algorithms::Mode;

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::model::{BusyStatus, CountScope, Identity, PolicyLimit};
use crate::numbers::Algorithm;
use crate::parse::context::Context;
use crate::parse::schema_fields::BUSY_STATUSES;
use crate::quantity::duration;

/// `busy_status`, which only limits on what is in progress have.
pub(super) fn busy_status<'t>(
    map: Value<'t>,
    algorithm: Option<Algorithm>,
    limit: &mut PolicyLimit,
    context: &mut Context<'t>,
) {
    let Some(entry) = map.entry("busy_status") else { return };
    let others = |algorithm: &Algorithm| !matches!(algorithm, Algorithm::Concurrency | Algorithm::Adaptive);
    if let Some(other) = algorithm.filter(others) {
        let message = format!("{} has no `busy_status`", other.name());
        let finding = Diagnostic::error("numbers", entry.key_at, message);
        let help = "remove it: only `concurrency` and `adaptive` limit how many requests are in progress";
        context.findings.push(finding.help(help));
    }
    if context.word(entry.value, "busy_status", BUSY_STATUSES) == Some("503") {
        limit.busy_status = BusyStatus::ServiceUnavailable;
    }
}

/// `wait`, which limits have that refuse at once without it.
pub(super) fn wait<'t>(
    map: Value<'t>,
    algorithm: Option<Algorithm>,
    limit: &mut PolicyLimit,
    context: &mut Context<'t>,
) {
    let Some(entry) = map.entry("wait") else { return };
    let wrong = if algorithm == Some(Algorithm::LeakyBucketQueue) {
        Some((
            "leaky_bucket_queue has no `wait`",
            "write `max_wait`, which bounds how long a request waits in it",
        ))
    } else if limit.mode == Mode::Shadow {
        Some(("a limit with `mode: shadow` makes nobody wait", "remove `wait`, or enforce the limit"))
    } else {
        None
    };
    if let Some((message, help)) = wrong {
        context.findings.push(Diagnostic::error("numbers", entry.key_at, message).help(help));
    }
    limit.wait = context.parsed(entry.value, "wait", duration);
}

/// An adaptive limit is the service's: without a key, each operation has one for everybody.
pub(super) fn adaptive<'t>(
    map: Value<'t>,
    algorithm: Option<Algorithm>,
    limit: &mut PolicyLimit,
    context: &mut Context<'t>,
) {
    if algorithm != Some(Algorithm::Adaptive) {
        return;
    }
    if map.get("consumer_key").is_none() && map.get("missing_key").is_none() {
        limit.key.chain = vec![vec![Identity::Everyone]];
        if map.get("counted").is_none() {
            limit.counted = CountScope::PerOperation;
        }
    }
    if map.get("busy_status").is_none() {
        limit.busy_status = BusyStatus::ServiceUnavailable;
    }
    if let Some(entry) = map.entry("address_ceiling") {
        let message = "adaptive has no `address_ceiling`: what a service can do is no multiple of anything";
        let finding = Diagnostic::error("numbers", entry.key_at, message);
        context.findings.push(finding.help("remove it, or add a limit by address beside this one"));
    }
}

/// Tiers of an adaptive limit have no numbers: there is one service.
pub(super) fn no_tier_numbers<'t>(own: Value<'t>, context: &mut Context<'t>) {
    for entry in own.entries() {
        let message = "an adaptive limit has no numbers by tier: it measures the service, not its clients";
        let finding = Diagnostic::error("numbers", entry.key_at, message);
        let help = "remove them: a tier may be left out altogether, or have another priority";
        context.findings.push(finding.help(help));
    }
}
