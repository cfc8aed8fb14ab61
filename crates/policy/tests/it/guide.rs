//! The guide and the README: every YAML block in them is read as what it is.

use std::path::Path;

use tollgate_policy::Policy;
use tollgate_policy::scenario::Scenarios;

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
    assert_eq!((documents, natives, scenarios, limits), (2, 5, 1, 3));
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
