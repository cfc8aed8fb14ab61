//! What an adaptive limit has by itself, and what it has no use for.

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::model::{BusyStatus, CountScope, Identity, PolicyLimit};
use crate::numbers::Algorithm;
use crate::parse::context::Context;

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
