//! The API's own description, generated from the constants that the code enforces, and served at `/openapi.json`.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use tollgate::{CONCURRENCY_MAX, HITS_MAX};

use super::body::BODY_BYTES_MAX;
use super::limits::{KEY_CHARS_MAX, NAME_CHARS_MAX, RATE_CHARS_MAX};
use super::permits::{PERMIT_MS_MAX, PERMITS_MAX};
use super::request_facts::TARGET_CHARS_MAX;
use super::strict_json::{MEMBERS_MAX, NUMBER_MAX};
use super::verbs::{RECEIPT_TIME, RECEIPTS_MAX, RESERVATION_MS_MAX};

/// A rate, as clients write it.
const RATE: &str = "^((token_bucket|leaky_bucket|gcra): )?[1-9][0-9]{0,3} per (second|minute|hour|day)(, burst [1-9][0-9]{0,3})?$";
/// An id.
const ID: &str = "^[0-9a-f]{32}$";

/// The description, as it is served.
pub(super) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| document().to_string());
    &TEXT
}

/// The description.
fn document() -> Value {
    let description = format!(
        "Decides whether something is within its limits. 200 is granted, 429 is refused, and 503 is no decision, which is not a grant. \
         Every other status is an error of the request, and changes nothing.\n\n\
         Maxima: {BODY_BYTES_MAX} bytes per body (413), {HITS_MAX} hits per request, {KEY_CHARS_MAX} characters per key, {NAME_CHARS_MAX} characters per \
         name, {RATE_CHARS_MAX} characters per rate, {MEMBERS_MAX} members per object, numbers up to {NUMBER_MAX} and without fraction or exponent, \
         {RECEIPTS_MAX} receipts (the oldest is forgotten, and its charge stays) for {} s each, {PERMITS_MAX} permits (further ones are 503), \
         {RESERVATION_MS_MAX} ms per reservation, {PERMIT_MS_MAX} ms per permit. No member is ignored: one that is not known is an error.",
        RECEIPT_TIME.as_secs()
    );
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Tollgate API", "version": env!("CARGO_PKG_VERSION"), "description": description },
        "security": [{}, { "token": [] }],
        "paths": paths(),
        "components": {
            "schemas": schemas(),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn paths() -> Value {
    let mut paths = Map::new();
    for (path, id, summary, body, answer, statuses) in [
        (
            "/v1/check",
            "check",
            "Charge all hits or none, or a request by the policy",
            "Check",
            "Decision",
            &[404, 422, 429][..],
        ),
        ("/v1/peek", "peek", "Decide, and charge nothing", "Hits", "Decision", &[404, 429]),
        ("/v1/refund", "refund", "Give a charge back", "Refund", "Adjustment", &[404]),
        ("/v1/reserve", "reserve", "Charge an estimate", "Reserve", "Decision", &[404, 429]),
        (
            "/v1/commit",
            "commit",
            "Replace an estimate by the actual cost",
            "Commit",
            "Adjustment",
            &[404, 409],
        ),
        ("/v1/cancel", "cancel", "Give an estimate back", "Cancel", "Adjustment", &[404, 409]),
        ("/v1/acquire", "acquire", "Acquire a permit for work in progress", "Acquire", "Permit", &[404, 429]),
        ("/v1/release", "release", "Release a permit", "Release", "Released", &[404]),
    ] {
        let mut responses = responses(answer, statuses);
        for status in ["408", "413", "415"] {
            responses.insert(status.into(), problem());
        }
        let body = json!({ "$ref": format!("#/components/schemas/{body}") });
        let operation = json!({
            "operationId": id,
            "summary": summary,
            "requestBody": { "required": true, "content": { "application/json": { "schema": body } } },
            "responses": responses,
        });
        paths.insert(path.into(), json!({ "post": operation }));
    }
    let parameter = |name: &str, required: bool, schema: Value| json!({ "name": name, "in": "query", "required": required, "schema": schema });
    let explain = json!({
        "operationId": "explain",
        "summary": "Which limits of the policy apply to a request, and why",
        "parameters": [
            parameter("target", true, json!({ "type": "string", "pattern": "^/[a-z0-9/]*$", "maxLength": 200 })),
            parameter("method", false, json!({ "type": "string", "pattern": "^[A-Z]{1,20}$" })),
            parameter("address", false, json!({ "type": "string", "format": "ipv4" })),
        ],
        "responses": responses("Explanation", &[]),
    });
    paths.insert("/v1/explain".into(), json!({ "get": explain }));
    Value::Object(paths)
}

fn responses(answer: &str, statuses: &[u16]) -> Map<String, Value> {
    let content = |schema: &str| json!({ "application/json": { "schema": { "$ref": format!("#/components/schemas/{schema}") } } });
    let mut all = Map::new();
    all.insert("200".into(), json!({ "description": "Done", "content": content(answer) }));
    for status in [400, 401, 405, 503].iter().chain(statuses) {
        let response = if *status == 429 {
            let wait = json!({ "Retry-After": { "schema": { "type": "integer", "minimum": 1 } } });
            let content = content(if answer == "Permit" { "Busy" } else { "Decision" });
            json!({ "description": "Refused; nothing was charged", "headers": wait, "content": content })
        } else {
            problem()
        };
        all.insert(status.to_string(), response);
    }
    all
}

fn problem() -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    json!({ "description": "No decision", "content": { "application/problem+json": { "schema": schema } } })
}

/// An object without members that are not named.
fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties })
}

fn string(chars_max: usize) -> Value {
    json!({ "type": "string", "maxLength": chars_max })
}

fn schemas() -> Value {
    let id = json!({ "type": "string", "pattern": ID });
    let number = json!({ "type": "integer", "minimum": 0, "maximum": NUMBER_MAX });
    let hits = json!({ "type": "array", "minItems": 1, "maxItems": HITS_MAX, "items": { "$ref": "#/components/schemas/Hit" } });
    let millis = |most: u64| json!({ "type": "integer", "minimum": 1, "maximum": most });
    let rate = json!({ "type": "string", "pattern": RATE, "maxLength": RATE_CHARS_MAX, "examples": ["10 per second, burst 20"] });
    let common = json!({ "key": string(KEY_CHARS_MAX), "cost": number, "shadow": { "type": "boolean" } });
    let with = |more: Value| {
        let mut all = common.as_object().cloned().unwrap_or_default();
        all.extend(more.as_object().cloned().unwrap_or_default());
        Value::Object(all)
    };
    let named = object(&["limit", "key"], with(json!({ "limit": string(NAME_CHARS_MAX) })));
    let fails = json!({ "type": "string", "enum": ["deny", "allow", "local"] });
    let brought = object(
        &["rate", "key"],
        with(json!({ "rate": rate, "limit": string(NAME_CHARS_MAX), "when_store_fails": fails })),
    );
    let of_hits = object(&["hits"], json!({ "hits": hits.clone(), "receipt": { "type": "boolean" } }));
    let of_request = object(&["request"], json!({ "request": { "$ref": "#/components/schemas/Request" } }));
    json!({
        "Hit": { "anyOf": [named, brought] },
        "Hits": object(&["hits"], json!({ "hits": hits.clone() })),
        "Check": { "anyOf": [of_hits, of_request] },
        "Request": request(),
        "Refund": object(&["receipt"], json!({ "receipt": id })),
        "Reserve": object(&["hits"], json!({ "hits": hits, "expires_in_ms": millis(RESERVATION_MS_MAX) })),
        "Commit": object(&["reservation", "actual"], json!({ "reservation": id, "actual": number })),
        "Cancel": object(&["reservation"], json!({ "reservation": id })),
        "Acquire": {
            "anyOf": [
                object(&["limit", "key"], json!({ "limit": string(NAME_CHARS_MAX), "key": string(KEY_CHARS_MAX), "expires_in_ms": millis(PERMIT_MS_MAX) })),
                object(&["concurrency", "key"], json!({
                    "concurrency": { "type": "integer", "minimum": 0, "maximum": CONCURRENCY_MAX },
                    "limit": string(NAME_CHARS_MAX),
                    "key": string(KEY_CHARS_MAX),
                    "expires_in_ms": millis(PERMIT_MS_MAX),
                })),
            ],
        },
        "Release": object(&["permit"], json!({ "permit": id })),
        "Decision": decision(&id, &number),
        "Adjustment": object(&["refunded", "charged"], json!({ "refunded": number, "charged": number })),
        "Permit": object(&["result", "permit", "remaining", "expires_in_ms"], json!({
            "result": { "const": "granted" }, "permit": id, "remaining": number, "expires_in_ms": number,
        })),
        "Busy": object(&["result", "in_progress", "retry_after_ms"], json!({
            "result": { "const": "refused" }, "in_progress": number, "retry_after_ms": { "type": ["integer", "null"] },
        })),
        "Released": object(&["released"], json!({ "released": { "const": true } })),
        "Explanation": { "type": "object", "description": "As `tollgate explain --format json`" },
        "Problem": object(&["type", "title", "status", "detail"], json!({
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "pointer": { "type": "string", "description": "The member of the body that is wrong (RFC 6901)" },
        })),
    })
}

fn request() -> Value {
    object(
        &["method", "target", "address"],
        json!({
            "method": { "type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] },
            "target": { "type": "string", "pattern": "^/[a-z0-9/]*$", "maxLength": TARGET_CHARS_MAX },
            "host": { "type": "string", "pattern": "^[a-z0-9]{1,40}$" },
            "address": { "type": "string", "format": "ipv4" },
            "headers": {
                "type": "object",
                "maxProperties": 32,
                "propertyNames": { "pattern": "^x-[a-z]{1,20}$" },
                "additionalProperties": { "type": "string", "pattern": "^[a-z0-9]{0,40}$" },
            },
        }),
    )
}

fn decision(id: &Value, number: &Value) -> Value {
    let limit = object(
        &["name", "mode", "granted"],
        json!({
            "name": { "type": "string" },
            "mode": { "type": "string", "enum": ["enforced", "shadow"] },
            "granted": { "type": "boolean" },
            "limit": number,
            "remaining": number,
            "reset_after_ms": number,
        }),
    );
    object(
        &["result", "degraded", "limits"],
        json!({
            "result": { "type": "string", "enum": ["granted", "refused"] },
            "degraded": { "type": "boolean", "description": "Whether something stood in for the state of a key" },
            "retry_after_ms": { "type": ["integer", "null"], "description": "If refused; `null`: never" },
            "receipt": id,
            "reservation": id,
            "limits": { "type": "array", "items": limit },
        }),
    )
}
