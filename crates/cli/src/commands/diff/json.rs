//! A comparison as JSON. A stable interface: fields are only added. `schemas/diff-output.schema.json` describes it.

use serde_json::{Value, json};
use tollgate_algorithms::Micros;
use tollgate_policy::diff::{Change, Diff, FailOn, LimitDiff, OperationDiff, Terms, TierDiff, Verdict};
use tollgate_policy::impact::Impact;

/// All of it. What is not there is `null`.
pub(super) fn diff(diff: &Diff) -> Value {
    let operations: Vec<_> = diff.operations.iter().map(operation).collect();
    let limits: Vec<_> = diff.limits.iter().map(limit).collect();
    let approvals =
        diff.approvals.iter().map(|approval| json!({ "who": approval.who, "limits": approval.why }));
    let approvals: Vec<_> = approvals.collect();
    let settings = diff.settings.iter().map(|of| json!({ "text": of.text, "verdict": verdict(of.verdict) }));
    let settings: Vec<_> = settings.collect();
    json!({
        "operations": operations,
        "more_operations": diff.more_operations,
        "limits": limits,
        "settings": settings,
        "approvals": approvals,
        "looser": diff.fails_on(FailOn::Looser),
        "tighter": diff.fails_on(FailOn::Tighter),
        "removed": diff.fails_on(FailOn::Removed),
    })
}

fn operation(operation: &OperationDiff) -> Value {
    let limits = operation.limits.iter();
    let limits: Vec<_> =
        limits.map(|at| json!({ "name": at.name, "changes": changes(&at.changes) })).collect();
    json!({
        "name": operation.name,
        "tier": operation.tier,
        "change": kind(&operation.verdict),
        "verdict": verdict(operation.effect),
        "before": operation.before.as_ref().map(impact),
        "after": operation.after.as_ref().map(impact),
        "limits": limits,
        "approvals": operation.approvals,
    })
}

/// Whether an operation is new, gone, or only another one.
fn kind(change: &Change) -> &'static str {
    if *change == Change::Added {
        "added"
    } else if *change == Change::Removed {
        "removed"
    } else {
        "changed"
    }
}

fn limit(limit: &LimitDiff) -> Value {
    let tiers: Vec<_> = limit.tiers.iter().map(tier).collect();
    json!({
        "name": limit.name,
        "at": limit.at,
        "changes": changes(&limit.changes),
        "verdict": verdict(limit.verdict),
        "longest_lockout": limit.longest_lockout.map(Micros::secs_rounded_up),
        "tiers": tiers,
        "approvals": limit.approvals,
    })
}

fn tier(tier: &TierDiff) -> Value {
    json!({
        "tier": tier.tier,
        "before": tier.before.as_ref().map(terms),
        "after": tier.after.as_ref().map(terms),
        // There is nothing to compare with what is new or gone.
        "verdict": tier.before.as_ref().and(tier.after.as_ref()).map(|_| verdict(tier.verdict)),
    })
}

fn terms(terms: &Terms) -> Value {
    json!({ "allows": terms.numbers.to_string(), "impact": terms.impact.as_ref().map(impact) })
}

fn impact(impact: &Impact) -> Value {
    json!({
        "sustained": impact.sustained.to_string(),
        "burst": impact.burst,
        "worst_minute": impact.worst_minute,
    })
}

const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::Looser => "looser",
        Verdict::Tighter => "tighter",
        Verdict::Mixed => "mixed",
    }
}

fn changes(changes: &[Change]) -> Vec<Value> {
    changes.iter().map(change).collect()
}

fn change(change: &Change) -> Value {
    match change {
        Change::Same => json!({ "kind": "same" }),
        Change::Looser => json!({ "kind": "looser" }),
        Change::Tighter => json!({ "kind": "tighter" }),
        Change::Mixed => json!({ "kind": "mixed" }),
        Change::Added => json!({ "kind": "added" }),
        Change::Removed => json!({ "kind": "removed" }),
        Change::Renamed { from } => json!({ "kind": "renamed", "from": from }),
        Change::OtherAlgorithm { same_state } => {
            json!({ "kind": "other_algorithm", "same_state": same_state })
        }
        Change::OtherKey => json!({ "kind": "other_key" }),
        Change::ModeChanged { enforced } => json!({ "kind": "mode_changed", "enforced": enforced }),
        Change::CostChanged => json!({ "kind": "cost_changed" }),
        Change::Other { field, before, after } => {
            json!({ "kind": "other", "field": field, "before": before, "after": after })
        }
    }
}
