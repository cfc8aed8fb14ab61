//! What is said of many limits is said once; and tags that nobody has.

use super::{advise, lines};
use crate::policy::Policy;

/// So many routes, each with a limit of its own.
fn many(count: usize, text: &str) -> String {
    let routes: String = (0..count)
        .map(|at| format!("  - {{ path: /r{at}, rate_limit: {{ name: n{at}, {text} }} }}\n"))
        .collect();
    format!("tollgate: 1\nroutes:\n{routes}")
}

#[test]
fn one_cause_is_one_finding_with_the_other_limits_beside_it() {
    let bucket = "algorithm: gcra, capacity: 5, refill_rate: 1";
    let owned = format!(
        "{}  - {{ path: /o, rate_limit: {{ name: o, {bucket}, consumer_key: ip, owner: me }} }}\n",
        many(3, &format!("{bucket}, consumer_key: ip"))
    );
    let table = [
        (
            many(3, bucket),
            "claimed-key",
            "3 warning claimed-key: 3 limits, `n0` and others, are counted by `api_key`, which a client can choose: a new value is a new budget",
        ),
        (
            owned,
            "no-owner",
            "3 note no-owner: 3 limits, `n0` and others, have no owner, and other limits have one",
        ),
        (
            many(2, "algorithm: concurrency, limit: 5, consumer_key: ip, mode: shadow"),
            "not-yet-enforced",
            "3 warning not-yet-enforced: 2 limits, `n0` and others, are counted by each process for itself: this version does not share `concurrency` in shadow mode between processes yet",
        ),
    ];
    for (document, code, expected) in table {
        assert_eq!(lines(&document, code), [expected], "{document}");
    }
}

#[test]
fn different_causes_are_different_findings() {
    let limit =
        |name: &str, text: &str| format!("  - {{ path: /{name}, rate_limit: {{ name: {name}, {text} }} }}\n");
    let bucket = |key: &str| format!("algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: '{key}'");
    let document = format!(
        "tollgate: 1\nroutes:\n{}{}{}{}{}{}",
        limit("a", &bucket("header:x")),
        limit("b", &bucket("header:y")),
        limit("c", &bucket("header:x")),
        limit("d", "algorithm: concurrency, limit: 5, consumer_key: ip, mode: shadow"),
        limit(
            "e",
            "algorithm: leaky_bucket_queue, capacity: 5, refill_rate: 1, consumer_key: ip, mode: shadow"
        ),
        limit("f", "algorithm: concurrency, limit: 5, consumer_key: ip, mode: shadow"),
    );
    let said = |code: &str| -> Vec<String> {
        lines(&document, code).iter().filter_map(|line| Some(line.split(": ").nth(1)?.to_owned())).collect()
    };
    assert_eq!(said("claimed-key").len(), 2);
    assert!(said("claimed-key")[0].starts_with("2 limits, `a` and others, are counted by `header:x`"));
    assert!(said("claimed-key")[1].starts_with("`b` is counted by `header:y`"));
    assert_eq!(said("not-yet-enforced").len(), 2);
}

#[test]
fn all_limits_stand_beside_the_first() {
    let text = many(40, "algorithm: gcra, capacity: 5, refill_rate: 1");
    let policy = Policy::parse("t.yaml", &text).expect("it has no errors");
    let finding = advise(&policy).findings.all()[0].clone();
    assert_eq!((finding.also.len(), finding.also[38].1.as_str()), (39, "`n39` too"));
    assert!(finding.message.starts_with("40 limits, `n0` and others, "), "{}", finding.message);
}

#[test]
fn each_list_without_names_is_one_finding() {
    let list = "rate_limit: [{ algorithm: gcra, capacity: 5, refill_rate: 1 }, { algorithm: gcra, capacity: 9, refill_rate: 1 }]";
    let document = format!(
        "tollgate: 1\n{list}\nroutes:\n  - {{ path: /a }}\n  - {{ path: /b }}\n  - {{ path: /c, {list} }}\n"
    );
    let said: Vec<String> =
        lines(&document, "unnamed-limit").iter().map(|line| line[..40].to_owned()).collect();
    assert_eq!(
        said,
        ["2 note unnamed-limit: 2 limits, `default", "6 note unnamed-limit: 2 limits, `* /c (g"]
    );
}

#[test]
fn tags_with_limits_that_no_operation_has() {
    let document = |limit: &str, tags: &str| {
        format!(
            "openapi: 3.1.0
info: {{ title: t, version: '1' }}
tags:
  - {{ name: dear{limit} }}
  - {{ name: cheap, x-rate-limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1 }} }}
paths: {{ /a: {{ get: {{ tags: {tags} }} }} }}
"
        )
    };
    let bucket = ", x-rate-limit: { algorithm: gcra, capacity: 5, refill_rate: 1 }";
    let dear = "4 warning unused-tag: no operation has the tag `dear`";
    let cheap = "5 warning unused-tag: no operation has the tag `cheap`";
    let table: [(&str, &str, &[&str]); 5] = [
        (bucket, "[dear, cheap]", &[]),
        (bucket, "[daer, cheap]", &[dear]),
        (", x-rate-limit: none", "[cheap]", &[dear]),
        ("", "[cheap]", &[]),
        (bucket, "[]", &[dear, cheap]),
    ];
    for (limit, tags, expected) in table {
        assert_eq!(lines(&document(limit, tags), "unused-tag"), expected, "{limit} {tags}");
    }
    let help = |tags: &str| {
        let policy = Policy::parse("t.yaml", &document(bucket, tags)).expect("it has no errors");
        let advice = advise(&policy);
        let found = advice.findings.all().iter().find(|finding| finding.code == "unused-tag");
        found.and_then(|finding| finding.help.clone()).unwrap_or_default()
    };
    assert!(help("[daer, cheap]").starts_with("did you mean `daer`, which an operation has?"));
    assert!(help("[other, cheap]").starts_with("give it to the operations"));
}

#[test]
fn a_tag_of_a_native_file_is_used_by_the_routes_that_have_it() {
    let document = |tags: &str| {
        format!(
            "tollgate: 1\ntags:\n  dear: {{ rate_limit: none }}\nroutes:\n  - {{ path: /a, tags: {tags} }}\n"
        )
    };
    assert_eq!(lines(&document("[dear]"), "unused-tag"), [""; 0]);
    assert_eq!(lines(&document("[]"), "unused-tag").len(), 1);
}
