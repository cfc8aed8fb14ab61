//! The explanation for programs. Its names are an interface: they are added to, never changed.

use serde_json::{Value, json};
use tollgate_core::Mode;
use tollgate_policy::Budget;

use super::answer::{Answer, Match, Normal};
use super::limits::{Charged, Met};
use super::near::Near;

/// All of it. What is not known is `null`.
pub(super) fn answer(answer: &Answer) -> Value {
    let limits: Vec<_> = answer.limits.iter().map(limit).collect();
    let near = |near: &Near| json!({ "name": near.name, "at": near.at, "why": near.why });
    let near: Vec<_> = answer.near.iter().map(near).collect();
    let refusal = answer.told.refusal.as_ref().map(|refusal| {
        json!({
            "status": 429,
            "granted_before": refusal.granted,
            "limit": refusal.limit,
            "retry_after": refusal.retry_after,
        })
    });
    json!({
        "request": answer.request.as_ref().map(request),
        "matched": answer.matched.as_ref().map(matched),
        "limits": limits,
        "near": near,
        "answered": answer.refused.as_ref().map(|(status, why)| json!({ "status": status, "because": why })),
        "granted": { "RateLimit-Policy": answer.told.policy, "RateLimit": answer.told.first },
        "refused": refusal,
        "limited_in_flight": answer.told.in_flight,
    })
}

fn request(request: &Normal) -> Value {
    json!({
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "host": request.host,
        "client": request.client,
        "client_is": request.client_is,
        "tier": request.tier,
    })
}

fn matched(matched: &Match) -> Value {
    json!({
        "kind": matched.kind,
        "what": matched.what,
        "operation_id": matched.id,
        "at": matched.at,
        "unlimited": matched.unlimited,
    })
}

fn limit(limit: &Met) -> Value {
    let charges: Vec<_> = limit.charges.iter().map(charged).collect();
    let mode = match limit.mode {
        Mode::Enforced => "enforced",
        Mode::Shadow => "shadow",
    };
    json!({
        "name": limit.name,
        "at": limit.at,
        "level": limit.level,
        "nearest": limit.nearest,
        "algorithm": limit.algorithm,
        "mode": mode,
        "visible": limit.visible,
        "owner": limit.owner,
        "reviewers": limit.reviewers,
        "description": limit.description,
        "charges": charges,
        "unlimited_for": limit.unlimited_for,
    })
}

fn charged(charged: &Charged) -> Value {
    let budget = match charged.budget {
        Budget::Own => "own",
        Budget::AddressCeiling => "address_ceiling",
        Budget::WideAddress => "wide_address",
        Budget::WideCeiling => "wide_ceiling",
    };
    json!({
        "budget": budget,
        "allows": charged.numbers.to_string(),
        "numbers_of": charged.numbers_of,
        "key": charged.key,
        "cost": charged.cost,
        "cost_from": charged.cost_from,
    })
}
