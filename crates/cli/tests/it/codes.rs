//! `lint --explain`: each code has a page, and the documents on it have the code, and have it no more.

use serde_json::Value;
use tollgate_cli::Exit;

use crate::support::{Folder, check, run};

/// Codes whose page has no document, because they take several files or a running gateway.
const WITHOUT_DOCUMENTS: &[&str] = &[
    "consumers",
    "idle-action",
    "jwks",
    "not-scenarios",
    "overlay-alias",
    "overlay-alone",
    "overlay-target",
    "request",
    "required",
    "scenario",
    "settings",
    "several-defaults",
    "step-order",
    "too-deep",
    "too-large",
    "two-policies",
    "two-settings",
    "unknown-code",
    "unknown-limit",
];

/// Every code, as the program lists them.
fn codes() -> Vec<String> {
    let listed = run(&["lint", "--explain", "none-such"]).err;
    let list = listed.lines().find_map(|line| line.strip_prefix("The codes are ")).expect("it lists them");
    list.split(", ").map(str::to_owned).collect()
}

/// The codes that `lint` finds in a document.
fn found(folder: &Folder, text: &str) -> Vec<String> {
    let ran = run(&["lint", "--format", "json", &folder.put("page.yaml", text.as_bytes())]);
    let output: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    let findings = output["findings"].as_array().expect("a list").iter();
    findings.map(|finding| finding["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn the_documents_of_every_page_have_the_code_and_then_have_it_no_more() {
    let (folder, codes) = (Folder::new("pages-of-codes"), codes());
    assert!(codes.len() > 80, "{codes:?}");
    let mut wrong = Vec::new();
    for code in &codes {
        let page = run(&["lint", "--explain", code]);
        assert_eq!(page.exit, Exit::Fine, "{code}");
        let blocks: Vec<_> =
            page.out.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        match blocks.as_slice() {
            [] if WITHOUT_DOCUMENTS.contains(&code.as_str()) && page.out.len() > code.len() + 60 => {}
            [before, after] if !WITHOUT_DOCUMENTS.contains(&code.as_str()) => {
                let (had, has) = (found(&folder, before), found(&folder, after));
                if !had.contains(code) || has.contains(code) {
                    wrong.push(format!("{code}: before {had:?}, after {has:?}"));
                }
            }
            other => wrong.push(format!("{code}: {} documents", other.len())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_page_is_printed_and_a_code_that_is_none_is_told() {
    check("lint-explain", &["lint", "--explain", "no-limit"]);
    let ran = run(&["lint", "--explain", "no-limt"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Exit::Usage, ""));
    assert!(
        ran.err.starts_with("tollgate: there is no code `no-limt`: did you mean `no-limit`?\n"),
        "{}",
        ran.err
    );
}
