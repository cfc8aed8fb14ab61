//! Loads documents and lints them as `tollgate lint` does, each by itself: what is found, in what time, in how much memory.
//! `cargo xtask corpus` runs it, once for each document of the corpus, and reads the line that it prints: operations, milliseconds,
//! peak memory in KB, findings by code, and of each kind of error the first, all with tabs between them.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example prints, and measures")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use tollgate_policy::lint::advise;
use tollgate_policy::{Findings, Policy, Severity, Sources};

fn main() {
    if std::env::args().len() < 2 {
        println!("name the documents to load; `cargo xtask corpus` does");
    }
    for file in std::env::args().skip(1) {
        let started = Instant::now();
        let mut read = |name: &str| match std::fs::metadata(name).map(|about| about.len()) {
            Ok(bytes) if bytes > tollgate_policy::DOCUMENT_BYTES_MAX as u64 => {
                Err(format!("it has {bytes} bytes, more than are read"))
            }
            _ => std::fs::read_to_string(name).map_err(|error| error.to_string()),
        };
        let (operations, codes, errors) = match Policy::load(&file, &mut read) {
            Ok(policy) => {
                let advice = advise(&policy);
                (policy.operations().len(), codes(&[policy.findings(), &advice.findings]), Vec::new())
            }
            Err(refused) => (0, codes(&[&refused.findings]), errors(&refused.findings, &refused.sources)),
        };
        let codes: Vec<_> = codes.iter().map(|(code, count)| format!("{code}={count}")).collect();
        let fields = [
            operations.to_string(),
            started.elapsed().as_millis().to_string(),
            peak_kilobytes().to_string(),
            codes.join(" "),
        ];
        println!("{}", fields.into_iter().chain(errors).collect::<Vec<_>>().join("\t"));
    }
}

/// How many findings there are of each code.
fn codes(all: &[&Findings]) -> BTreeMap<&'static str, usize> {
    let mut codes = BTreeMap::new();
    for finding in all.iter().flat_map(|findings| findings.all()) {
        *codes.entry(finding.code).or_default() += 1;
    }
    codes
}

/// Of each kind of error the first one: its code, a blank and its line.
fn errors(findings: &Findings, sources: &Sources) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let errors = findings.all().iter().filter(|finding| finding.severity == Severity::Error);
    let firsts = errors.filter(|finding| seen.insert(finding.code));
    firsts
        .map(|finding| format!("{} {}", finding.code, finding.line(sources).replace(['\t', '\n'], " ")))
        .collect()
}

/// The most memory that the process has had, as Linux counts it; 0 elsewhere.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
