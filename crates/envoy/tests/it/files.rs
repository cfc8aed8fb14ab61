//! Files that are accepted, with notes, and files that are rejected, with places.

use tollgate_envoy::{Limits, RULES_MAX};

fn rejected(file: &str) -> String {
    let rejected = Limits::load(&[("edge.yaml", file)]).expect_err(file);
    rejected.to_string()
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_column() {
    for (file, expected) in [
        (
            "domain: d\ndescriptors:\n  - key: a\n    rate_limits: {}\n",
            "edge.yaml:4:5: error: a descriptor has no field `rate_limits`; did you mean `rate_limit`?",
        ),
        ("descriptors: []\n", "edge.yaml:1:1: error: the file has no `domain`"),
        ("domain: ''\n", "edge.yaml:1:9: error: `domain` is empty"),
        ("domain: d\ndescriptors:\n  - value: a\n", "edge.yaml:3:5: error: this descriptor has no `key`"),
        (
            "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: fortnight, requests_per_unit: 1 } }]\n",
            "edge.yaml:2:45: error: `unit: fortnight` is no unit: write one of second, minute",
        ),
        (
            "domain: d\ndescriptors: [{ key: a, rate_limit: { requests_per_unit: 1 } }]\n",
            "this `rate_limit` has no `unit`",
        ),
        (
            "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: day, unlimited: true } }]\n",
            "an unlimited `rate_limit` has no `unit`",
        ),
        (
            "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: -1 } }]\n",
            "edge.yaml:2:69: error: ",
        ),
        (
            "domain: d\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 4294967296 } }]\n",
            "is no whole number from 0 to 4294967295",
        ),
        ("domain: d\ndescriptors: [{ key: a, shadow_mode: yes }]\n", "is neither `true` nor `false`"),
        (
            "domain: d\ndescriptors: [{ key: a }, { key: a }]\n",
            "edge.yaml:2:27: error: the descriptor `d.a` is there twice",
        ),
        (
            "domain: d\ndescriptors: [{ key: a, value: 'x*' }, { key: a, value: 'x*' }]\n",
            "the descriptor `d.a_x*` is there twice",
        ),
        (
            "domain: d\ndescriptors: [{ key: a, rate_limit: { name: n, replaces: [{ name: n }], unit: day } }]\n",
            "a limit cannot replace itself",
        ),
        ("domain: d\ndescriptors: { key: a }\n", "`descriptors` has to be a list"),
        ("just text\n", "a limits file has `domain` and `descriptors`"),
        ("domain: d\n descriptors: [\n", "edge.yaml:2:"),
    ] {
        let said = rejected(file);
        assert!(said.contains(expected), "{file}\n{said}\nnot {expected}");
    }
}

#[test]
fn what_has_no_effect_is_accepted_with_a_note() {
    let file = "
domain: d
descriptors:
  - { key: a, detailed_metric: true, share_threshold: true, rate_limit: { unit: DAY, requests_per_unit: 1 } }
  - { key: b, value_to_metric: true }
  - { key: c, rate_limit: { unit: day } }
";
    let (limits, notes) = Limits::load(&[("edge.yaml", file)]).expect("it is valid");
    assert_eq!(limits.rules().count(), 2);
    let notes = notes.join("\n");
    for part in [
        "edge.yaml:4:32: note: `detailed_metric` has no effect",
        "`share_threshold` has no effect here, because `value` has no wildcard",
        "edge.yaml:5:32: note: `value_to_metric` has no effect",
        "warning: `requests_per_unit` is missing, which means 0",
    ] {
        assert!(notes.contains(part), "{notes}");
    }
}

#[test]
fn each_file_has_domains_of_its_own() {
    let one = "{ domain: one, descriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1 } }] }";
    let two = one.replace("one", "two");
    let (limits, _) = Limits::load(&[("1.yaml", one), ("2.yaml", &two)]).expect("they are valid");
    let mut domains: Vec<_> = limits.domains().collect();
    domains.sort_unstable();
    assert_eq!(domains, ["one", "two"]);
    let twice = Limits::load(&[("1.yaml", one), ("3.yaml", one)]).expect_err("it is there twice").to_string();
    assert!(twice.contains("3.yaml:1:11: error: the domain `one` is defined in 1.yaml already"), "{twice}");
}

#[test]
fn a_file_cannot_make_limits_without_end() {
    let mut file = String::from("domain: d\ndescriptors:\n");
    for key in 0..=RULES_MAX {
        file.push_str(&format!("  - {{ key: k{key}, rate_limit: {{ unit: day, requests_per_unit: 1 }} }}\n"));
    }
    assert!(rejected(&file).contains("there are more than 10000 limits"));
    // Aliases of aliases.
    let mut bomb = String::from("domain: d\ndescriptors:\n  - { key: k, descriptors: &a0 [{ key: x }] }\n");
    for level in 1..60 {
        let below = level - 1;
        bomb.push_str(&format!("  - {{ key: k{level}, descriptors: &a{level} [{{ key: x, descriptors: *a{below} }}, {{ key: y, descriptors: *a{below} }}] }}\n"));
    }
    let said = rejected(&bomb);
    assert!(said.contains("more than 100000 descriptors"), "{said}");
}
