//! The fields of limits that count what is in progress or make requests wait: `busy_status`, `wait`, `fair_by` and `strict`.

use tollgate_algorithms::Mode;

use crate::document::diagnostic::Diagnostic;
use crate::document::tree::Value;
use crate::model::{BusyStatus, PolicyLimit};
use crate::numbers::Algorithm;
use crate::parse::context::Context;
use crate::parse::identity;
use crate::parse::schema_fields::{BUSY_STATUSES, FLAG};
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
        Some(("a limit with `mode: shadow` makes no request wait", "remove `wait`, or enforce the limit"))
    } else {
        None
    };
    if let Some((message, help)) = wrong {
        context.findings.push(Diagnostic::error("numbers", entry.key_at, message).help(help));
    }
    limit.wait = context.parsed(entry.value, "wait", duration);
}

/// `fair_by`, which only limits have that make requests wait.
pub(super) fn fair_by<'t>(
    map: Value<'t>,
    algorithm: Option<Algorithm>,
    limit: &mut PolicyLimit,
    context: &mut Context<'t>,
) {
    let Some(entry) = map.entry("fair_by") else { return };
    let waits = algorithm == Some(Algorithm::LeakyBucketQueue) || map.get("wait").is_some();
    let wrong = if !waits && algorithm.is_some() {
        Some((
            "`fair_by` has no effect: nobody waits for this limit",
            "add `wait`, or take `algorithm: leaky_bucket_queue`",
        ))
    } else if limit.mode == Mode::Shadow {
        Some((
            "`fair_by` has no effect: a limit with `mode: shadow` makes no request wait",
            "remove it, or enforce the limit",
        ))
    } else {
        None
    };
    if let Some((message, help)) = wrong {
        context.findings.push(Diagnostic::error("numbers", entry.key_at, message).help(help));
    }
    limit.fair_by = identity::fair_by(entry.value, context);
}

/// `strict`, which only queues have.
pub(super) fn strict<'t>(
    map: Value<'t>,
    algorithm: Option<Algorithm>,
    limit: &mut PolicyLimit,
    context: &mut Context<'t>,
) {
    let Some(entry) = map.entry("strict") else { return };
    if let Some(other) = algorithm.filter(|algorithm| *algorithm != Algorithm::LeakyBucketQueue) {
        let message = format!("{} has no `strict`", other.name());
        let finding = Diagnostic::error("numbers", entry.key_at, message);
        context.findings.push(finding.help("remove it: only `leaky_bucket_queue` spaces requests"));
    }
    limit.strict = context.word(entry.value, "strict", FLAG) == Some("true");
}
