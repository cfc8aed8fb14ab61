//! Each kind of advice by small documents: what is said, and when nothing is. The help is not repeated here.

use super::lines;

/// What is said with this code of a route with these limits, after these settings.
fn check(code: &str, table: &[(&str, &str, &[&str])]) {
    for (settings, limits, expected) in table {
        let document = format!("tollgate: 1\n{settings}routes:\n  - path: /a\n    rate_limit:\n{limits}");
        assert_eq!(lines(&document, code), *expected, "{document}");
    }
}

const LOG: &str = "      - { algorithm: sliding_window_log, limit: 5, window: 1m }\n";

#[test]
fn operations_without_a_limit_and_those_switched_off() {
    let document = |root: &str| format!("tollgate: 1\n{root}routes: [{{ path: /a, methods: GET }}]\n");
    let table = [
        ("", "no-limit", vec!["2 warning no-limit: GET /a has no limit"]),
        ("rate_limit: none\n", "no-limit", vec![]),
        (
            "rate_limit: none\n",
            "limits-off",
            vec!["3 note limits-off: GET /a has no limit: it is switched off on purpose"],
        ),
        ("rate_limit: { algorithm: gcra, capacity: 1, refill_rate: 1 }\n", "no-limit", vec![]),
        ("rate_limit: { algorithm: gcra, capacity: 1, refill_rate: 1 }\n", "limits-off", vec![]),
    ];
    for (root, code, expected) in table {
        assert_eq!(lines(&document(root), code), expected, "{root} {code}");
    }
}

#[test]
fn what_no_operation_names_needs_a_limit_if_it_is_forwarded() {
    let limit = "rate_limit: { algorithm: gcra, capacity: 1, refill_rate: 1";
    let said = "1 warning unlimited-unmatched: `unmatched` is `forward`, and what no operation names is not limited at all";
    let table = [
        ("unmatched: forward\n".to_owned(), vec![said]),
        (format!("unmatched: forward\n{limit}, mode: shadow }}\n"), vec![said]),
        (format!("unmatched: forward\n{limit} }}\n"), vec![]),
        ("unmatched: reject\n".to_owned(), vec![]),
    ];
    for (settings, expected) in table {
        let document = format!("tollgate: 1\n{settings}routes: [{{ path: /a }}]\n");
        assert_eq!(lines(&document, "unlimited-unmatched"), expected, "{settings}");
    }
}

#[test]
fn shares_that_are_smaller_than_a_cost() {
    let limit = |capacity: u64, more: &str| {
        format!("      - {{ name: x, algorithm: gcra, capacity: {capacity}, refill_rate: 1, {more} }}\n")
    };
    let quarter = "when_store_fails: local 1/4";
    let cases: [(String, &[&str]); 10] = [
        (limit(4, quarter), &[]),
        (
            limit(3, quarter),
            &[
                "5 warning share-too-small: while the shared store fails, 1/4 of `x` is 0 in each process, and a request costs 1: it gets a 503",
            ],
        ),
        (limit(3, "when_store_fails: local"), &[]),
        (limit(3, "when_store_fails: deny"), &[]),
        (limit(3, "when_store_fails: local 1/4, scope: local"), &[]),
        (limit(3, "when_store_fails: local 1/4, mode: shadow"), &[]),
        (
            limit(8, "when_store_fails: local 1/4, cost: { header: x-cost, max: 5 }"),
            &[
                "5 warning share-too-small: while the shared store fails, 1/4 of `x` is 2 in each process, and a request may cost up to 5: if it costs more than 2, it gets a 503",
            ],
        ),
        (limit(8, "when_store_fails: local 1/4, cost: { reported: x-cost, estimate: 2, max: 5 }"), &[]),
        // What costs more than the whole limit has advice of its own.
        (limit(0, quarter), &[]),
        (
            limit(40, "when_store_fails: local 1/4, cost: 5, tier_overrides: { free: { capacity: 8 } }"),
            &[
                "5 warning share-too-small: while the shared store fails, 1/4 of the tier `free` of `x` is 2 in each process, and a request costs 5: it gets a 503",
            ],
        ),
    ];
    for (limits, expected) in cases {
        check("share-too-small", &[("", &limits, expected)]);
    }
}

#[test]
fn tiers_between_which_a_client_is_locked_out() {
    let limit = |capacity: u64| {
        format!(
            "      - {{ name: x, algorithm: gcra, capacity: 10, refill_rate: 1, consumer_key: ip, tier_overrides: {{ pro: {{ capacity: {capacity} }} }} }}\n"
        )
    };
    let said = "5 note long-lockout: a client that has used up `x` in the tier `pro`, and moves to no tier, waits up to 7191 s";
    check("long-lockout", &[("", &limit(7_200), &[said]), ("", &limit(3_600), &[])]);
}

#[test]
fn a_capacity_of_nothing_refuses_everything_on_purpose() {
    let none = "      - { name: x, algorithm: gcra, capacity: 0, refill_rate: 1, tier_overrides: { big: { capacity: 50 } } }\n";
    check("cost-never-fits", &[("", none, &[])]);
}

#[test]
fn costs_that_cannot_fit() {
    let limit = |cost: &str| {
        format!(
            "      - {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1, cost: {cost}, tier_overrides: {{ big: {{ capacity: 50 }} }} }}\n"
        )
    };
    let table = [
        ("5", vec![]),
        (
            "6",
            vec![
                "5 warning cost-never-fits: a request costs 6, and `x` has at most 5: it can never be granted",
            ],
        ),
        (
            "51",
            vec![
                "5 warning cost-never-fits: a request costs 51, and `x` has at most 5: it can never be granted",
                "5 warning cost-never-fits: a request costs 51, and the tier `big` of `x` has at most 50: it can never be granted",
            ],
        ),
        ("{ header: x-cost, max: 5 }", vec![]),
        (
            "{ header: x-cost, default: 6, max: 8 }",
            vec![
                "5 warning cost-never-fits: a request that does not say what it costs costs 6, and `x` has at most 5: it can never be granted",
            ],
        ),
        (
            "{ header: x-cost, max: 8 }",
            vec![
                "5 note cost-may-not-fit: a request may cost up to 8, and `x` has at most 5: what costs more can never be granted",
            ],
        ),
        (
            "{ reported: x-cost, estimate: 2, max: 8 }",
            vec![
                "5 note cost-may-not-fit: a request may cost up to 8, and `x` has at most 5: what is reported above that overdraws the key",
            ],
        ),
        (
            "{ reported: x-cost, estimate: 8, max: 8 }",
            vec![
                "5 warning cost-never-fits: a request, by its estimate, costs 8, and `x` has at most 5: it can never be granted",
            ],
        ),
        (
            "{ operations: json_array, max: 51 }",
            vec![
                "5 note cost-may-not-fit: a request may cost up to 51, and `x` has at most 5: what costs more can never be granted",
                "5 note cost-may-not-fit: a request may cost up to 51, and the tier `big` of `x` has at most 50: what costs more can never be granted",
            ],
        ),
    ];
    for (cost, expected) in table {
        let document = format!("tollgate: 1\nroutes:\n  - path: /a\n    rate_limit:\n{}", limit(cost));
        let said: Vec<_> = lines(&document, "").into_iter().filter(|line| line.contains(" cost-")).collect();
        assert_eq!(said, expected, "{cost}");
    }
}

#[test]
fn tiers_that_have_less_than_everybody() {
    let bucket = |tier: &str| {
        format!(
            "      - {{ name: x, algorithm: token_bucket, capacity: 5, refill_rate: 1, tier_overrides: {{ t: {tier} }} }}\n"
        )
    };
    let say = |respects: &str| {
        vec![format!(
            "5 warning lower-tier: the tier `t` gets less of `x` than clients without a tier: {respects}"
        )]
    };
    let table = [
        (bucket("{ capacity: 5 }"), vec![]),
        (bucket("{ capacity: 9, refill_rate: 2 }"), vec![]),
        (bucket("none"), vec![]),
        (bucket("{ capacity: 4 }"), say("4 instead of 5 at once, 64 instead of 65 in the worst minute")),
        (
            bucket("{ capacity: 90, refill_rate: 0.5 }"),
            say("1 per 2 s instead of 1 per second in the long run"),
        ),
        (
            "      - { name: x, algorithm: concurrency, limit: 5, tier_overrides: { t: { limit: 4 } } }\n"
                .into(),
            say("4 instead of 5 at the same time"),
        ),
        (
            "      - { name: x, algorithm: concurrency, limit: 5, tier_overrides: { t: { limit: 5 } } }\n"
                .into(),
            vec![],
        ),
    ];
    for (limits, expected) in table {
        let document = format!("tollgate: 1\nroutes:\n  - path: /a\n    rate_limit:\n{limits}");
        assert_eq!(lines(&document, "lower-tier"), expected, "{limits}");
    }
}

#[test]
fn tiers_are_compared_with_the_default_tier() {
    let limit = |gold: u64| {
        format!(
            "      - {{ name: x, algorithm: token_bucket, capacity: 100, refill_rate: 1, tier_overrides: {{ free: {{ capacity: 10 }}, gold: {{ capacity: {gold} }} }} }}\n"
        )
    };
    let say = |line: u64, tier: &str, capacity: u64, base: u64| {
        let (minute, of_base) = (capacity + 60, base + 60);
        format!(
            "{line} warning lower-tier: the tier `{tier}` gets less of `x` than clients without a tier: {capacity} instead of {base} at once, {minute} instead of {of_base} in the worst minute"
        )
    };
    let free = "tiers: { default: free }\n";
    check(
        "lower-tier",
        &[
            (free, &limit(200), &[]),
            (free, &limit(10), &[]),
            (free, &limit(9), &[&say(6, "gold", 9, 10)]),
            // A default tier without numbers of its own has those of everybody.
            ("tiers: { default: other }\n", &limit(200), &[&say(6, "free", 10, 100)]),
            ("", &limit(200), &[&say(5, "free", 10, 100)]),
        ],
    );
}

#[test]
fn tiers_that_nobody_has() {
    let limit = "      - { name: x, algorithm: gcra, capacity: 5, refill_rate: 1, tier_overrides: { t: { capacity: 9 } } }\n";
    let said: &[&str] = &[
        "5 note tiers-without-source: the tier `t` of `x` never applies: nothing says which tier a client has",
    ];
    check(
        "tiers-without-source",
        &[
            ("", limit, said),
            ("", LOG, &[]),
            ("consumers: c.csv\n", limit, &[]),
            ("tiers: { default: t }\n", limit, &[]),
            (
                "tiers: { from: 'header:x-tier' }\ntrusted_proxies: { header: X-Forwarded-For, hops: 1 }\n",
                limit,
                &[],
            ),
        ],
    );
}

#[test]
fn boundaries_that_admit_twice_the_limit() {
    let one = |text: &str| format!("      - {{ name: x, {text} }}\n");
    let table = [
        (
            "algorithm: fixed_window, limit: 5, window: 1m",
            "up to 10 within 1 min: the limit before a boundary, and again after it",
        ),
        ("algorithm: fixed_window, limit: 5, window: calendar day", ""),
        ("algorithm: fixed_window, limit: 0, window: 1m", ""),
        (
            "algorithm: sliding_window, limit: 5, window: 1h",
            "up to 9 within 1 h: what came late in the window before weighs too little",
        ),
        ("algorithm: sliding_window, limit: 1, window: 1h", ""),
        ("algorithm: sliding_window, limit: 5, window: 1h, buckets: 6", ""),
        ("algorithm: sliding_window_log, limit: 5, window: 1h", ""),
        ("algorithm: token_bucket, capacity: 5, refill_rate: 1", ""),
    ];
    for (text, said) in table {
        let said = format!("5 note window-boundary: `x` admits {said}");
        let expected: &[&str] = if said.ends_with("admits ") { &[] } else { &[&said] };
        check("window-boundary", &[("", &one(text), expected)]);
    }
}

#[test]
fn logs_that_need_much_memory() {
    let log = |limit: u64, tier: u64| {
        format!(
            "      - {{ name: x, algorithm: sliding_window_log, limit: {limit}, window: 1m, tier_overrides: {{ t: {{ limit: {tier} }} }} }}\n"
        )
    };
    check(
        "large-log",
        &[
            ("", &log(1_024, 1_024), &[]),
            (
                "",
                &log(1_025, 1_024),
                &[
                    "5 note large-log: `x` may need 16400 bytes for each key: 16 for each request in its window",
                ],
            ),
            (
                "",
                &log(5, 2_000),
                &[
                    "5 note large-log: the tier `t` of `x` may need 32000 bytes for each key: 16 for each request in its window",
                ],
            ),
            ("", "      - { algorithm: sliding_window, limit: 5000, window: 1m }\n", &[]),
        ],
    );
}

#[test]
fn waits_of_hours() {
    let table = [
        ("algorithm: gcra, capacity: 1, refill_rate: 1 per hour", ""),
        ("algorithm: gcra, capacity: 1, refill_rate: 7 per day", "waits 206 min for each further request"),
        (
            "algorithm: token_bucket, capacity: 9, refill_rate: 1 per 2 h",
            "waits 2 h for each further request",
        ),
        ("algorithm: sliding_window_log, limit: 5, window: 1h", ""),
        ("algorithm: sliding_window_log, limit: 5, window: 61m", "may wait 61 min for a further request"),
        ("algorithm: sliding_window_log, limit: 5, window: 12h", "may wait 12 h for a further request"),
        ("algorithm: sliding_window, limit: 5, window: 7h", "may wait 7 h for a further request"),
        ("algorithm: sliding_window, limit: 5, window: 7h, buckets: 7", "may wait 7 h for a further request"),
        ("algorithm: fixed_window, limit: 5, window: 1 day", "may wait 1 day for a further request"),
        ("algorithm: fixed_window, limit: 5, window: calendar day", ""),
    ];
    for (text, said) in table {
        let said = format!("5 note long-wait: a client that has exhausted `x` {said}");
        let expected: &[&str] = if said.ends_with("` ") { &[] } else { &[&said] };
        check("long-wait", &[("", &format!("      - {{ name: x, {text} }}\n"), expected)]);
    }
}

#[test]
fn queues_with_places_that_nobody_can_use() {
    let queue = "      - { name: x, algorithm: leaky_bucket_queue, refill_rate: 10";
    let said = "5 warning long-queue: `x` has 21 places, and only 20 requests leave within 2 s";
    let tier =
        "5 warning long-queue: the tier `pro` of `x` has 30 places, and only 20 requests leave within 2 s";
    let tiers =
        format!("{queue}, capacity: 20, max_wait: 2s, tier_overrides: {{ pro: {{ capacity: 30 }} }} }}\n");
    check(
        "long-queue",
        &[
            ("", &format!("{queue}, capacity: 20, max_wait: 2s }}\n"), &[]),
            ("", &format!("{queue}, capacity: 2000 }}\n"), &[]),
            ("", &format!("{queue}, capacity: 21, max_wait: 2s }}\n"), &[said]),
            ("", &tiers, &[tier]),
        ],
    );
}

#[test]
fn lines_of_which_each_key_has_one() {
    let queue = "      - { name: x, algorithm: leaky_bucket_queue, capacity: 5, refill_rate: 10";
    let said = "5 warning one-line: `x` has one line for each key: `fair_by` is what `consumer_key` is";
    check(
        "one-line",
        &[
            ("", &format!("{queue}, consumer_key: ip, fair_by: ip }}\n"), &[said]),
            ("", &format!("{queue}, consumer_key: everyone, fair_by: ip }}\n"), &[]),
            ("", &format!("{queue}, consumer_key: ip }}\n"), &[]),
        ],
    );
}

#[test]
fn limits_for_everyone_that_are_lower_than_what_one_client_is_promised() {
    let limits = |all: u64, mode: &str| {
        format!(
            "      - {{ name: all, algorithm: concurrency, limit: {all}, consumer_key: everyone, mode: {mode} }}\n      - \
             {{ name: x, algorithm: concurrency, limit: 10, consumer_key: ip, tier_overrides: {{ pro: {{ limit: 50 }} }} }}\n"
        )
    };
    let said = "5 warning low-concurrency: `all` admits 49 at the same time from everyone together, and `x` promises 50 to the tier `pro`";
    check(
        "low-concurrency",
        &[
            ("", &limits(50, "enforced"), &[]),
            ("", &limits(49, "enforced"), &[said]),
            ("", &limits(49, "shadow"), &[]),
            // Then nothing is admitted at all, on purpose.
            ("", &limits(0, "enforced"), &[]),
        ],
    );
}
