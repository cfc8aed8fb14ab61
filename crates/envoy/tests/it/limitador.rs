//! Limits with conditions and variables, from a file of Limitador.

use tollgate_envoy::Limits;

use crate::support::{Rig, descriptor, hits};

const FILE: &str = r#"
- namespace: edge
  max_value: 2
  seconds: 60
  name: writes
  conditions: ["descriptors[0].method == 'POST'"]
  variables: ["descriptors[0].user"]
- namespace: edge
  max_value: 5
  seconds: 90
  conditions: []
  variables: []
- namespace: other
  max_value: 1
  seconds: 3600
"#;

#[tokio::test]
async fn all_limits_apply_whose_conditions_are_true() {
    let rig = Rig::new(FILE);
    let ask = |entries: &'static [&'static str]| rig.said(vec![descriptor(entries)]);
    assert_eq!(ask(&["method=POST", "user=ada"]).await, "Ok: ok 1/2 reset 50");
    assert_eq!(ask(&["method=POST", "user=ada"]).await, "Ok: ok 0/2 reset 50");
    assert_eq!(ask(&["method=POST", "user=ada"]).await, "OverLimit: over 0/2 reset 50");
    // Another user has a counter of its own. Of two limits, the status shows the one with less left.
    assert_eq!(ask(&["method=POST", "user=bob"]).await, "Ok: ok 1/2 reset 50");
    // Without a variable or with another method, only the limit without conditions applies.
    assert!(ask(&["method=POST"]).await.starts_with("Ok: ok 1/5"));
    assert!(ask(&["method=GET", "user=ada"]).await.starts_with("Ok: ok 0/5"));
    assert!(ask(&["method=GET"]).await.starts_with("OverLimit: over 0/5"));
}

#[tokio::test]
async fn hits_may_be_a_check() {
    let rig = Rig::new(FILE);
    assert_eq!(rig.said(vec![hits(&["method=POST", "user=ada"], 0)]).await, "Ok: ok 2/2 reset 50");
    assert_eq!(rig.said(vec![hits(&["method=POST", "user=ada"], 2)]).await, "Ok: ok 0/2 reset 50");
    assert_eq!(rig.said(vec![hits(&["method=POST", "user=ada"], 0)]).await, "OverLimit: over 0/2 reset 50");
}

#[test]
fn limits_are_the_same_if_all_but_their_value_is() {
    let limit = |value, conditions: &str| {
        format!("- {{ namespace: a, seconds: 1, max_value: {value}, conditions: [{conditions}] }}\n")
    };
    let (one, two) = ("\"descriptors[0].a == 'b'\"", "\"descriptors[0].c == 'd'\"");
    let (first, swapped) = (limit(1, &format!("{one}, {two}")), limit(2, &format!("{two}, {one}")));
    let said =
        Limits::load(&[("l.yaml", &format!("{first}{swapped}"))]).expect_err("they are the same").to_string();
    assert!(said.contains("l.yaml:2:3: error: this limit is there twice"), "{said}");
    let different = format!("{first}{}", limit(2, one));
    assert!(Limits::load(&[("l.yaml", &different)]).is_ok());
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (file, expected) in [
        ("- { namespace: a, seconds: 1 }", "l.yaml:1:3: error: this limit has no `max_value`"),
        ("- { namespace: a, seconds: 0, max_value: 1 }", "l.yaml:1:28: error: "),
        ("- { namespace: a, seconds: 1, max_value: 1, policy: x }", "a limit has no field `policy`"),
        (
            "- { namespace: a, seconds: 1, max_value: 1, conditions: [\"a == 'b'\"] }",
            "l.yaml:1:58: error: `a` is not known: values are `descriptors[0].a`",
        ),
        (
            "- { namespace: a, seconds: 1, max_value: 1, variables: [\"size(descriptors)\"] }",
            "`size` is not known",
        ),
        ("- { namespace: a, seconds: 1, max_value: 1, conditions: x }", "`conditions` has to be a list"),
    ] {
        let said = Limits::load(&[("l.yaml", file)]).expect_err(file).to_string();
        assert!(said.contains(expected), "{file}\n{said}");
    }
}
