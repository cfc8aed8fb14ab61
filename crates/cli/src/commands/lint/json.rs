//! Prints findings as JSON. The member names are an interface, described by `schemas/lint-output.schema.json`.

use serde_json::{Map, Value, json};

use super::report::Report;
use crate::finding::SeverityCounts;
use crate::formats;

/// All of it.
pub(super) fn report(report: &Report) -> Value {
    let findings: Vec<_> = report.findings().iter().map(formats::json::finding).collect();
    let SeverityCounts { errors, warnings, notes, more } = report.counts;
    let unread = report.unread.iter().map(|(file, why)| json!({ "file": file, "why": why }));
    let suppressed = report.suppressed.iter().map(|(finding, reason)| {
        let mut object = formats::json::finding(finding);
        object["reason"] = json!(reason);
        object
    });
    let mut all = Map::new();
    all.insert("errors".into(), json!(errors));
    all.insert("warnings".into(), json!(warnings));
    all.insert("notes".into(), json!(notes));
    all.insert("more".into(), json!(more));
    all.insert("unread".into(), unread.collect());
    all.insert("suppressed".into(), suppressed.collect());
    report.coverage.json(&mut all);
    report.owners.json(&mut all);
    all.insert("findings".into(), json!(findings));
    Value::Object(all)
}
