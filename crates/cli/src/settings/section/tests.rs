//! Every message about the section `serve`, as people see it: a policy's file, and what is said of it.

use std::fs;
use std::path::Path;

use tollgate_policy::Policy;
use tollgate_testing::snapshot;

use super::check;

#[test]
fn a_policy_is_told_what_is_wrong_with_its_section() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages/serve.yaml");
    let mut read = |_: &str| fs::read_to_string(&path).map_err(|error| error.to_string());
    let refused = Policy::load_with_section("serve.yaml", &mut read, &mut check).unwrap_err();
    let mut said = String::new();
    for finding in refused.findings.all() {
        let at = refused.sources.locate(finding.place);
        let text = refused.sources.slice(finding.place).lines().next().unwrap_or("").trim_end();
        said.push_str(&format!("{at}: {}[{}]: {}\n", finding.severity.name(), finding.code, finding.message));
        said.push_str(&format!("  at: {text}\n"));
        if let Some(help) = &finding.help {
            said.push_str(&format!("  help: {help}\n"));
        }
    }
    snapshot::check(&path.with_extension("txt"), &said).unwrap_or_else(|why| panic!("{why}"));
}

/// Without the command, the policy reads only the namespace of its limits.
#[test]
fn a_policy_alone_reads_the_namespace_and_no_other_setting() {
    let load = |namespace: &str| {
        let text = format!("tollgate: 1\nserve: {{ store: {{ namespace: {namespace} }}, colour: red }}\n");
        Policy::parse("tollgate.yaml", &text)
    };
    assert_eq!(load("orders").unwrap().namespace(), "orders");
    assert_eq!(load("title").unwrap().namespace(), "");
    let refused = load("'a b'").unwrap_err().to_string();
    assert!(
        refused.starts_with("tollgate.yaml:2:30: error: `store.namespace: a b` is not one word"),
        "{refused}"
    );
}
