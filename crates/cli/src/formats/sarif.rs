//! SARIF 2.1.0 for code scanning: a run, its rules, and a result per finding.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use tollgate_policy::Severity;

use crate::files::STANDARD_INPUT;
use crate::finding::{Finding, RunNote, Span};
use crate::lint_codes;

/// What a run has found.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) findings: &'a [Finding],
    /// What comments in the documents accept, with their reasons.
    pub(crate) suppressed: &'a [(Finding, String)],
    /// What is about the run, and about no place of a document.
    pub(crate) asides: Vec<RunNote>,
}

/// The whole log. A result is made when it is written: there may be many thousands.
#[derive(Debug)]
pub(crate) struct Log<'a>(pub(crate) &'a Run<'a>);

impl Serialize for Log<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut log = serializer.serialize_map(Some(3))?;
        log.serialize_entry("$schema", "https://json.schemastore.org/sarif-2.1.0.json")?;
        log.serialize_entry("runs", &[LogRun(self.0)])?;
        log.serialize_entry("version", "2.1.0")?;
        log.end()
    }
}

/// The only run of a log.
struct LogRun<'a>(&'a Run<'a>);

impl Serialize for LogRun<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Run { findings, suppressed, asides } = self.0;
        let mut first_of: BTreeMap<&str, &Finding> = BTreeMap::new();
        for finding in findings.iter().chain(suppressed.iter().map(|(finding, _)| finding)) {
            first_of.entry(finding.code).or_insert(finding);
        }
        let numbers: BTreeMap<&str, usize> = first_of.keys().copied().zip(0..).collect();
        let rules: Vec<_> = first_of.values().map(|first| rule(first)).collect();
        let notifications = asides
            .iter()
            .map(|aside| json!({ "level": level(aside.severity), "message": { "text": aside.message } }));
        let notifications: Vec<_> = notifications.collect();
        let mut run = serializer.serialize_map(Some(4))?;
        // Columns are counted in characters.
        run.serialize_entry("columnKind", "unicodeCodePoints")?;
        run.serialize_entry(
            "invocations",
            &json!([{
                "executionSuccessful": asides.iter().all(|aside| aside.severity != Severity::Error),
                "toolExecutionNotifications": notifications,
            }]),
        )?;
        run.serialize_entry("results", &Results { findings, suppressed, numbers: &numbers })?;
        let driver = json!({ "name": "tollgate", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
        run.serialize_entry("tool", &json!({ "driver": driver }))?;
        run.end()
    }
}

/// A result for each finding, and after them for each that a comment accepts.
struct Results<'a> {
    findings: &'a [Finding],
    suppressed: &'a [(Finding, String)],
    /// The number of each code's rule.
    numbers: &'a BTreeMap<&'a str, usize>,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = |finding: &Finding| result(finding, self.numbers.get(finding.code));
        let accepted = self.suppressed.iter().map(|(finding, reason)| {
            let mut result = of(finding);
            result["suppressions"] = json!([{ "kind": "inSource", "justification": reason }]);
            result
        });
        serializer.collect_seq(self.findings.iter().map(of).chain(accepted))
    }
}

/// What a rule means, and what to do about the first finding of it.
fn rule(first: &Finding) -> Value {
    let meaning = lint_codes::meaning(first.code).map_or_else(|| first.message.clone(), Into::into);
    let help = first.help.clone().unwrap_or_else(|| meaning.clone());
    json!({
        "id": first.code,
        "shortDescription": { "text": meaning },
        "fullDescription": { "text": meaning },
        "help": { "text": help, "markdown": lint_codes::details(first.code) },
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(finding: &Finding, rule: Option<&usize>) -> Value {
    let mut result = json!({
        "ruleId": finding.code,
        "level": level(finding.severity),
        "message": { "text": finding.sentence() },
        "locations": [{ "physicalLocation": physical(&finding.span) }],
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
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
    if name == STANDARD_INPUT {
        return "stdin".into();
    }
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
    assert_eq!(uri("<stdin>"), "stdin");
}
