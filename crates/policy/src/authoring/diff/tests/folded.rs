//! Rows that say the same are drawn as one, and a pull request gets no more than it takes.

use super::{between, limit, policy, route};
use crate::authoring::diff::{Diff, MARKDOWN_CHARS_MAX, diff};

/// So many routes under one limit, and one that has its own.
fn many(routes: usize, capacity: u64, tiers: &str) -> String {
    let routes: String =
        (0..routes).map(|at| format!("  - {{ path: /p{at}, methods: [GET, PUT] }}\n")).collect();
    format!(
        "tollgate: 1
rate_limit: {{ name: x, algorithm: gcra, capacity: {capacity}, refill_rate: 1{tiers} }}
routes:
{routes}  - {{ path: /z, methods: GET, rate_limit: {{ name: z, algorithm: gcra, capacity: {capacity}, refill_rate: 1 }} }}
"
    )
}

#[test]
fn operations_and_tiers_with_the_same_change_are_one_row() {
    let tiers = |silver: u64| {
        format!(", tier_overrides: {{ gold: {{ refill_rate: 1 }}, silver: {{ capacity: {silver} }} }}")
    };
    let expected = "\
241 operations and tiers change (241 looser); 2 limits change.

OPERATION            TIER             CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /p0 and 79 more  (default), gold  looser  1 per second  5 → 6    65 → 66       x: looser
GET /p0 and 79 more  silver           looser  1 per second  8 → 9    68 → 69       x: looser
GET /z               (default)        looser  1 per second  5 → 6    65 → 66       z: looser

LIMIT  TIER             SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default), gold  1 per second  5 → 6    65 → 66       looser
       silver           1 per second  8 → 9    68 → 69       looser
z      (default)        1 per second  5 → 6    65 → 66       looser
";
    let diff = between(&many(40, 5, &tiers(8)), &many(40, 6, &tiers(9)));
    assert_eq!(diff.human(), expected);
    // For programs, each is still there.
    assert_eq!(diff.operations.len(), 241);
    // Two are both named.
    assert!(
        between(&many(1, 5, ""), &many(1, 6, ""))
            .human()
            .contains("\nGET /p0 and PUT /p0  (default)  looser")
    );
}

#[test]
fn a_default_row_has_its_own_word() {
    let one = |base: u64, gold: u64| {
        route(&limit(
            "x",
            &format!(
                "algorithm: gcra, capacity: {base}, refill_rate: 1, tier_overrides: {{ gold: {{ capacity: {gold} }} }}"
            ),
        ))
    };
    let words = |diff: &Diff| -> Vec<String> {
        let limits = diff.markdown();
        let rows = limits.lines().skip_while(|line| !line.starts_with("| Limit")).skip(2);
        rows.take_while(|line| !line.is_empty())
            .filter_map(|line| line.trim_end_matches(" |").rsplit(" | ").next().map(str::to_owned))
            .collect()
    };
    assert_eq!(words(&between(&one(5, 9), &one(5, 10))), ["same", "looser"]);
    assert_eq!(words(&between(&one(5, 9), &one(4, 10))), ["tighter", "looser"]);
    assert_eq!(words(&between(&one(5, 9), &one(4, 9))), ["tighter"]);
    let named = one(5, 10).replace("refill_rate: 1,", "refill_rate: 1, owner: '@me',");
    assert_eq!(words(&between(&one(5, 9), &named)), ["owner: nothing → @me", "looser"]);
}

#[test]
fn operations_that_come_or_go_have_a_row_for_each_tier_with_other_numbers() {
    let document = |more: &str| {
        format!(
            "tollgate: 1
rate_limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1, tier_overrides: {{ gold: {{ capacity: 50 }}, same: {{ capacity: 5 }} }} }}
routes:
  - {{ path: /a }}
{more}"
        )
    };
    let (small, large) = (document(""), document("  - { path: /b }\n"));
    let expected = "\
2 operations and tiers change (2 added).

OPERATION  TIER       CHANGE  SUSTAINED         AT ONCE  WORST MINUTE  LIMITS
* /b       (default)  added   - → 1 per second  - → 5    - → 65        default: added
* /b       gold       added   - → 1 per second  - → 50   - → 110       default: added
";
    assert_eq!(between(&small, &large).human(), expected);
    let removed = between(&large, &small);
    assert_eq!(
        removed.operations.iter().map(|row| row.tier.as_deref()).collect::<Vec<_>>(),
        [None, Some("gold")]
    );
}

#[test]
fn what_only_looks_different_is_not_counted_as_a_change() {
    // A shadow that is met at one more operation.
    let document = |tags: &str| {
        format!(
            "tollgate: 1\ntags: {{ t: {{ rate_limit: {{ name: t, algorithm: gcra, capacity: 5, refill_rate: 1, mode: shadow }} }} }}\nroutes:\n  - {{ path: /a, tags: [t] }}\n  - {{ path: /b, tags: {tags} }}\n"
        )
    };
    let diff = between(&document("[]"), &document("[t]"));
    assert_eq!(diff.human().lines().next(), Some("Nothing changes for clients."));
    assert_eq!(diff.operations.len(), 1);
}

/// So many routes, each with a limit of its own.
fn apart(routes: u64, capacity: u64) -> String {
    let routes: String = (0..routes)
        .map(|at| {
            let capacity = capacity + at;
            format!("  - {{ path: /p{at}, rate_limit: {{ name: n{at}, algorithm: gcra, capacity: {capacity}, refill_rate: 1, owner: '@o{at}' }} }}\n")
        })
        .collect();
    format!("tollgate: 1\nroutes:\n{routes}")
}

#[test]
fn a_long_table_of_operations_is_folded_away() {
    let markdown = |routes: u64| between(&apart(routes, 5), &apart(routes, 6)).markdown();
    assert!(!markdown(20).contains("<details>"));
    let long = markdown(21);
    assert!(
        long.contains("\n\n<details>\n<summary>Operations: 21 rows</summary>\n\n| Operation |"),
        "{long}"
    );
    assert!(long.contains(" |\n\n</details>\n\n**Approvals**\n"), "{long}");
    assert!(long.find("| Limit |") < long.find("| Operation |"));
}

#[test]
fn a_pull_request_gets_no_more_characters_than_it_takes() {
    let (old, new) = (policy(&apart(3_000, 5)), policy(&apart(3_000, 6)));
    let long = diff(&old, &new).markdown();
    let length = long.chars().count();
    assert!(length <= MARKDOWN_CHARS_MAX && length > MARKDOWN_CHARS_MAX - 500, "{length}");
    // Each of the three is cut, says so, and what stands in it and is left out is all there is.
    let left: Vec<u64> = long
        .lines()
        .filter_map(|line| line.strip_prefix("… and ")?.strip_suffix(" more rows.")?.parse().ok())
        .collect();
    let shown = |begin: &str| long.lines().filter(|line| line.starts_with(begin)).count() as u64;
    assert_eq!(left.len(), 3);
    assert_eq!(left[0] + shown("| n"), 3_000);
    assert_eq!(left[1] + shown("| \\* /p"), 3_000);
    assert_eq!(left[2] + shown("- @o"), 3_000);
    // A little one is not cut.
    assert!(!between(&apart(30, 5), &apart(30, 6)).markdown().contains("more rows"));
}
