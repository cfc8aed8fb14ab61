//! Required limits: what a document may do with them, and what not.

use crate::support::files;

const PLATFORM: &str = "
tollgate: 1
openapi: team.yaml
limits:
  monthly: { algorithm: fixed_window, limit: 1000, window: calendar month, required: true }
  other: { algorithm: gcra, capacity: 9, refill_rate: 9 }
rate_limit:
  - { use: monthly, cost: 2 }
  - { name: burst, algorithm: gcra, capacity: 10, refill_rate: 5, required: true, tier_overrides: { big: { capacity: 50 } } }
tags:
  expensive: { rate_limit: [{ use: inherited }, { use: monthly, cost: 25 }] }
  slow: { rate_limit: [{ use: inherited }, { name: slow, algorithm: gcra, capacity: 2, refill_rate: 1, required: true }] }
routes:
  # The platform's own routes are its own affair.
  - { path: /healthz, rate_limit: none }
";

/// What is wrong with a document of one operation, each as `line: code: message | the other places`.
fn said(document: &str) -> Vec<String> {
    let document = format!("openapi: 3.1.0\ninfo: {{ title: Team, version: '1' }}\n{document}");
    let refused = match files(&[("platform.yaml", PLATFORM), ("team.yaml", &document)]) {
        Ok(policy) => {
            return policy
                .findings()
                .lines(policy.sources())
                .into_iter()
                .filter(|line| !line.contains("`other`"))
                .collect();
        }
        Err(refused) => refused,
    };
    let findings = refused.findings.all().iter().filter(|finding| finding.code != "unused-limit");
    let each = findings.map(|finding| {
        let also: Vec<_> = finding.also.iter().map(|(place, _)| refused.sources.locate(*place)).collect();
        let at = refused.sources.locate(finding.place);
        format!("{at} {}: {} | {}", finding.code, finding.message, also.join(", "))
    });
    each.collect()
}

/// The same for one operation with these limits.
fn of(limits: &str) -> Vec<String> {
    said(&format!("paths: {{ /a: {{ get: {{ x-rate-limit: {limits} }} }} }}"))
}

const MONTHLY: &str = "{ use: monthly, cost: 2 }";

#[test]
fn a_document_may_keep_tighten_and_add() {
    let tighter = "{ name: own, algorithm: gcra, capacity: 5, refill_rate: 1 }";
    let good = [
        "{ use: inherited }".to_owned(),
        format!("[{{ use: inherited }}, {tighter}]"),
        "[{ use: inherited }, { use: monthly, cost: 25 }]".to_owned(),
        // Limits that are at least as strict, in place of the required ones.
        format!("[{MONTHLY}, {tighter}]"),
        format!("[{{ name: less, algorithm: fixed_window, limit: 500, window: calendar month }}, {tighter}]"),
        // In requests: 100 at a cost of 20 are five.
        format!("[{MONTHLY}, {{ name: own, algorithm: gcra, capacity: 100, refill_rate: 20, cost: 20 }}]"),
    ];
    for limits in good {
        assert_eq!(of(&limits), Vec::<String>::new(), "{limits}");
    }
    assert_eq!(said("paths: { /a: { get: {} }, /b: { get: { tags: [slow] } } }"), Vec::<String>::new());
}

#[test]
fn a_document_must_not_switch_off_or_loosen() {
    let places = |limits: &str| {
        [
            format!("x-rate-limit: {limits}\npaths: {{ /a: {{ get: {{}} }}, /b: {{ get: {{}} }} }}"),
            format!(
                "tags: [{{ name: t, x-rate-limit: {limits} }}]\npaths: {{ /a: {{ get: {{ tags: [t] }} }} }}"
            ),
            format!("paths: {{ /a: {{ get: {{}}, x-rate-limit: {limits} }} }}"),
            format!("paths: {{ /a: {{ get: {{ x-rate-limit: {limits} }} }} }}"),
        ]
    };
    for document in places("none") {
        let said = said(&document);
        assert_eq!(said.len(), 2, "{document}: {said:?}");
        assert!(
            said[0].contains(
                "required: the required limit `monthly` cannot be switched off | platform.yaml:5:12"
            ),
            "{said:?}"
        );
        assert!(
            said[1]
                .contains("required: the required limit `burst` cannot be switched off | platform.yaml:9:5"),
            "{said:?}"
        );
    }
    let looser = format!("[{MONTHLY}, {{ name: own, algorithm: gcra, capacity: 11, refill_rate: 5 }}]");
    for document in places(&looser) {
        let said = said(&document);
        assert_eq!(said.len(), 1, "{document}: {said:?}");
        assert!(said[0].contains("looser than the required limit `burst`"), "{said:?}");
    }
}

#[test]
fn each_way_to_loosen_is_named() {
    let own =
        |fields: &str| of(&format!("[{MONTHLY}, {{ name: own, algorithm: gcra, capacity: 10, {fields} }}]"));
    let table = [
        ("refill_rate: 6", "10 at once, then 6 per second, more than 10 at once, then 5 per second"),
        ("refill_rate: 5, mode: shadow", "it is in shadow mode and refuses no request"),
        ("refill_rate: 5, consumer_key: ip", "it has another key, so it limits other clients together"),
        ("refill_rate: 5, missing_key: anonymous", "it has another key, so it limits other clients together"),
        ("refill_rate: 5, counted: per_operation", "counted is per_operation, not together"),
        ("refill_rate: 5, scope: local", "scope is local, not exact"),
        ("refill_rate: 5, when_store_fails: allow", "when_store_fails is allow, not local"),
        (
            "refill_rate: 5, tier_overrides: { big: none }",
            "for the tier `big`, unlimited, more than 50 at once, then 5 per second",
        ),
        ("refill_rate: 5, cost: { header: X-Cost, max: 9 }", ""),
    ];
    for (fields, why) in table {
        let said = own(fields);
        if why.is_empty() {
            assert_eq!(said, Vec::<String>::new(), "{fields}");
            continue;
        }
        assert_eq!(said.len(), 1, "{fields}: {said:?}");
        assert!(said[0].contains(&format!("burst`: {why} | platform.yaml:9:5")), "{fields}: {said:?}");
    }
    assert_eq!(own("refill_rate: 5"), Vec::<String>::new());
    let cheaper = of("[{ use: inherited }, { use: monthly, cost: 1 }]");
    assert_eq!(
        cheaper,
        [
            "team.yaml:3:65 required: a request costs less of the required limit `monthly` here than it must | platform.yaml:8:12, platform.yaml:5:12"
        ]
    );
    assert_eq!(of("[{ use: monthly, cost: 2 }, { use: other }]").len(), 1);
}

#[test]
fn a_tag_of_the_platform_requires_its_limits_of_the_operations_that_have_it() {
    let with_tag = |limits: &str| {
        said(&format!("paths: {{ /a: {{ get: {{ tags: [slow], x-rate-limit: {limits} }} }} }}"))
    };
    let without = format!("[{MONTHLY}, {{ name: own, algorithm: gcra, capacity: 5, refill_rate: 1 }}]");
    let said = with_tag(&without);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("`slow`") && said[0].ends_with("| platform.yaml:12:44"), "{said:?}");
    assert_eq!(with_tag("[{ use: inherited }]"), Vec::<String>::new());
}

#[test]
fn a_tag_of_the_platform_requires_its_cost() {
    let expensive = |limits: &str| {
        said(&format!("paths: {{ /a: {{ get: {{ tags: [expensive, slow], x-rate-limit: {limits} }} }} }}"))
    };
    for cheaper in [
        "{ use: monthly, cost: 24 }",
        "{ use: monthly, cost: 25 }, { use: monthly, cost: 2, when: { header: { X-A: } } }",
    ] {
        let said = expensive(&format!("[{{ use: inherited }}, {cheaper}]"));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("costs less of the required limit `monthly` here than it must"), "{said:?}");
        assert!(said[0].ends_with("| platform.yaml:11:56, platform.yaml:5:12"), "{said:?}");
    }
    assert_eq!(expensive("[{ use: inherited }, { use: monthly, cost: 30 }]"), Vec::<String>::new());
}

#[test]
fn a_limit_of_the_same_name_cannot_take_the_place_of_a_required_one() {
    let said = said(
        "x-tollgate: { limits: { monthly: { algorithm: fixed_window, limit: 9999, window: calendar month } } }\nx-rate-limit: [{ use: inherited }, { use: monthly }]\npaths: { /a: { get: {} } }",
    );
    assert!(said[0].contains("the limit `monthly` is required, and this one of the same name is not the same | platform.yaml:5:12"), "{said:?}");
}

#[test]
fn required_has_no_effect_where_nothing_can_be_required() {
    let limit = "{ algorithm: gcra, capacity: 5, refill_rate: 1, required: true }";
    for text in [
        format!("tollgate: 1\nrate_limit: {limit}\nroutes: [{{ path: /a }}]"),
        format!(
            "openapi: 3.1.0\ninfo: {{ title: T, version: '1' }}\nx-rate-limit: {limit}\npaths: {{ /a: {{ get: {{}} }} }}"
        ),
    ] {
        let refused = files(&[("a.yaml", &text)]).expect_err("it has no effect");
        assert!(refused.to_string().contains("`required` has no effect here"), "{refused}");
    }
    let said = of(&format!("[{{ use: inherited }}, {limit}]"));
    assert!(said[0].contains("no-effect: `required` has no effect here"), "{said:?}");
}
