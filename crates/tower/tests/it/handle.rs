//! The layer's handle: limits that are replaced while the service runs, and keys that an operator names.

use std::net::IpAddr;

use http::HeaderName;
use tollgate::{Limit, Limiter, Micros};
use tollgate_tower::{
    HeaderFormats, KeyExtractor, LimitsHandle, ResponseConfig, Rule, RuleKey, Rules, TollgateLayer,
};

use crate::support::{PEER, get, limiter, policy, request, run, send};

fn bucket(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, 1, Micros::DAY).expect("it fits")
}

fn rules(limiter: &Limiter, capacity: u64) -> Rules {
    Rules::new(limiter.clone(), [Rule::new("a", bucket(capacity))]).expect("a rule")
}

#[test]
fn limits_are_replaced_live_and_keep_what_clients_have_used() {
    let (limiter, _) = limiter();
    let layer = TollgateLayer::new(rules(&limiter, 2)).with_peer(PEER);
    let (handle, clone) = (layer.handle(), layer.clone());
    assert_eq!([get(&layer, "/").status, get(&layer, "/").status, get(&layer, "/").status], [200, 200, 429]);
    handle.replace(rules(&limiter, 5));
    assert_eq!(get(&clone, "/").parameter("ratelimit", "r"), 2, "three of five are used");
    // What responses show stays, whatever the limits are.
    let generations = HeaderFormats { draft: false, x_ratelimit: true, triple: false };
    handle.configure_responses(ResponseConfig { generations, ..ResponseConfig::default() });
    handle.replace(rules(&limiter, 9));
    let told = get(&layer, "/");
    assert_eq!((told.field("ratelimit"), told.number("x-ratelimit-remaining")), ("", 5));
    assert_eq!(
        handle.enforcer().rules().and_then(|rules| rules.limit("a")).map(|limit| limit.limit()),
        Some(bucket(9))
    );
    // A policy in place of rules.
    let text = "tollgate: 1\nroutes: [{ path: /, rate_limit: { name: p, algorithm: token_bucket, capacity: 3, refill_rate: 1 } }]";
    handle.replace(crate::support::limits(&limiter, text));
    assert_eq!(get(&layer, "/").number("x-ratelimit-remaining"), 2);
}

fn left(handle: &LimitsHandle, rule: &str, key: RuleKey<'_>) -> u64 {
    run(handle.inspect(rule, key)).unwrap_or_else(|error| unreachable!("{error}")).decision.remaining
}

/// The same key as a request's, for every kind of rule.
#[test]
fn an_operator_inspects_and_resets_the_keys_of_rules() {
    let (limiter, _) = limiter();
    let user = HeaderName::from_static("x-user");
    let verified =
        |head: &tollgate_tower::RequestHead<'_>| Some(head.headers.get("x-verified")?.as_bytes().to_vec());
    let rules = [
        Rule::new("per client", bucket(10)),
        Rule::new("per user", bucket(20)).keyed_by(KeyExtractor::header(user)),
        Rule::new("per account", bucket(30)).keyed_by(KeyExtractor::from_fn(verified)),
        Rule::new("in all", bucket(40)).keyed_by(KeyExtractor::everyone()),
    ];
    let layer = TollgateLayer::new(Rules::new(limiter, rules).expect("rules")).with_peer(PEER);
    let handle = layer.handle();
    let ask = |headers: &[(&str, &str)]| assert_eq!(send(&layer, request("GET", "/", headers)).status, 200);
    ask(&[("x-user", "ada"), ("x-verified", "42")]);
    ask(&[]);
    let client = PEER.to_string();
    let table: [(&str, RuleKey<'_>, u64); 8] = [
        ("per client", client.as_str().into(), 8),
        ("per client", PEER.into(), 8),
        ("per client", "203.0.113.77".into(), 10),
        ("per user", "ada".into(), 19),
        ("per user", PEER.into(), 19),
        ("per account", "42".into(), 29),
        ("per account", PEER.into(), 29),
        ("in all", "".into(), 38),
    ];
    for (rule, key, remaining) in table {
        assert_eq!(left(&handle, rule, key), remaining, "{rule}: {key:?}");
    }
    for (rule, key, _) in table {
        run(handle.reset(rule, key)).expect("it is a key");
    }
    for (rule, key, remaining) in table {
        assert_eq!(left(&handle, rule, key), remaining.next_multiple_of(10), "{rule}: {key:?}");
        assert!(!run(handle.reset(rule, key)).expect("it is a key"), "it was reset before");
    }
    ask(&[("x-user", "ada")]);
    assert_eq!(left(&handle, "per client", PEER.into()), 9, "it was reset");
    // A whole network of IPv6 is one client.
    let [one, other] = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse::<IpAddr>().expect("an address"));
    let other_client = layer.clone().with_peer(one);
    assert_eq!(get(&other_client, "/").status, 200);
    assert_eq!(left(&handle, "per client", other.into()), 9);
}

#[test]
fn a_key_that_no_rule_can_have_is_an_error_that_says_so() {
    let (limiter, _) = limiter();
    let rules = [
        Rule::new("per client", bucket(1)),
        Rule::new("per user", bucket(1)).keyed_by(KeyExtractor::header(HeaderName::from_static("x-user"))),
        Rule::new("in all", bucket(1)).keyed_by(KeyExtractor::everyone()),
    ];
    let handle = TollgateLayer::new(Rules::new(limiter.clone(), rules).expect("rules")).handle();
    let why = |rule: &str, key: &str| run(handle.reset(rule, key)).expect_err("it is no key").to_string();
    assert_eq!(
        why("per ip", "x"),
        "no rule is named `per ip`; the rules are `per client`, `per user`, `in all`"
    );
    assert_eq!(
        why("per client", "x\n"),
        "the rule `per client` counts by client address, and `x\\u{a}` is not an IP address"
    );
    assert!(why("per user", "").ends_with("give the address, as an `IpAddr`"));
    assert_eq!(
        why("in all", "x"),
        "the rule `in all` counts all clients together: its only key is the empty one, `\"\"`"
    );
    let text = "tollgate: 1\nroutes: [{ path: /, rate_limit: { name: p, algorithm: token_bucket, capacity: 3, refill_rate: 1 } }]";
    let handle = policy(&limiter, text).handle();
    let error = run(handle.inspect("p", "203.0.113.9")).expect_err("it is no rule");
    assert!(error.to_string().contains("policy document"), "{error}");
}
