//! Every message about a document, as people see it: one document each in `tests/messages`, with what is said of it.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate_policy::scenario::Scenarios;
use tollgate_policy::{Findings, Policy, Sources};
use tollgate_testing::snapshot;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages")
}

/// The documents: every `.yaml` and `.json` whose name has no second part (`x.part.yaml` belongs to `x.yaml`).
pub(crate) fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    let mut found: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "yaml" || end == "json"));
    found.retain(|path| path.file_stem().is_some_and(|stem| !stem.to_string_lossy().contains('.')));
    found.sort();
    found
}

/// What is said of a document, a line for each finding and for each place that belongs to it.
fn said(path: &Path) -> String {
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut read =
        |name: &str| fs::read_to_string(folder().join(name)).map_err(|_| "there is no such file".to_owned());
    if name.starts_with("scenarios") {
        return match Scenarios::load(&name, &mut read) {
            Err(refused) => listed(&refused.sources, &refused.findings),
            Ok(scenarios) => {
                let policy = Policy::load(&scenarios.policy, &mut read).expect("the policy is right");
                listed(&scenarios.sources, &scenarios.check(&policy))
            }
        };
    }
    let (sources, findings) = match Policy::load(&name, &mut read) {
        Ok(policy) => (policy.sources().clone(), policy.findings().clone()),
        Err(refused) => (refused.sources, refused.findings),
    };
    listed(&sources, &findings)
}

fn listed(sources: &Sources, findings: &Findings) -> String {
    let mut out = String::new();
    for finding in findings.all() {
        let at = sources.locate(finding.place);
        let text = sources.slice(finding.place).lines().next().unwrap_or("").trim_end().to_owned();
        out.push_str(&format!("{at}: {}[{}]: {}\n", finding.severity.name(), finding.code, finding.message));
        out.push_str(&format!("  at: {text}\n"));
        for (place, label) in &finding.also {
            out.push_str(&format!("  also: {}: {label}\n", sources.locate(*place)));
        }
        if let Some(help) = &finding.help {
            out.push_str(&format!("  help: {help}\n"));
        }
    }
    if findings.more() > 0 {
        out.push_str(&format!("and {} more\n", findings.more()));
    }
    out
}

#[test]
fn every_document_is_told_what_is_wrong_with_it() {
    let compared =
        documents().into_iter().map(|path| snapshot::check(&path.with_extension("txt"), &said(&path)));
    let wrong: Vec<_> = compared.filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A message that no document shows is a message that nobody has looked at.
#[test]
fn every_kind_of_error_is_shown_by_a_document() {
    let shown: String = documents().iter().map(|path| said(path)).collect();
    let mut missing = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the source is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                // Advice has tests of its own.
                folders.extend(Some(path).filter(|path| !path.ends_with("lint")));
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            for marker in ["Diagnostic::error(\"", "context.error(\"", "self.error(\""] {
                for part in text.split(marker).skip(1) {
                    let code = part.split('"').next().unwrap_or("");
                    if !shown.contains(&format!("error[{code}]")) {
                        missing.push(format!("{}: {code}", path.display()));
                    }
                }
            }
        }
    }
    // Only a document of 96 MB or 8 million values is too large: see `bombs.rs`.
    missing.retain(|line| !line.ends_with(": too-large"));
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "no document in tests/messages shows:\n{}", missing.join("\n"));
}

/// An `unwrap()` on a large document printed the whole document.
#[test]
fn the_debug_output_of_a_rejected_policy_fits_on_a_screen() {
    let wrong: String = (0..40).map(|i| format!("  /p{i}: {{ get: {{ x-rate-limit: {i} }} }}\n")).collect();
    let text = format!("openapi: 3.1.0\ninfo: {{ title: T, version: '1' }}\npaths:\n{wrong}");
    let refused = Policy::parse("openapi.yaml", &text).unwrap_err();
    let shown = format!("{refused:#?}");
    assert!(shown.lines().count() <= 14 && shown.len() < 3_000, "{shown}");
    assert!(shown.contains("openapi.yaml:4:31") && shown.contains("and 30 more"), "{shown}");
}
