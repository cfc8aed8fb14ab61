//! Pull requests, approvals and order: what is drawn besides tables for people, and what a check refuses.

use super::{between, limit, policy, route};
use crate::authoring::diff::{Change, Diff, FailOn, ROWS_MAX, Verdict, diff};
use crate::policy::Policy;

const BEFORE: &str = "tollgate: 1
rate_limit: { name: a|b, algorithm: sliding_window_log, limit: 5, window: 1m, owner: '@root' }
tags:
  t: { rate_limit: { name: t, algorithm: gcra, capacity: 5, refill_rate: 1 }, owner: '@tag', reviewers: [sec] }
routes:
  - { path: /gone, methods: GET }
  - { path: '/r/{id}', methods: GET, tags: [t] }
  - { path: /moves, methods: GET, tags: [t] }
  - { path: /own, methods: GET, rate_limit: { algorithm: gcra, capacity: 5, refill_rate: 1, owner: old team } }
";

const AFTER: &str = "tollgate: 1
rate_limit: { name: a|b, algorithm: sliding_window_log, limit: 5, window: 1m, owner: '@root' }
tags:
  t: { rate_limit: { name: t, algorithm: gcra, capacity: 6, refill_rate: 1 }, owner: '@tag', reviewers: [sec] }
routes:
  - { path: /own, methods: GET, rate_limit: { algorithm: gcra, capacity: 4, refill_rate: 1, owner: '@new' } }
  - { path: '/r/{name}', methods: GET, tags: [t] }
  - { path: /moves, methods: GET }
  - { path: /nobodys, methods: GET, rate_limit: { algorithm: gcra, capacity: 1, refill_rate: 1 } }
";

#[test]
fn a_pull_request_sees_tables_in_which_nothing_is_markup() {
    let expected = "\
**5 operations and tiers change (1 looser, 2 tighter, 1 added, 1 removed); 3 limits change; 5 approvals are needed.**

| Limit | Tier | Sustained | At once | Worst minute | What |
| --- | --- | --- | --- | --- | --- |
| t | (default) | 1 per second | 5 → 6 | 65 → 66 | looser |
| GET /own | (default) | 1 per second | 5 → 4 | 65 → 64 | tighter, owner: old team → @new |
| GET /nobodys | (default) | - → 1 per second | - → 1 | - → 61 | added |

| Operation | Tier | Change | Sustained | At once | Worst minute | Limits |
| --- | --- | --- | --- | --- | --- | --- |
| GET /own | (default) | tighter | 1 per second | 5 → 4 | 65 → 64 | GET /own: tighter |
| GET /r/{name} | (default) | looser | 1 per second | 5 → 6 | 65 → 66 | t: looser |
| GET /moves | (default) | tighter | 1 per second → 5 per minute | 5 | 65 → 5 | a\\|b: added; t: removed |
| GET /nobodys | (default) | added | - → 1 per second | - → 1 | - → 61 | GET /nobodys: added |
| GET /gone | (default) | removed | 5 per minute → - | 5 → - | 5 → - | a\\|b: removed |

**Approvals**

- @tag, because of t
- sec, because of t
- @new, because of GET /own
- old team, because of GET /own
- @root, because of a\\|b
";
    assert_eq!(between(BEFORE, AFTER).markdown(), expected);
    assert_eq!(between(BEFORE, BEFORE).markdown(), "**Nothing changes.**\n");
}

#[test]
fn code_owners_have_a_line_for_each_file_and_set_of_owners() {
    let expected = "\
t.yaml  @tag sec         # t
t.yaml  @new \"old team\"  # GET /own
# t.yaml: no owner: GET /nobodys
t.yaml  @root            # a|b
";
    assert_eq!(between(BEFORE, AFTER).codeowners(), expected);
    // What is gone is in the old document, and what has the same owners is in one line.
    let documents = |name: &'static str, limits: &str| {
        let text = route(limits);
        Policy::load(name, &mut move |_| Ok(text.clone())).expect("it has no errors")
    };
    let one = |name: &str, capacity: u64| {
        limit(name, &format!("algorithm: gcra, capacity: {capacity}, refill_rate: 1, owner: '@o'"))
    };
    let old = documents("was here.yaml", &format!("{}{}{}", one("x", 5), one("y", 5), one("gone", 7)));
    let new = documents("is.yaml", &format!("{}{}", one("x", 6), one("y", 6)));
    let expected = "\
is.yaml         @o  # x, y
was\\ here.yaml  @o  # gone
";
    assert_eq!(diff(&old, &new).codeowners(), expected);
}

#[test]
fn a_change_needs_the_owners_of_before_and_of_after() {
    let diff = between(BEFORE, AFTER);
    let row = |name: &str| {
        diff.operations.iter().find(|row| row.name == name).expect("it changes").approvals.clone()
    };
    assert_eq!(row("GET /own"), ["@new", "old team"]);
    assert_eq!(row("GET /r/{name}"), ["@tag", "sec"]);
    assert_eq!(row("GET /moves"), ["@root", "@tag", "sec"]);
    assert_eq!(row("GET /nobodys"), [""; 0]);
}

#[test]
fn what_a_check_refuses() {
    let bucket =
        |text: &str| route(&limit("x", &format!("algorithm: gcra, capacity: 5, refill_rate: 1{text}")));
    let table = [
        (bucket(""), bucket(""), [false, false, false]),
        (bucket(""), bucket("").replace("capacity: 5", "capacity: 6"), [true, false, false]),
        (bucket(""), bucket("").replace("capacity: 5", "capacity: 4"), [false, true, false]),
        (bucket(""), bucket(", consumer_key: everyone"), [true, true, false]),
        (bucket(""), bucket(", mode: shadow"), [true, false, false]),
        (
            bucket(", mode: shadow"),
            bucket(", mode: shadow").replace("capacity: 5", "capacity: 6"),
            [false, false, false],
        ),
        (bucket(""), bucket("").replace("/a", "/b"), [false, false, true]),
        (bucket(""), bucket("").replace("name: x", "name: y"), [false, false, false]),
        (bucket(""), bucket(", when_store_fails: allow"), [true, false, false]),
        (bucket(""), bucket(", when_store_fails: local 1/2"), [false, true, false]),
        (bucket(""), bucket(", address_ceiling: 3"), [false, true, false]),
        (bucket(", counted: per_operation"), bucket(""), [false, true, false]),
        (bucket(""), bucket(", scope: local"), [true, false, false]),
        (bucket(""), bucket(", cost: { header: x-cost, max: 5 }"), [false, true, false]),
        (bucket(", cost: 3"), bucket(", cost: { header: x-cost, max: 5 }"), [true, true, false]),
        (bucket(", cost: 2"), bucket(""), [true, false, false]),
    ];
    for (old, new, expected) in table {
        let diff = between(&old, &new);
        let found = [FailOn::Looser, FailOn::Tighter, FailOn::Removed].map(|what| diff.fails_on(what));
        assert_eq!(found, expected, "{old}\n{new}");
    }
}

#[test]
fn what_one_key_gains_does_not_make_up_for_what_another_loses() {
    let limits = |each: u64, all: Option<u64>| {
        let each =
            limit("each", &format!("algorithm: gcra, capacity: {each}, refill_rate: 1, consumer_key: ip"));
        let all = all.map(|all| {
            limit("all", &format!("algorithm: gcra, capacity: {all}, refill_rate: 9, consumer_key: everyone"))
        });
        route(&format!("{each}{}", all.unwrap_or_default()))
    };
    let verdict = |old: String, new: String| between(&old, &new).operations[0].verdict.clone();
    assert_eq!(verdict(limits(5, Some(100)), limits(4, None)), Change::Mixed);
    assert_eq!(verdict(limits(5, Some(100)), limits(6, Some(200))), Change::Looser);
    assert_eq!(verdict(limits(5, Some(100)), limits(5, Some(99))), Change::Tighter);
}

#[test]
fn a_limit_that_changes_in_its_name_and_its_numbers_is_another_limit() {
    let one = |name: &str, capacity: u64| {
        route(&limit(name, &format!("algorithm: gcra, capacity: {capacity}, refill_rate: 1")))
    };
    let diff = between(&one("x", 5), &one("y", 6));
    let changes: Vec<_> =
        diff.limits.iter().map(|limit| (limit.name.as_str(), limit.changes.clone())).collect();
    assert_eq!(changes, [("y", vec![Change::Added]), ("x", vec![Change::Removed])]);
    assert_eq!(diff.operations[0].verdict, Change::Looser);
    assert!(diff.fails_on(FailOn::Removed));
}

#[test]
fn a_parameter_that_is_renamed_renames_the_limit_of_its_operation() {
    let document = |name: &str| {
        format!(
            "tollgate: 1\nroutes: [{{ path: '/r/{{{name}}}', methods: GET, rate_limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1 }} }}]\n"
        )
    };
    let diff = between(&document("id"), &document("name"));
    assert_eq!(diff.limits[0].changes, [Change::Renamed { from: "GET /r/{id}".into() }]);
    assert_eq!((diff.limits[0].verdict, diff.operations[0].verdict.clone()), (Verdict::Same, Change::Same));
}

#[test]
fn hosts_and_headers_tell_operations_apart() {
    let document = |capacity: u64| {
        format!(
            "tollgate: 1
routes:
  - {{ path: /a, host: x.org, rate_limit: {{ algorithm: gcra, capacity: {capacity}, refill_rate: 1 }} }}
  - {{ path: /a, headers: {{ b: '2', a: }}, rate_limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1 }} }}
"
        )
    };
    let names = |diff: &Diff| diff.operations.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&between(&document(5), &document(6))), ["* /a (host x.org)"]);
    let other = document(5).replace("b: '2'", "b: '3'");
    assert_eq!(names(&between(&document(5), &other)), ["* /a (a, b: 3)", "* /a (a, b: 2)"]);
}

#[test]
fn beyond_so_many_rows_they_are_only_counted_and_still_refused() {
    let document = |count: usize, last: u64| {
        let routes: String = (0..count).map(|at| format!("  - {{ path: /r{at} }}\n")).collect();
        format!(
            "tollgate: 1\nrate_limit: {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1 }}\nroutes:\n{routes}  - {{ path: /z, rate_limit: {{ algorithm: gcra, capacity: {last}, refill_rate: 1 }} }}\n"
        )
    };
    let (old, new) = (
        policy(&document(ROWS_MAX, 5)),
        policy(&document(ROWS_MAX, 4).replace("capacity: 5", "capacity: 6")),
    );
    let diff = diff(&old, &new);
    assert_eq!((diff.operations.len(), diff.more_operations), (ROWS_MAX, 1));
    assert!(diff.fails_on(FailOn::Looser) && diff.fails_on(FailOn::Tighter));
    assert!(diff.human().contains("\n… and 1 more operations and tiers.\n"));
}
