//! Comments that accept advice: what they are about, and what is said of those that accept nothing.

use super::{advise, lines};
use crate::policy::Policy;

/// What is suppressed, as `line code: reason`.
fn suppressed(document: &str) -> Vec<String> {
    let policy = Policy::parse("t.yaml", document).unwrap_or_else(|refused| panic!("{document}\n{refused}"));
    let all = advise(&policy).suppressed;
    let told = all.iter().map(|one| {
        let place = policy.sources().locate(one.finding.place);
        let line = place.split(':').nth(1).unwrap_or_default().to_owned();
        format!("{line} {}: {}", one.finding.code, one.reason)
    });
    told.collect()
}

const ROUTES: &str = "tollgate: 1
routes:
  - { path: /a }   # tollgate-allow no-limit: asked by the balancer
  # tollgate-allow no-limit: static
  # and never slow

  - { path: /b }
  - { path: /c }
";

#[test]
fn a_comment_is_about_its_own_line_or_the_next_that_has_no_comment() {
    assert_eq!(suppressed(ROUTES), ["3 no-limit: asked by the balancer", "7 no-limit: static"]);
    assert_eq!(lines(ROUTES, ""), ["8 warning no-limit: * /c has no limit"]);
}

#[test]
fn a_comment_at_a_key_is_about_the_value_that_begins_on_the_next_line() {
    let document = "openapi: 3.1.0
info: { title: T, version: '1' }
paths:
  /a:
    get:
      x-rate-limit:   # tollgate-allow shadow-limit, claimed-key: a trial until June
        algorithm: gcra
        capacity: 5
        refill_rate: 1
        mode: shadow
";
    let reason = "a trial until June";
    assert_eq!(
        suppressed(document),
        [format!("7 claimed-key: {reason}"), format!("7 shadow-limit: {reason}")]
    );
    assert_eq!(lines(document, ""), [""; 0]);
    let above = document.replace("   # tollgate-allow shadow-limit, claimed-key: a trial until June", "");
    let above =
        above.replace("      x-rate-limit", "      # tollgate-allow shadow-limit: x\n      x-rate-limit");
    assert_eq!(suppressed(&above), ["8 shadow-limit: x"]);
}

/// One finding is about three limits. One of them is taken out, and the others are still told.
#[test]
fn of_a_finding_about_several_limits_one_is_suppressed() {
    let limit = |name: &str, comment: &str| {
        format!(
            "  - {{ path: /{name}, rate_limit: {{ name: {name}, algorithm: gcra, capacity: 5, refill_rate: 1 }} }}{comment}\n"
        )
    };
    let comment = "  # tollgate-allow claimed-key: keys are checked in front";
    let document = |a: &str, b: &str| {
        format!("tollgate: 1\nroutes:\n{}{}{}", limit("a", a), limit("b", b), limit("c", ""))
    };
    let two = "2 limits, `b` and others, are counted by `api_key`, which a client can choose";
    let found = lines(&document(comment, ""), "claimed-key");
    assert!(found.len() == 1 && found[0].contains(two) && found[0].starts_with('4'), "{found:?}");
    let found = lines(&document(comment, comment), "claimed-key");
    assert!(found[0].contains("claimed-key: `c` is counted by `api_key`"), "{found:?}");
    assert_eq!(suppressed(&document(comment, comment)).len(), 2);
}

#[test]
fn a_comment_that_suppresses_nothing_is_told() {
    let document = |comment: &str| {
        format!(
            "tollgate: 1\nrate_limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ip }}\nroutes:\n  - {{ path: /a }}  {comment}\n"
        )
    };
    let table = [
        ("# tollgate-allow no-limit: why", "4 warning suppression: there is no advice `no-limit` here"),
        ("# tollgate-allow no-limit", "4 warning suppression: this comment gives no reason"),
        ("# tollgate-allow no-limit:  ", "4 warning suppression: this comment gives no reason"),
        ("# tollgate-allow", "4 warning suppression: this comment names no code"),
        ("# tollgate-allow : why", "4 warning suppression: this comment names no code"),
    ];
    for (comment, expected) in table {
        let found = lines(&document(comment), "");
        assert!(found.len() == 1 && found[0].starts_with(expected), "{comment}: {found:?}");
    }
    // In a text it is no comment.
    assert_eq!(lines(&document("# see x#tollgate-allow and 'tollgate-allow'"), ""), [""; 0]);
}

#[test]
fn an_error_cannot_be_suppressed() {
    let document =
        "tollgate: 1\nroutes:\n  - { path: /a, limit: 5 }  # tollgate-allow unknown-field: we like it\n";
    let refused = Policy::parse("t.yaml", document).expect_err("it is wrong");
    assert_eq!(refused.findings.all()[0].code, "unknown-field");
}
