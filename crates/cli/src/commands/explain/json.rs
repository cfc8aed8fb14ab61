//! The explanation as JSON. A stable interface: fields are only added. `schemas/explain-output.schema.json` describes it.

use serde_json::{Map, Value, json};
use tollgate_policy::VariantKind;
use tollgate_policy::quantity::spoken;

use super::explanation::{Explanation, MatchedOperation, NormalizedRequest, PartialExplanation};
use super::limits::{ChargedKey, MatchedLimit};
use super::suggest::NearbyOperation;

/// All of it. What is not known is `null`.
pub(super) fn answer(answer: &Explanation) -> Value {
    let limits: Vec<_> = answer.limits.iter().map(limit).collect();
    let near = |near: &NearbyOperation| json!({ "name": near.name, "at": near.at, "why": near.why });
    let near: Vec<_> = answer.near.iter().map(near).collect();
    let refusal = answer.told.refusal.as_ref().map(|refusal| {
        let map = |pairs: &mut dyn Iterator<Item = (&str, Value)>| {
            pairs.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>()
        };
        let fields = map(&mut refusal.fields.iter().map(|(name, value)| (*name, json!(value))));
        json!({
            "status": refusal.status,
            "headers": fields,
            "body": map(&mut refusal.body.iter().cloned()),
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
        "answered": answer.refused.as_ref().map(answered),
        "granted": { "RateLimit-Policy": answer.told.policy, "RateLimit": answer.told.first },
        "refused": refusal,
        "limited_in_flight": answer.told.in_flight,
    })
}

fn answered(answered: &PartialExplanation) -> Value {
    json!({ "status": answered.status, "because": answered.because, "looked_at": answered.looked })
}

fn request(request: &NormalizedRequest) -> Value {
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

fn matched(matched: &MatchedOperation) -> Value {
    let farther = matched.farther.iter();
    let farther = farther.map(|far| json!({ "name": far.name, "level": far.level, "at": far.at }));
    let farther: Vec<_> = farther.collect();
    json!({
        "kind": matched.kind,
        "what": matched.what,
        "operation_id": matched.id,
        "at": matched.at,
        "unlimited": matched.unlimited,
        "farther": farther,
    })
}

fn limit(limit: &MatchedLimit) -> Value {
    let charges: Vec<_> = limit.charges.iter().map(charged).collect();
    json!({
        "name": limit.name,
        "at": limit.at,
        "reference": limit.reference,
        "level": limit.level,
        "nearest": limit.nearest,
        "algorithm": limit.algorithm,
        "mode": limit.mode_word(),
        "wait": limit.wait.map(spoken),
        "strict": limit.strict,
        "visible": limit.visible,
        "owner": limit.owner,
        "reviewers": limit.reviewers,
        "description": limit.description,
        "charges": charges,
        "unlimited_for": limit.unlimited_for,
    })
}

fn charged(charged: &ChargedKey) -> Value {
    let budget = match charged.budget {
        VariantKind::Own => "own",
        VariantKind::AddressCeiling => "address_ceiling",
        VariantKind::WideAddress => "wide_address",
        VariantKind::WideCeiling => "wide_ceiling",
    };
    json!({
        "budget": budget,
        "allows": charged.numbers.to_string(),
        "numbers_of": charged.numbers_of,
        "key": charged.key,
        "key_from": charged.key_from,
        "line": charged.line,
        "cost": charged.cost,
        "cost_from": charged.cost_from,
    })
}
