//! Findings as JSON: an object with counts and a list. A stable interface: fields are only added.

use serde_json::{Map, Value, json};

use crate::finding::{Finding, Span};

/// What is wrong with a document, where a command needs one without errors.
pub(crate) fn unusable(findings: &[Finding], more: usize) -> Value {
    let findings: Vec<_> = findings.iter().map(finding).collect();
    json!({ "findings": findings, "more": more })
}

/// A finding.
pub(crate) fn finding(finding: &Finding) -> Value {
    let mut object = span(&finding.span);
    let also = finding.also.iter().map(|(place, label)| {
        let mut object = span(place);
        object.insert("label".into(), json!(label));
        Value::Object(object)
    });
    let also: Vec<_> = also.collect();
    object.insert("severity".into(), json!(finding.severity.name()));
    object.insert("code".into(), json!(finding.code));
    object.insert("message".into(), json!(finding.message));
    object.insert("also".into(), json!(also));
    if !finding.label.is_empty() {
        object.insert("label".into(), json!(finding.label));
    }
    if let Some(help) = &finding.help {
        object.insert("help".into(), json!(help));
    }
    Value::Object(object)
}

/// `file`, `line` and, if they are known, `column`, `end_line` and `end_column`.
pub(crate) fn span(span: &Span) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("file".into(), json!(span.file));
    object.insert("line".into(), json!(span.line));
    if let Some(column) = span.column {
        object.insert("column".into(), json!(column));
    }
    if let Some(end) = span.end {
        object.insert("end_line".into(), json!(end.line));
        object.insert("end_column".into(), json!(end.column));
    }
    object
}
