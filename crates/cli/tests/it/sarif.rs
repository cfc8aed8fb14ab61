//! SARIF as those who take it read it: the fields without which a log is refused or shows nothing.

use serde_json::Value;

use crate::support::run;

#[test]
fn every_result_has_a_rule_a_message_and_a_region() {
    let documents = ["tests/documents/bad.yaml", "tests/documents/worse-consumers.yaml"];
    for document in documents {
        let ran = run(&["lint", "--format", "sarif", document]);
        let log: Value = serde_json::from_str(&ran.out).expect("it is JSON");
        assert_eq!(log["version"], "2.1.0");
        let driver = &log["runs"][0]["tool"]["driver"];
        assert_eq!(driver["name"], "tollgate");
        let rules = driver["rules"].as_array().expect("rules");
        let mut ids: Vec<_> = rules.iter().map(|rule| rule["id"].as_str().expect("an id")).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rules.len(), "ids of rules are unique");
        let results = log["runs"][0]["results"].as_array().expect("results");
        assert!(results.len() >= 2);
        for result in results {
            let rule =
                &rules[usize::try_from(result["ruleIndex"].as_u64().expect("a number")).expect("small")];
            assert_eq!(rule["id"], result["ruleId"]);
            for about in ["shortDescription", "fullDescription", "help"] {
                assert!(!rule[about]["text"].as_str().expect("a text").is_empty(), "{rule}");
            }
            assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("a level")));
            assert!(!result["message"]["text"].as_str().expect("a text").is_empty());
            region(&result["locations"][0]["physicalLocation"]);
            for related in result["relatedLocations"].as_array().into_iter().flatten() {
                region(&related["physicalLocation"]);
            }
        }
    }
}

fn region(location: &Value) {
    let uri = location["artifactLocation"]["uri"].as_str().expect("a URI");
    assert!(uri.starts_with("tests/documents/"), "{uri} is relative");
    let number = |name: &str| location["region"][name].as_u64();
    let line = number("startLine").expect("a line");
    assert!(line >= 1 && number("startColumn").is_none_or(|column| column >= 1));
    assert!(number("endLine").is_none_or(|end| end >= line));
}

#[test]
fn a_document_without_findings_is_a_log_without_results() {
    let ran = run(&["lint", "--format", "sarif", "tests/documents/clean.yaml"]);
    let log: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"], serde_json::json!([]));
}
