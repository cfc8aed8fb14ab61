//! Documents that tell the truth: every path they name exists, every crate is described, every record is listed.

use super::{assert_none, files, read};
use crate::run::root;

/// How words with slashes begin that are paths of requests, references, media types and time zones.
const NOT_FILES: [&str; 5] = ["/", "#/", "application/", "Africa/", "Europe/"];

/// Words in backquotes that look like paths of this repository.
fn paths(markdown: &str) -> impl Iterator<Item = &str> {
    let quoted = markdown.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        let plain = !word.contains([' ', '\n', '{', '*', '<', '$', '(', ':'])
            && !NOT_FILES.iter().any(|start| word.starts_with(start));
        plain
            && (word.contains('/')
                || [".md", ".toml", ".rs", ".txt", ".lock"].iter().any(|end| word.ends_with(end)))
    };
    quoted.filter(is_path)
}

#[test]
fn every_path_that_a_document_names_exists() {
    let mut findings = Vec::new();
    let documents =
        files().into_iter().filter(|file| file.path.ends_with(".md") && !file.path.starts_with("crates/"));
    for file in documents {
        let missing = paths(&file.text).filter(|path| !root().join(path).exists());
        findings.extend(missing.map(|path| format!("{} names {path}", file.path)));
    }
    assert_none(&findings, "a document names a path that does not exist:");
    assert!(paths(&read("ARCHITECTURE.md")).count() > 20, "ARCHITECTURE.md names hardly any path");
}

#[test]
fn every_crate_is_in_the_architecture() {
    let architecture = read("ARCHITECTURE.md");
    let manifests = files().into_iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    let folders: Vec<_> =
        manifests.map(|file| file.path.trim_end_matches("/Cargo.toml").to_string()).collect();
    let missing: Vec<_> =
        folders.into_iter().filter(|folder| !architecture.contains(&format!("`{folder}`"))).collect();
    assert_none(&missing, "ARCHITECTURE.md says nothing of:");
}

#[test]
fn every_markdown_link_leads_somewhere() {
    let mut findings = Vec::new();
    for file in files().iter().filter(|file| file.path.ends_with(".md") && !file.path.starts_with("crates/"))
    {
        let folder = root().join(&file.path).parent().map(std::path::Path::to_path_buf).unwrap_or_default();
        for link in file.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !folder.join(target).exists() {
                findings.push(format!("{} links to {link}", file.path));
            }
        }
    }
    assert_none(&findings, "a link leads nowhere:");
}

#[test]
fn every_record_is_listed() {
    let list = read("docs/adr/README.md");
    let records = files().into_iter().filter(|file| file.path.starts_with("docs/adr/0"));
    let names = records.filter_map(|file| file.path.rsplit('/').next().map(str::to_string));
    let missing: Vec<_> = names.filter(|name| !list.contains(&format!("({name})"))).collect();
    assert_none(&missing, "docs/adr/README.md does not list:");
}

/// The cases of the release gate that PROOF.md claims are tests of that name, and the other way round.
#[test]
fn every_gate_case_on_record_is_a_test() {
    let (proof, gate) = (read("docs/PROOF.md"), read("crates/algorithms/tests/it/gate.rs"));
    let names = |text: &str, before: &str, after: char| -> Vec<String> {
        let found = text.split(before).skip(1).filter_map(|rest| rest.split(after).next());
        let mut names: Vec<_> = found.map(|name| format!("gate_{name}")).collect();
        names.sort();
        names
    };
    let tested = names(&gate, "fn gate_", '(');
    assert!(tested.len() > 10);
    assert_eq!(tested, names(&proof, "`gate_", '`'));
}
