//! Advice about keys, traffic and upkeep by small documents: what is said, and when nothing is.

use super::lines;

/// What is said with this code of a route with these limits, after these settings.
fn check(code: &str, table: &[(&str, &str, &[&str])]) {
    for (settings, limits, expected) in table {
        let document = format!("tollgate: 1\n{settings}routes:\n  - path: /a\n    rate_limit:\n{limits}");
        assert_eq!(lines(&document, code), *expected, "{document}");
    }
}

fn by(key: &str, more: &str) -> String {
    format!(
        "      - {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: {key}{more} }}\n"
    )
}

#[test]
fn keys_that_a_client_can_choose() {
    let said = |severity: &str, what: &str| {
        format!(
            "{severity} claimed-key: `x` is counted by `{what}`, which a client can choose: a new value is a new budget"
        )
    };
    let ip = "      - { name: y, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ip }\n";
    let shadow =
        "      - { name: y, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ip, mode: shadow }\n";
    let everyone =
        "      - { name: y, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: everyone }\n";
    let warn = |what: &str| vec![said("5 warning", what)];
    let table = [
        ("", by("[api_key, ip]", ""), warn("api_key")),
        ("", by("'header:x-user'", ""), warn("header:x-user")),
        ("", by("'cookie:sid'", ""), warn("cookie:sid")),
        ("", by("'query:key'", ""), warn("query:key")),
        ("", by("'jwt_unverified:sub'", ""), warn("jwt_unverified:sub")),
        ("", by("'ip + header:x-user'", ""), warn("header:x-user")),
        ("consumers: c.csv\n", by("[consumer, 'cookie:sid', ip]", ""), vec![said("6 warning", "cookie:sid")]),
        ("consumers: c.csv\n", by("[api_key, ip]", ""), vec![]),
        ("consumers: c.csv\n", by("'header:x-user'", ""), vec![said("6 warning", "header:x-user")]),
        ("", by("api_key", ", address_ceiling: 10"), vec![]),
        ("", by("ip", ""), vec![]),
        ("", by("everyone", ""), vec![]),
        ("", format!("{}{ip}", by("api_key", "")), vec![said("5 note", "api_key")]),
        ("", format!("{}{everyone}", by("api_key", "")), vec![said("5 note", "api_key")]),
        ("", format!("{}{shadow}", by("api_key", "")), warn("api_key")),
    ];
    for (settings, limits, expected) in table {
        let document = format!("tollgate: 1\n{settings}routes:\n  - path: /a\n    rate_limit:\n{limits}");
        assert_eq!(lines(&document, "claimed-key"), expected, "{document}");
    }
}

#[test]
fn a_claimed_key_is_a_note_only_where_every_operation_has_a_sure_limit() {
    let document = |second: &str| {
        format!(
            "tollgate: 1
tags:
  t: {{ rate_limit: {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1 }} }}
  ip: {{ rate_limit: {{ algorithm: gcra, capacity: 50, refill_rate: 10, consumer_key: ip }} }}
routes:
  - {{ path: /a, tags: [t, ip] }}
  - {{ path: /b, tags: {second} }}
"
        )
    };
    let severity = |second| lines(&document(second), "claimed-key")[0].split(' ').nth(1).map(str::to_owned);
    assert_eq!(severity("[t, ip]").as_deref(), Some("note"));
    assert_eq!(severity("[t]").as_deref(), Some("warning"));
}

const UNREACHABLE: &str = "6 warning unreachable-limit: `slow` never refuses anything: `fast` (10 in any 1 s, exactly) refuses first";

fn log(name: &str, limit: u64, window: &str, more: &str) -> String {
    format!(
        "      - {{ name: {name}, algorithm: sliding_window_log, limit: {limit}, window: {window}, consumer_key: ip{more} }}\n"
    )
}

#[test]
fn limits_that_another_makes_unreachable() {
    let fast = log("fast", 10, "1s", "");
    let said = UNREACHABLE;
    let noted = "7 note unreachable-limit: `slow` never refuses anything: `fast` (10 in any 1 s, exactly) refuses first, unless a consumer has numbers of its own";
    let slow = |more: &str| format!("{fast}{}", log("slow", 600, "1m", more));
    let table: [(&str, String, Vec<&str>); 13] = [
        ("", slow(""), vec![said]),
        ("consumers: c.csv\n", slow(""), vec![noted]),
        ("", format!("{fast}{}", log("slow", 599, "1m", "")), vec![]),
        ("", slow(", mode: shadow"), vec![]),
        ("", slow(", cost: 2"), vec![]),
        ("", slow(", counted: per_operation"), vec![]),
        ("", slow(", when_store_fails: deny"), vec![]),
        ("", slow(", scope: local"), vec![]),
        ("", slow(", missing_key: reject"), vec![]),
        ("", slow(", address_ceiling: 2"), vec![]),
        ("", format!("{}{}", log("fast", 10, "1s", ", mode: shadow"), log("slow", 600, "1m", "")), vec![]),
        (
            "",
            format!(
                "{}{}",
                log("fast", 10, "1s", ", scope: leased"),
                log("slow", 600, "1m", ", scope: leased")
            ),
            vec![],
        ),
        (
            "",
            format!("{}{}", log("one", 10, "1s", ""), log("two", 10, "1s", "")),
            vec![
                "6 warning unreachable-limit: `two` never refuses anything: `one` (10 in any 1 s, exactly) refuses first",
            ],
        ),
    ];
    for (settings, limits, expected) in table {
        check("unreachable-limit", &[(settings, &limits, &expected)]);
    }
}

#[test]
fn what_is_unreachable_is_so_for_every_tier() {
    let tier = |limit: &str| format!(", tier_overrides: {{ t: {limit} }}");
    let both =
        |fast: &str, slow: &str| format!("{}{}", log("fast", 10, "1s", fast), log("slow", 600, "1m", slow));
    let said =
        format!("{UNREACHABLE}; this holds for every tier, and not right after a client's tier changes");
    let table = [
        (both("", &tier("{ limit: 5 }")), false),
        (both("", &tier("{ limit: 601 }")), true),
        (both("", &tier("none")), true),
        (both(&tier("{ limit: 9 }"), ""), true),
        (both(&tier("{ limit: 11 }"), ""), false),
        (both(&tier("{ limit: 11 }"), &tier("{ limit: 660 }")), true),
        (both(&tier("none"), ""), false),
        (both(&tier("none"), &tier("none")), true),
    ];
    for (limits, unreachable) in table {
        let expected: &[&str] = if unreachable { &[&said] } else { &[] };
        check("unreachable-limit", &[("", &limits, expected)]);
    }
}

#[test]
fn months_that_days_make_unreachable() {
    let calendar = |window: &str, limit: u64| {
        format!(
            "      - {{ name: {window}, algorithm: fixed_window, limit: {limit}, window: calendar {window}, consumer_key: ip }}\n"
        )
    };
    let both = |month: u64| format!("{}{}", calendar("day", 10), calendar("month", month));
    let said = "6 warning unreachable-limit: `month` never refuses anything: `day` (10 per calendar day (UTC+00:00)) refuses first";
    check("unreachable-limit", &[("", &both(310), &[said]), ("", &both(309), &[])]);
}

#[test]
fn a_cost_that_is_reported_afterwards_makes_nothing_unreachable() {
    let log = |name: &str, limit: u64, window: &str, cost: &str| {
        format!(
            "      - {{ name: {name}, algorithm: sliding_window_log, limit: {limit}, window: {window}, cost: {cost} }}\n"
        )
    };
    let both = |cost: &str| format!("{}{}", log("fast", 10, "1s", cost), log("slow", 600, "1m", cost));
    check("unreachable-limit", &[("", &both("{ reported: x-cost, max: 10 }"), &[])]);
    let asked = both("{ header: x-cost, max: 10 }");
    let said = "6 warning unreachable-limit: `slow` never refuses anything: `fast` (10 in any 1 s, exactly) refuses first";
    check("unreachable-limit", &[("", &asked, &[said])]);
}

#[test]
fn a_limit_is_reachable_where_the_other_is_not_met() {
    let document = |second: &str| {
        format!(
            "tollgate: 1
tags:
  slow: {{ rate_limit: {{ name: slow, algorithm: gcra, capacity: 50, refill_rate: 10 }} }}
  fast: {{ rate_limit: {{ name: fast, algorithm: gcra, capacity: 5, refill_rate: 1 }} }}
routes:
  - {{ path: /a, tags: [slow, fast] }}
  - {{ path: /b, tags: {second} }}
"
        )
    };
    let said = "3 warning unreachable-limit: `slow` never refuses anything: `fast` (5 at once, then 1 per second) refuses first";
    assert_eq!(lines(&document("[slow, fast]"), "unreachable-limit"), [said]);
    assert_eq!(lines(&document("[fast]"), "unreachable-limit"), [said]);
    assert_eq!(lines(&document("[slow]"), "unreachable-limit"), [""; 0]);
}

#[test]
fn internal_and_external_traffic_under_one_limit() {
    let document = |more: &str, one: &str, other: &str| {
        format!(
            "tollgate: 1\nrate_limit: {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1{more} }}\nroutes:\n  - {{ path: /a, tags: {one} }}\n  - {{ path: /b, tags: {other} }}\n"
        )
    };
    let said = "2 warning mixed-traffic: internal and external traffic share `x`: one can use up what the other needs";
    let table: [(&str, &str, &str, &[&str]); 12] = [
        ("", "[internal]", "[public]", &[said]),
        ("", "[Internal]", "[external]", &[said]),
        ("", "[a]", "[b]", &[]),
        ("", "[internal]", "[internal, b]", &[]),
        (", counted: per_operation", "[internal]", "[]", &[]),
        ("", "[external]", "[external]", &[]),
        ("", "[external]", "[]", &[]),
        ("", "[internal, external]", "[internal]", &[]),
        ("", "[a], host: api.internal.example.org", "[a]", &[said]),
        ("", "[a], host: '*.internal'", "[a], host: api.example.org", &[said]),
        ("", "[a], host: api.internal", "[internal]", &[]),
        ("", "[a], host: internals.example.org", "[a]", &[]),
    ];
    for (more, one, other, expected) in table {
        assert_eq!(lines(&document(more, one, other), "mixed-traffic"), expected, "{more} {one} {other}");
    }
}

#[test]
fn limits_without_a_name_in_a_list() {
    let limit = |name: &str| format!("      - {{ {name}algorithm: gcra, capacity: 5, refill_rate: 1 }}\n");
    let said = |line: u64, name: &str| {
        format!(
            "{line} note unnamed-limit: `{name}` has no name, and is in a list: only its algorithm and its position identify it"
        )
    };
    check("unnamed-limit", &[("", &limit(""), &[])]);
    check("unnamed-limit", &[("", &format!("{}{}", limit("name: x, "), limit("name: y, ")), &[])]);
    let both = "5 note unnamed-limit: 2 limits, `* /a (gcra)` and others, have no name, and stand in a list: their algorithms and places are all they are known by";
    let one = said(5, "* /a (gcra)");
    check("unnamed-limit", &[("", &format!("{}{}", limit(""), limit("")), &[both])]);
    check("unnamed-limit", &[("", &format!("{}{}", limit(""), limit("name: y, ")), &[&one])]);
}

#[test]
fn tags_that_bring_one_limit_each_are_no_list() {
    let limit = "{ rate_limit: { algorithm: gcra, capacity: 5, refill_rate: 1 } }";
    let two =
        format!("tollgate: 1\ntags:\n  a: {limit}\n  b: {limit}\nroutes: [{{ path: /a, tags: [a, b] }}]\n");
    assert_eq!(lines(&two, "unnamed-limit"), [""; 0]);
    let list = "tollgate: 1\ntags:\n  a: { rate_limit: [{ algorithm: gcra, capacity: 5, refill_rate: 1 }, { algorithm: concurrency, limit: 2 }] }\nroutes: [{ path: /a, tags: [a] }]\n";
    assert_eq!(lines(list, "unnamed-limit").len(), 1);
}

#[test]
fn owners_shadows_and_what_is_to_come() {
    let limit =
        |more: &str| format!("      - {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1{more} }}\n");
    let other = "      - { name: y, algorithm: gcra, capacity: 5, refill_rate: 1, owner: '@me' }\n";
    let with = format!("{}{other}", limit(""));
    let owned = format!("{}{other}", limit(", owner: '@you'"));
    check("no-owner", &[("", &with, &["5 note no-owner: `x` has no owner, and other limits have one"])]);
    check("no-owner", &[("", &owned, &[]), ("", &limit(""), &[])]);
    check(
        "shadow-limit",
        &[("", &limit(", mode: shadow"), &["5 note shadow-limit: `x` is a shadow: counted, not enforced"])],
    );
    check("shadow-limit", &[("", &limit(""), &[])]);
    let queue =
        "      - { name: x, algorithm: leaky_bucket_queue, capacity: 5, refill_rate: 1, mode: shadow }\n";
    let said = "5 warning not-yet-enforced: `x` is counted by each process for itself: this version does not share `leaky_bucket_queue` in shadow mode between processes yet";
    check("not-yet-enforced", &[("", queue, &[said]), ("", &limit(""), &[])]);
    let scoped = |scope: &str| {
        format!(
            "5 warning not-yet-enforced: `x` is counted as if with `scope: exact`: this version does not implement `scope: {scope}` yet"
        )
    };
    let (leased, synced) = (scoped("leased"), scoped("synced"));
    check("not-yet-enforced", &[("", &limit(", scope: leased"), &[&leased])]);
    check("not-yet-enforced", &[("", &limit(", scope: synced"), &[&synced])]);
    check("not-yet-enforced", &[("", &limit(", scope: local"), &[]), ("", &limit(", scope: exact"), &[])]);
}

#[test]
fn a_free_route_that_a_client_can_choose() {
    let text = |settings: &str, limit: &str| {
        format!(
            "tollgate: 1\n{settings}routes:\n  - {{ path: /s, rate_limit: {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1, consumer_key: ip }} }}\n  - {{ path: /s, headers: {{ X-Probe: 'yes' }}, rate_limit: {limit} }}\n"
        )
    };
    let codes = |text: &str| {
        let policy = crate::Policy::parse("t.yaml", text).unwrap_or_else(|refused| panic!("{refused}"));
        let advice = crate::authoring::lint::advise(&policy);
        let chosen = advice.findings.all().iter().filter(|finding| finding.code == "client-chosen-route");
        chosen.map(|finding| finding.severity.name()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&text("", "none")), ["warning"]);
    let proxies = "trusted_proxies: { hops: 1, header: X-Forwarded-For }\n";
    assert_eq!(codes(&text(proxies, "none")), ["note"]);
    let limited = "{ name: y, algorithm: gcra, capacity: 9, refill_rate: 1, consumer_key: ip }";
    assert_eq!(codes(&text("", limited)), Vec::<&str>::new());
}

#[test]
fn a_header_that_only_trusted_proxies_may_send_is_read_where_none_is_trusted() {
    let limit =
        |more: &str| format!("      - {{ name: x, algorithm: gcra, capacity: 5, refill_rate: 1{more} }}\n");
    let said = |name: &str| {
        format!(
            "5 warning dropped-header: `x` reads `{name}`, which the gateway removes: it takes it from trusted proxies only, and none is trusted"
        )
    };
    let (address, host) = (said("x-real-ip"), said("x-host"));
    let (keyed, costly) =
        (limit(", consumer_key: 'header:X-Real-IP'"), limit(", cost: { header: X-Host, max: 5 }"));
    check(
        "dropped-header",
        &[
            ("", &keyed, &[&address]),
            ("", &costly, &[&host]),
            ("", &limit(", consumer_key: 'header:X-User'"), &[]),
        ],
    );
    let trusted = "tollgate: 1\ntrusted_proxies: { hops: 1, header: X-Forwarded-For }\nroutes:\n  - path: /a\n    rate_limit:\n";
    assert_eq!(lines(&format!("{trusted}{keyed}"), "dropped-header"), [""; 0]);
    let route = "tollgate: 1\nroutes: [{ path: /a, headers: { X-Scheme: https } }]\n";
    assert_eq!(lines(route, "dropped-header").len(), 1);
}
