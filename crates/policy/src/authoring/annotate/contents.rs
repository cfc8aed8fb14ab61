//! The inserted content: the 429 response, its headers and its problem schema. `plan` decides where it goes.

use super::piece::Piece::{self, Map, Text, Word};

/// The name of the response under `components/responses`.
pub const RESPONSE: &str = "TollgateRateLimited";
/// The name of the schema under `components/schemas`.
pub const PROBLEM: &str = "TollgateProblem";
/// How an operation names the response.
pub(super) const RESPONSE_REF: &str = "#/components/responses/TollgateRateLimited";
const PROBLEM_REF: &str = "#/components/schemas/TollgateProblem";

/// The headers of a refusal: name, type and description.
const HEADERS: &[(&str, &str, &str)] = &[
    ("Retry-After", "integer", "Seconds to wait before retrying."),
    ("RateLimit-Policy", "string", "Quota policies that apply to this request, with quota and window."),
    ("RateLimit", "string", "Remaining quota per policy, and seconds until more is available."),
    ("X-RateLimit-Limit", "integer", "Quota of the limit closest to being exhausted."),
    ("X-RateLimit-Remaining", "integer", "Remaining quota of that limit."),
    ("X-RateLimit-Reset", "integer", "Unix time at which the quota is fully restored."),
];

/// The members of a problem: name, type and description.
const FIELDS: &[(&str, &str, &str)] = &[
    ("type", "string", "URI that identifies the problem type."),
    ("title", "string", "Short summary of the problem type."),
    ("status", "integer", "HTTP status code (429)."),
    ("detail", "string", "Explanation of this refusal."),
];

/// The value of `'429'` in an operation.
pub(super) fn reference() -> Piece {
    Map(vec![("$ref", Text(RESPONSE_REF))])
}

/// The value of `components/responses/TollgateRateLimited`.
pub(super) fn response() -> Piece {
    let header = |kind, about| Map(vec![("description", Text(about)), ("schema", typed(kind))]);
    let headers = HEADERS.iter().map(|(name, kind, about)| (*name, header(kind, about))).collect();
    let schema = Map(vec![("schema", Map(vec![("$ref", Text(PROBLEM_REF))]))]);
    Map(vec![
        ("description", Text("Rate limit exceeded. Wait for the time in Retry-After before retrying.")),
        ("headers", Map(headers)),
        ("content", Map(vec![("application/problem+json", schema)])),
    ])
}

/// The value of `components/schemas/TollgateProblem`.
pub(super) fn problem() -> Piece {
    let field = |kind, about| Map(vec![("type", Word(kind)), ("description", Text(about))]);
    let mut fields: Vec<_> = FIELDS.iter().map(|(name, kind, about)| (*name, field(kind, about))).collect();
    let policies = vec![
        ("type", Word("array")),
        ("description", Text("Names of the exceeded limits, as in RateLimit-Policy.")),
        ("items", typed("string")),
    ];
    fields.push(("violated-policies", Map(policies)));
    Map(vec![
        ("type", Word("object")),
        ("description", Text("Problem details (RFC 9457) of a refused request.")),
        ("properties", Map(fields)),
    ])
}

fn typed(kind: &'static str) -> Piece {
    Map(vec![("type", Word(kind))])
}
