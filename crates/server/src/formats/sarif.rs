//! SARIF 2.1.0, as code scanning takes it: a run, its rules, a result for each finding. Only what we know is in it.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value, json};
use tollgate_policy::Severity;

use crate::report::{Finding, Span};

/// The whole log.
pub(crate) fn log(findings: &[Finding]) -> Value {
    let codes: BTreeSet<_> = findings.iter().map(|finding| finding.code).collect();
    let rules: Vec<_> = codes.iter().map(|code| json!({ "id": code })).collect();
    let results: Vec<_> = findings.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "tollgate", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            // Columns are counted in characters.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(finding: &Finding) -> Value {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let mut result = json!({
        "ruleId": finding.code,
        "level": level,
        "message": { "text": finding.sentence() },
        "locations": [{ "physicalLocation": physical(&finding.span) }],
    });
    if !finding.also.is_empty() {
        let related = finding
            .also
            .iter()
            .map(|(span, label)| json!({ "physicalLocation": physical(span), "message": { "text": label } }));
        result["relatedLocations"] = related.collect();
    }
    result
}

fn physical(span: &Span) -> Value {
    let mut region = Map::new();
    region.insert("startLine".into(), json!(span.line));
    if let Some(column) = span.column {
        region.insert("startColumn".into(), json!(column));
    }
    if let Some(end) = span.end {
        region.insert("endLine".into(), json!(end.line));
        region.insert("endColumn".into(), json!(end.column));
    }
    json!({ "artifactLocation": { "uri": uri(&span.file) }, "region": region })
}

/// A file's name as a URI: relative as it was given, or of the scheme `file` if it begins at the root.
fn uri(name: &str) -> String {
    let name = name.strip_prefix("./").unwrap_or(name);
    let mut uri = String::from(if name.starts_with('/') { "file://" } else { "" });
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[test]
fn names_are_uris() {
    assert_eq!(uri("api/openapi.yaml"), "api/openapi.yaml");
    assert_eq!(uri("./a b#c:ä.yaml"), "a%20b%23c%3A%C3%A4.yaml");
    assert_eq!(uri("/srv/a.yaml"), "file:///srv/a.yaml");
    assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
}
