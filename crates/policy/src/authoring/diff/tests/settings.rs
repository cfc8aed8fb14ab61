//! Settings: how they are said, what they mean for clients, and that a check refuses them.

use super::{between, limit, route};
use crate::authoring::diff::{ANY_OTHER_TIER, Diff, FailOn, Verdict};

const BUCKET: &str = "algorithm: token_bucket, capacity: 5, refill_rate: 1";
const PROXIES: &str = "trusted_proxies: { header: X-Forwarded-For, ";

fn one(text: &str) -> String {
    route(&limit("x", text))
}

fn check(old: &str, new: &str, expected: &str) {
    assert_eq!(between(old, new).human(), expected, "{old}\n{new}");
}

fn refused(diff: &Diff) -> [bool; 3] {
    [FailOn::Looser, FailOn::Tighter, FailOn::Removed].map(|what| diff.fails_on(what))
}

#[test]
fn settings_in_sentences() {
    let expected = "\
1 operation changes (1 added); 2 settings change.

OPERATION                TIER       CHANGE  SUSTAINED      AT ONCE        WORST MINUTE   LIMITS
what no operation names  (default)  added   - → unlimited  - → unlimited  - → unlimited

CHANGE  SETTING
looser  what happens to a request that no operation names: `reject` before, `forward` now
mixed   the consumers file: none before, `c.csv` now
";
    check(&one(BUCKET), &format!("unmatched: forward\nconsumers: c.csv\n{}", one(BUCKET)), expected);
    let expected = "\
1 setting changes.

CHANGE  SETTING
mixed   trusted proxies: other networks than before
";
    check(
        &format!("{PROXIES}networks: 10.0.0.0/8 }}\n{}", one(BUCKET)),
        &format!("{PROXIES}networks: 10.0.0.0/9 }}\n{}", one(BUCKET)),
        expected,
    );
    let expected = "\
1 setting changes.

CHANGE  SETTING
mixed   trusted proxies: that of listed networks, in `X-Forwarded-For` before, that of 2 hops, in `X-Forwarded-For` now
";
    check(
        &format!("{PROXIES}networks: 10.0.0.0/8 }}\n{}", one(BUCKET)),
        &format!("{PROXIES}hops: 2 }}\n{}", one(BUCKET)),
        expected,
    );
    let expected = "\
4 settings change.

CHANGE   SETTING
mixed    where API keys stand: where the documents say before, `query:key` now
same     the tiers that there are: any before, `a`, `b` now
same     the tier of those of whom nothing else is known: none before, `a` now
tighter  how much of an address is one client: an IPv4 /32, an IPv6 /64, and 256 times the limit for an IPv6 /48 before, an IPv4 /32, an IPv6 /56 now
";
    check(
        &one(BUCKET),
        &format!(
            "addresses: {{ ipv6_prefix: 56 }}\ntiers: {{ names: [a, b], default: a }}\napi_key: 'query:key'\n{}",
            one(BUCKET)
        ),
        expected,
    );
}

#[test]
fn a_setting_that_lets_more_or_less_through_is_refused_as_that() {
    let (looser, tighter, mixed) = ([true, false], [false, true], [true, true]);
    let table = [
        ("", "addresses: { ipv6_prefix: 128 }\n", looser),
        ("", "addresses: { ipv6_prefix: 56 }\n", tighter),
        ("", "addresses: { ipv4_prefix: 24 }\n", tighter),
        ("", "addresses: { ipv4_prefix: 24, ipv6_prefix: 128 }\n", mixed),
        ("", "addresses: { ipv6_wide_prefix: 48 }\n", [false, false]),
        ("", "addresses: { ipv6_wide_prefix: none }\n", looser),
        ("", "addresses: { ipv6_wide_multiple: 16 }\n", tighter),
        (
            "addresses: { ipv6_wide_prefix: 48, ipv6_wide_multiple: 16 }\n",
            "addresses: { ipv6_wide_prefix: 56, ipv6_wide_multiple: 16 }\n",
            looser,
        ),
        ("", "addresses: { ipv6_wide_prefix: 48, ipv6_wide_multiple: 257 }\n", looser),
        ("", "header_names: any\n", [false, false]),
        ("", "cors: { origins: '*' }\n", [false, false]),
        ("", "consumers: c.csv\n", mixed),
        ("", "api_key: 'query:key'\n", mixed),
        ("", "trusted_proxies: { header: X-Forwarded-For, hops: 1 }\n", mixed),
        ("consumers: c.csv\n", "consumers: c.csv\ntiers: { from: consumers }\n", mixed),
        ("", "tiers: { names: [a] }\n", [false, false]),
        ("", "unmatched: forward\n", looser),
    ];
    for (old, new, expected) in table {
        let (old, new) = (format!("{old}{}", one(BUCKET)), format!("{new}{}", one(BUCKET)));
        let (there, back) = (between(&old, &new), between(&new, &old));
        assert_eq!(refused(&there)[..2], expected, "{new}");
        assert_eq!(refused(&back)[..2], [expected[1], expected[0]], "back from {new}");
    }
}

/// A limit with numbers for everybody, and for two tiers, one of which may be the default.
fn tiered(default: &str, base: u64, free: u64) -> String {
    let limit = limit(
        "x",
        &format!(
            "algorithm: gcra, capacity: {base}, refill_rate: 1, tier_overrides: {{ free: {{ capacity: {free} }}, gold: {{ capacity: 50 }} }}"
        ),
    );
    format!("tiers: {{ default: {default} }}\n{}", route(&limit))
}

#[test]
fn those_of_whom_nothing_is_known_have_the_numbers_of_the_default_tier() {
    let expected = "\
1 operation changes (1 looser); 1 limit changes; 1 setting changes.

OPERATION  TIER       CHANGE  SUSTAINED     AT ONCE  WORST MINUTE  LIMITS
GET /a     (default)  looser  1 per second  2 → 50   62 → 110      x: looser

LIMIT  TIER       SUSTAINED     AT ONCE  WORST MINUTE  WHAT
x      (default)  1 per second  2 → 50   62 → 110      looser

CHANGE  SETTING
looser  the tier of those of whom nothing else is known: `free` before, `gold` now
";
    check(&tiered("free", 5, 2), &tiered("gold", 5, 2), expected);
    assert_eq!(refused(&between(&tiered("free", 5, 2), &tiered("gold", 5, 2))), [true, false, false]);
    assert_eq!(refused(&between(&tiered("gold", 5, 2), &tiered("free", 5, 2))), [false, true, false]);
    // A tier without numbers of its own is as good as none.
    assert_eq!(refused(&between(&tiered("free", 5, 2), &tiered("other", 5, 2))), [true, false, false]);
    // What only the default tier gets is told of those without a tier too.
    let tiers = |old: &str, new: &str| -> Vec<_> {
        between(old, new).operations.iter().map(|row| row.tier.clone()).collect()
    };
    assert_eq!(tiers(&tiered("free", 5, 2), &tiered("free", 5, 3)), [None, Some("free".to_owned())]);
    // And everybody else's numbers are not lost, though they are nobody's who is unknown.
    assert_eq!(tiers(&tiered("free", 5, 2), &tiered("free", 6, 2)), [Some(ANY_OTHER_TIER.to_owned())]);
    let diff = between(&tiered("free", 5, 2), &tiered("free", 6, 2));
    assert_eq!((diff.limits[0].verdict, refused(&diff)), (Verdict::Looser, [true, false, false]));
}

#[test]
fn what_no_operation_names_comes_and_goes_with_forwarding() {
    let rooted = |unmatched: &str| {
        format!(
            "tollgate: 1\nunmatched: {unmatched}\nrate_limit: {{ algorithm: gcra, capacity: 5, refill_rate: 1 }}\n"
        )
    };
    let expected = "\
1 operation changes (1 added); 1 setting changes.

OPERATION                TIER       CHANGE  SUSTAINED         AT ONCE  WORST MINUTE  LIMITS
what no operation names  (default)  added   - → 1 per second  - → 5    - → 65        default: added

CHANGE  SETTING
looser  what happens to a request that no operation names: `reject` before, `forward` now
";
    check(&rooted("reject"), &rooted("forward"), expected);
    assert_eq!(refused(&between(&rooted("reject"), &rooted("forward"))), [true, false, false]);
    assert_eq!(refused(&between(&rooted("forward"), &rooted("reject"))), [false, true, true]);
}

#[test]
fn an_operation_that_comes_without_a_limit_is_looser_where_it_was_refused_or_limited() {
    let document = |unmatched: &str, root: &str, routes: &str| {
        format!(
            "tollgate: 1\nunmatched: {unmatched}\n{root}tags: {{ t: {{ rate_limit: {{ name: t, {BUCKET} }} }} }}\nroutes:\n  - {{ path: /always, tags: [t] }}\n{routes}"
        )
    };
    let root = "rate_limit: { algorithm: gcra, capacity: 5, refill_rate: 1 }\n";
    let free = "  - { path: /x/new, rate_limit: none }\n";
    let table = [
        ("reject", "", "", free, true),
        ("reject", "", "", "  - { path: /x/new, tags: [t] }\n", false),
        ("forward", "", "", free, false),
        ("forward", root, "", free, true),
        // Requests to it met another operation before.
        ("reject", "", "  - { path: '/x/{id}', rate_limit: none }\n", free, false),
        ("forward", "", "  - { path: '/x/{id}', tags: [t] }\n", free, true),
        ("forward", "", "  - { path: '/x/{id}', methods: GET, tags: [t] }\n", free, true),
        (
            "forward",
            "",
            "  - { path: '/x/{id}', methods: GET, tags: [t] }\n",
            &free.replace("new", "new, methods: PUT"),
            false,
        ),
        (
            "forward",
            "",
            "  - { path: /x/new, methods: GET, tags: [t] }\n",
            &free.replace("new", "new, methods: HEAD"),
            true,
        ),
        ("reject", "", "  - { path: '/x/{id}', methods: GET, rate_limit: none }\n", free, true),
        ("forward", "", "  - { path: '/x/{id}', headers: { a: }, tags: [t] }\n", free, true),
        ("reject", "", "  - { path: '/x/{id}', headers: { a: }, rate_limit: none }\n", free, true),
    ];
    for (unmatched, root, before, added, looser) in table {
        let old = document(unmatched, root, before);
        let new = document(unmatched, root, &format!("{before}{added}"));
        assert_eq!(refused(&between(&old, &new)), [looser, false, false], "{old}\n{new}");
        assert_eq!(refused(&between(&new, &old)), [false, looser, true], "{new}\n{old}");
    }
}
