//! The guide and the README: every YAML block in them is read as what it is.

use std::path::Path;

use tollgate_policy::scenario::Scenarios;
use tollgate_policy::{Policy, Severity};

use crate::support::{asked, openapi};

/// The fenced blocks of a document of the repository, of one language.
fn blocks(file: &str, language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = std::fs::read_to_string(path).expect("the document is there");
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1).map(|after| after.split("```").next().unwrap_or("").to_owned());
    blocks.collect()
}

#[test]
fn every_block_of_the_guide_is_read() {
    let blocks = blocks("docs/POLICY.md", "yaml");
    let (mut documents, mut natives, mut scenarios, mut limits) = (0, 0, 0, 0);
    for block in &blocks {
        if block.starts_with("policy:") {
            let read = Scenarios::load("s.yaml", &mut |_| Ok(block.clone()));
            read.unwrap_or_else(|refused| panic!("{refused}\n{block}"));
            scenarios += 1;
            continue;
        }
        if block.starts_with("overlay:") {
            let document =
                openapi("paths: { /reports/generate: { post: {} }, /old: { get: { deprecated: true } } }");
            let loaded = Policy::load("overlay.yaml", &mut |name| {
                Ok(if name == "overlay.yaml" { block.clone() } else { document.clone() })
            });
            assert_eq!(loaded.unwrap_or_else(|refused| panic!("{refused}\n{block}")).limits().len(), 3);
            continue;
        }
        let text = if block.starts_with("openapi:") {
            documents += 1;
            block.clone()
        } else if block.starts_with("tollgate:") {
            natives += 1;
            block.clone()
        } else {
            limits += 1;
            let indented = block.lines().map(|line| format!("        {line}\n")).collect::<String>();
            openapi(&format!("paths:\n  /a:\n    get:\n      x-rate-limit:\n{indented}"))
        };
        Policy::parse("guide.yaml", &text).unwrap_or_else(|refused| panic!("{refused}\n{text}"));
    }
    assert_eq!((documents, natives, scenarios, limits), (3, 7, 1, 3));
}

/// What the first page shows stands in the example as it is shown, and the example passes its own checks.
#[test]
fn every_block_of_the_first_page_is_a_part_of_the_example() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies/company");
    let names = [
        "platform.yaml",
        "orders.openapi.yaml",
        "reports.openapi.yaml",
        "accounts.openapi.yaml",
        "scenarios.yaml",
        ".github/workflows/policy.yaml",
    ];
    let files = names.map(|name| std::fs::read_to_string(folder.join(name)).expect("a file of the example"));
    let blocks = blocks("docs/GETTING-STARTED.md", "yaml");
    assert!(blocks.len() >= 10, "only {} blocks", blocks.len());
    for block in blocks {
        assert!(files.iter().any(|file| file.contains(&block)), "no file of the example has:\n{block}");
    }
}

#[test]
fn the_company_of_the_example_has_nothing_that_lint_warns_about() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies/company");
    let mut read = |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    let policy = Policy::load("platform.yaml", &mut read).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(policy.findings().lines(policy.sources()), Vec::<String>::new());
    let advice = tollgate_policy::lint::advise(&policy);
    let warnings = advice.findings.all().iter().filter(|finding| finding.severity == Severity::Warning);
    let warnings: Vec<_> = warnings.map(|finding| finding.line(policy.sources())).collect();
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn the_readmes_document_does_what_it_says() {
    let [document] = blocks("README.md", "yaml").try_into().expect("the README shows one document");
    let policy = Policy::parse("openapi.yaml", &document).unwrap_or_else(|refused| panic!("{refused}"));
    let lines = asked("POST /reports/generate X-API-Key: k").lines(&policy);
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("POST /reports/generate: api-key #"), "{}", lines[0]);
    assert!(lines[0].ends_with("x1 (5 at once, then 1 per 10 s)"), "{}", lines[0]);
    let platform = policy.limits()[0].for_tier(Some("platform")).to_string();
    assert_eq!(platform, "20 at once, then 1 per 2 s");
}
