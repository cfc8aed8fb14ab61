//! What is written into a document: the response, its headers and its problem schema. Where it goes is not known here.

use super::piece::Piece::{self, Map, Text, Word};

/// The name of the response under `components/responses`.
pub const RESPONSE: &str = "TollgateRateLimited";
/// The name of the schema under `components/schemas`.
pub const PROBLEM: &str = "TollgateProblem";
/// How an operation names the response.
pub(super) const RESPONSE_REF: &str = "#/components/responses/TollgateRateLimited";
const PROBLEM_REF: &str = "#/components/schemas/TollgateProblem";

/// The headers of a refusal: the name, the type of its value, and what it says.
const HEADERS: &[(&str, &str, &str)] = &[
    ("Retry-After", "integer", "After how many seconds the same request can be allowed."),
    ("RateLimit-Policy", "string", "The limits that this request met, with their quotas and windows."),
    ("RateLimit", "string", "What is left of them, and in how many seconds there is more."),
    ("X-RateLimit-Limit", "integer", "How much the nearest limit allows."),
    ("X-RateLimit-Remaining", "integer", "How much of it is left."),
    ("X-RateLimit-Reset", "integer", "When the limit is as good as untouched again, in seconds since 1970."),
];

/// The fields of a problem: the name, the type of its value, and what it says.
const FIELDS: &[(&str, &str, &str)] = &[
    ("type", "string", "Which kind of problem it is, as a URI."),
    ("title", "string", "The kind of problem in a few words."),
    ("status", "integer", "The status of the response, 429."),
    ("detail", "string", "What happened to this request, in a sentence."),
];

/// What stands under `'429'` of an operation.
pub(super) fn reference() -> Piece {
    Map(vec![("$ref", Text(RESPONSE_REF))])
}

/// What stands under `components/responses/TollgateRateLimited`.
pub(super) fn response() -> Piece {
    let header = |kind, about| Map(vec![("description", Text(about)), ("schema", typed(kind))]);
    let headers = HEADERS.iter().map(|(name, kind, about)| (*name, header(kind, about))).collect();
    let schema = Map(vec![("schema", Map(vec![("$ref", Text(PROBLEM_REF))]))]);
    Map(vec![
        ("description", Text("This client has used up a limit; Retry-After says when to come back.")),
        ("headers", Map(headers)),
        ("content", Map(vec![("application/problem+json", schema)])),
    ])
}

/// What stands under `components/schemas/TollgateProblem`.
pub(super) fn problem() -> Piece {
    let field = |kind, about| Map(vec![("type", Word(kind)), ("description", Text(about))]);
    let mut fields: Vec<_> = FIELDS.iter().map(|(name, kind, about)| (*name, field(kind, about))).collect();
    let policies = vec![
        ("type", Word("array")),
        ("description", Text("The names of the limits that refused it, as in RateLimit-Policy.")),
        ("items", typed("string")),
    ];
    fields.push(("violated-policies", Map(policies)));
    Map(vec![
        ("type", Word("object")),
        ("description", Text("Why a request was refused (RFC 9457).")),
        ("properties", Map(fields)),
    ])
}

fn typed(kind: &'static str) -> Piece {
    Map(vec![("type", Word(kind))])
}
