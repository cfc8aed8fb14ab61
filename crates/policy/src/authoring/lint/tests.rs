//! The advice as a whole: order, limits, coverage. Each kind of advice has a table of its own in the files below.

mod bound;
mod group_findings;
mod people;
mod suppress;
mod table;

use super::*;

/// Findings as `line severity code: message`, of one code or of all (`""`).
pub(super) fn lines(document: &str, code: &str) -> Vec<String> {
    let policy = Policy::parse("t.yaml", document).unwrap_or_else(|refused| panic!("{document}\n{refused}"));
    let advice = advise(&policy);
    let found = advice.findings.all().iter().filter(|finding| code.is_empty() || finding.code == code);
    found
        .map(|finding| {
            let place = policy.sources().locate(finding.place);
            let line = place.split(':').nth(1).unwrap_or_default();
            format!("{line} {} {}: {}", finding.severity.name(), finding.code, finding.message)
        })
        .collect()
}

const MESSY: &str = "tollgate: 1
unmatched: forward
routes:
  - { path: /a, rate_limit: { algorithm: sliding_window_log, limit: 5, window: 1m, cost: 6, owner: me } }
  - { path: /b, rate_limit: none }
  - path: /c
    rate_limit:
      - { algorithm: fixed_window, limit: 5, window: 1m, consumer_key: ip, mode: shadow }
      - { name: two, algorithm: concurrency, limit: 5, consumer_key: ip, owner: me }
  - { path: /d }
";

#[test]
fn a_document_with_much_to_say_gets_all_of_it_in_order() {
    let expected = [
        "1 warning unlimited-unmatched: `unmatched` is `forward`, and what no operation names is not limited at all",
        "4 warning claimed-key: `* /a` is counted by `api_key`, which a client can choose: a new value is a new budget",
        "4 warning cost-never-fits: a request costs 6, and `* /a` has at most 5: it can never be granted",
        "5 note limits-off: * /b has no limit: it is switched off on purpose",
        "8 note no-owner: `* /c (fixed_window)` has no owner, and other limits have one",
        "8 note shadow-limit: `* /c (fixed_window)` is a shadow: counted, not enforced",
        "8 note unnamed-limit: `* /c (fixed_window)` has no name, and is in a list: only its algorithm and its position identify it",
        "8 note window-boundary: `* /c (fixed_window)` admits up to 10 within 1 min: the limit before a boundary, and again after it",
        "10 warning no-limit: * /d has no limit",
    ];
    assert_eq!(lines(MESSY, ""), expected);
}

#[test]
fn a_document_with_nothing_to_say_gets_nothing() {
    let document = "tollgate: 1
unmatched: forward
rate_limit: { name: all, algorithm: token_bucket, capacity: 10, refill_rate: 1, consumer_key: ip, owner: me }
routes:
  - { path: /a, methods: GET }
";
    assert_eq!(lines(document, ""), [""; 0]);
}

#[test]
fn every_finding_says_what_to_do() {
    let policy = Policy::parse("t.yaml", MESSY).expect("it has no errors");
    for finding in advise(&policy).findings.all() {
        assert!(finding.help.as_ref().is_some_and(|help| help.len() > 20), "{}", finding.code);
    }
}

#[test]
fn of_one_code_all_findings_are_kept() {
    let routes: String = (0..300).map(|number| format!("  - {{ path: /r{number} }}\n")).collect();
    let policy =
        Policy::parse("t.yaml", &format!("tollgate: 1\nroutes:\n{routes}")).expect("it has no errors");
    let advice = advise(&policy);
    assert_eq!((advice.findings.all().len(), advice.findings.more()), (300, 0));
    assert!(!advice.findings.has_errors());
}

#[test]
fn requests_in_progress_and_in_line_are_limited() {
    let policy = Policy::parse(
        "t.yaml",
        "tollgate: 1
routes:
  - { path: /a, rate_limit: { algorithm: concurrency, limit: 2, scope: local } }
  - { path: /b, rate_limit: { algorithm: leaky_bucket_queue, capacity: 2, refill_rate: 1, scope: local } }
  - { path: /c, rate_limit: { algorithm: concurrency, limit: 2, scope: local, mode: shadow } }
",
    )
    .expect("it has no errors");
    let coverage = advise(&policy).coverage;
    assert_eq!((coverage.whole.limited, coverage.whole.all), (2, 3));
}

#[test]
fn coverage_counts_what_is_enforced_by_method_and_by_tag() {
    let policy = Policy::parse(
        "t.yaml",
        "tollgate: 1
tags: { slow: { rate_limit: { algorithm: sliding_window_log, limit: 5, window: 1m } } }
routes:
  - { path: /a, methods: [GET, POST], tags: [slow, slow] }
  - { path: /b, methods: GET, tags: [slow, shown], rate_limit: { algorithm: gcra, capacity: 5, refill_rate: 1, mode: shadow } }
  - { path: /c, rate_limit: none }
",
    )
    .expect("it has no errors");
    let coverage = advise(&policy).coverage;
    let of = |groups: &[Group]| -> Vec<String> {
        let name = |group: &Group| group.name.clone().unwrap_or_else(|| "-".into());
        groups
            .iter()
            .map(|group| format!("{} {}/{}", name(group), group.share.limited, group.share.all))
            .collect()
    };
    assert_eq!(coverage.to_string(), "2 of 4 operations have a limit (50 %)");
    assert_eq!(coverage.whole.off, 1);
    assert_eq!(of(&coverage.by_method), ["- 0/1", "GET 1/2", "POST 1/1"]);
    assert_eq!(of(&coverage.by_tag), ["- 0/1", "shown 0/1", "slow 2/3"]);
}

#[test]
fn percent_are_rounded_down_and_nothing_is_all_of_nothing() {
    for (limited, all, percent) in
        [(0, 0, 100), (0, 3, 0), (1, 3, 33), (2, 3, 66), (999, 1000, 99), (3, 3, 100)]
    {
        assert_eq!(Share { limited, off: 0, all }.percent(), percent, "{limited} of {all}");
    }
}
