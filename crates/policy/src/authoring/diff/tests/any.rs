//! What has to hold of any two policies: no difference from itself, and looser one way is tighter the other.

use super::{between, policy};
use crate::authoring::diff::{Change, Diff, FailOn, Verdict, diff};
use tollgate_testing::dice::Dice;

fn numbers(draw: &mut Dice) -> String {
    let (amount, more) = (draw.roll() % 4 + 1, draw.roll() % 3 + 1);
    let window = draw.pick(&["1s", "1m", "1h"]);
    match draw.below(6) {
        0 => format!("algorithm: token_bucket, capacity: {amount}, refill_rate: {more}"),
        1 => format!("algorithm: gcra, capacity: {amount}, refill_rate: {more}"),
        2 => format!("algorithm: fixed_window, limit: {amount}, window: {window}"),
        3 => format!("algorithm: sliding_window, limit: {amount}, window: {window}"),
        4 => format!("algorithm: sliding_window_log, limit: {amount}, window: {window}"),
        _ => format!("algorithm: concurrency, limit: {amount}"),
    }
}

fn limit(draw: &mut Dice, name: usize) -> String {
    let mut text = format!("{{ name: n{name}, {}", numbers(draw));
    let fields = [
        ", consumer_key: ip",
        ", consumer_key: everyone",
        ", mode: shadow",
        ", cost: 2",
        ", cost: { header: x-cost, max: 3 }",
        ", address_ceiling: 2",
        ", counted: per_operation",
        ", owner: '@me'",
        ", when_store_fails: deny",
        ", scope: local",
        ", tier_overrides: { big: none }",
        ", tier_overrides: { big: none, small: none }",
    ];
    if draw.below(2) == 0 {
        let field: &str = draw.pick(&fields);
        text.push_str(field);
    }
    text + " }"
}

/// Up to four limits, on up to three routes by tag.
fn document(seed: u64) -> String {
    let mut draw = Dice::new(seed);
    let mut text = String::from("tollgate: 1\n");
    let settings = [
        ["", "unmatched: forward\n", "unmatched: reject\n"],
        ["", "tiers: { default: big }\n", "tiers: { default: small }\n"],
        ["", "addresses: { ipv6_prefix: 56 }\n", "addresses: { ipv6_wide_prefix: 48 }\n"],
    ];
    for values in &settings {
        let value: &str = draw.pick(values);
        text.push_str(value);
    }
    if draw.below(2) == 0 {
        let name = draw.below(6);
        text.push_str(&format!("rate_limit: {}\n", limit(&mut draw, name)));
    }
    // Each name at most once, so that no two limits of one name differ.
    text.push_str("tags:\n");
    for tag in ["a", "b", "c"] {
        let name = 10
            + draw.below(2)
            + match tag {
                "a" => 0,
                "b" => 2,
                _ => 4,
            };
        text.push_str(&format!("  {tag}: {{ rate_limit: {} }}\n", limit(&mut draw, name)));
    }
    text.push_str("routes:\n");
    for route in ["/x", "/y", "/{z}"] {
        if draw.below(4) > 0 {
            let tags = draw.pick(&["[]", "[a]", "[b, c]", "[a, b, c]"]);
            text.push_str(&format!("  - {{ path: '{route}', methods: GET, tags: {tags} }}\n"));
        }
    }
    text.push_str("  - { path: /always }\n");
    text
}

/// Verdicts by operation and tier, by limit and by setting.
fn verdicts(diff: &Diff) -> Vec<(String, Change)> {
    let rows =
        diff.operations.iter().map(|row| (format!("{} {:?}", row.name, row.tier), row.verdict.clone()));
    let limits = diff.limits.iter().map(|limit| {
        // A limit that was renamed has its other name the other way.
        let from = limit
            .changes
            .iter()
            .find_map(|change| if let Change::Renamed { from } = change { Some(from.clone()) } else { None });
        let mut names = vec![limit.name.clone()];
        names.extend(from);
        names.sort();
        (names.join(" "), limit.verdict.into())
    });
    let settings = diff.settings.iter().map(|setting| {
        let what = setting.text.split(':').next().unwrap_or_default();
        (what.to_owned(), setting.verdict.into())
    });
    let mut all: Vec<_> = rows.chain(limits).chain(settings).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn reversed(change: &Change) -> Change {
    let pairs = [(Change::Looser, Change::Tighter), (Change::Added, Change::Removed)];
    let both = pairs.iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    both.into_iter()
        .find(|(one, _)| *one == change)
        .map_or_else(|| change.clone(), |(_, other)| other.clone())
}

#[test]
fn a_policy_does_not_differ_from_itself() {
    for seed in 0..300 {
        let text = document(seed);
        let found = between(&text, &text);
        assert!(found.is_empty() && found.reviews.is_empty(), "seed {seed}\n{text}\n{}", found.human());
        assert_eq!(found.human(), "Nothing changes.\n", "seed {seed}");
        assert!(
            ![FailOn::Looser, FailOn::Tighter, FailOn::Removed].iter().any(|what| found.fails_on(*what)),
            "seed {seed}"
        );
    }
}

#[test]
fn looser_one_way_is_tighter_the_other() {
    let mut seen = [0_u32; 4];
    for seed in 0..600 {
        let (one, other) = (document(seed), document(seed + 1_000_000));
        let (a, b) = (policy(&one), policy(&other));
        let (there, back) = (diff(&a, &b), diff(&b, &a));
        let expected: Vec<_> =
            verdicts(&there).iter().map(|(name, change)| (name.clone(), reversed(change))).collect();
        assert_eq!(verdicts(&back), expected, "seed {seed}\n{one}\n{other}");
        assert_eq!(there.fails_on(FailOn::Looser), back.fails_on(FailOn::Tighter), "seed {seed}");
        for (_, change) in verdicts(&there) {
            let verdicts = [Verdict::Same, Verdict::Looser, Verdict::Tighter, Verdict::Mixed];
            for (count, verdict) in seen.iter_mut().zip(verdicts) {
                *count += u32::from(change == verdict.into());
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 50), "a verdict that is never seen is not tested: {seen:?}");
}

/// What a check refuses stands in the lists, and what stands in the lists is refused.
#[test]
fn the_lists_say_what_a_check_refuses() {
    for seed in 0..600 {
        let found = diff(&policy(&document(seed)), &policy(&document(seed + 1_000_000)));
        let listed = found.operations.iter().map(|row| row.effect);
        let listed = listed.chain(found.limits.iter().map(|limit| limit.verdict));
        let listed: Vec<_> = listed.chain(found.settings.iter().map(|setting| setting.verdict)).collect();
        let has = |verdict| listed.iter().any(|listed| [verdict, Verdict::Mixed].contains(listed));
        assert_eq!(found.fails_on(FailOn::Looser), has(Verdict::Looser), "seed {seed}");
        assert_eq!(found.fails_on(FailOn::Tighter), has(Verdict::Tighter), "seed {seed}");
        let changes = found.operations.iter().flat_map(|row| {
            row.limits.iter().flat_map(|limit| &limit.changes).chain(std::iter::once(&row.verdict))
        });
        let mut changes = changes.chain(found.limits.iter().flat_map(|limit| &limit.changes));
        assert_eq!(found.fails_on(FailOn::Removed), changes.any(|change| *change == Change::Removed));
    }
}

#[test]
fn the_same_two_policies_are_always_drawn_alike() {
    for seed in 0..50 {
        let (one, other) = (document(seed), document(seed + 7));
        let (first, second) = (between(&one, &other), between(&one, &other));
        assert_eq!(
            (first.human(), first.markdown(), first.codeowners()),
            (second.human(), second.markdown(), second.codeowners()),
            "seed {seed}"
        );
    }
}
