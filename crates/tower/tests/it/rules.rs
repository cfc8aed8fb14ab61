//! Limits written in Rust: whose budget, at what cost, and what is wrong with some.

use tollgate::{Limit, Limiter, Micros};
use tollgate_http::trusted::{ForwardHeader, TrustedProxies};
use tollgate_tower::{KeyExtractor, NAME_CHARS_MAX, Rule, Rules, RulesError, TollgateLayer};

use crate::support::{PEER, limiter, request, send};

fn bucket(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, 1, Micros::DAY).expect("it fits")
}

fn layer(limiter: &Limiter, rules: impl IntoIterator<Item = Rule>) -> TollgateLayer {
    TollgateLayer::new(Rules::new(limiter.clone(), rules).expect("they are right")).with_peer(PEER)
}

/// One request each, to a limit of one: who shares a budget with somebody before is refused.
#[test]
fn a_rule_charges_whom_it_says() {
    let user = || http::HeaderName::from_static("x-user");
    let key = || {
        KeyExtractor::from_fn(|parts| {
            let user = parts.headers.get("x-user")?;
            user.to_str().ok()?.split_once('@').map(|(_, domain)| domain.as_bytes().to_vec())
        })
    };
    type Asked = (&'static [(&'static str, &'static str)], u16);
    let table: [(KeyExtractor, &[Asked]); 4] = [
        (KeyExtractor::address(), &[(&[], 200), (&[("x-user", "a")], 429)]),
        (KeyExtractor::everyone(), &[(&[], 200), (&[("x-user", "a")], 429)]),
        (
            KeyExtractor::header(user()),
            &[
                (&[("x-user", "a")], 200),
                (&[("x-user", "a")], 429),
                (&[("x-user", "b")], 200),
                // Without it, the address: never unlimited.
                (&[], 200),
                (&[("x-user", "")], 429),
                (&[("x-user", "c"), ("x-user", "d")], 400),
            ],
        ),
        (
            key(),
            &[
                (&[("x-user", "a@x")], 200),
                (&[("x-user", "b@x")], 429),
                (&[("x-user", "b@y")], 200),
                (&[("x-user", "nobody")], 200),
                (&[("x-user", "c@")], 429),
            ],
        ),
    ];
    for (by, asked) in table {
        let (limiter, _) = limiter();
        let shown = format!("{by:?}");
        let layer = layer(&limiter, [Rule::new("a", bucket(1)).keyed_by(by)]);
        for (headers, status) in asked {
            assert_eq!(send(&layer, request("GET", "/", headers)).status, *status, "{shown}: {headers:?}");
        }
    }
}

#[test]
fn an_address_is_taken_over_trusted_proxies_only() {
    let spoofed = |proxies: TrustedProxies| {
        let (limiter, _) = limiter();
        let rules = Rules::new(limiter, [Rule::new("a", bucket(1))]).expect("they are right");
        let layer = TollgateLayer::new(rules.trusted_proxies(proxies)).with_peer(PEER);
        ["192.0.2.1", "192.0.2.2"]
            .map(|client| send(&layer, request("GET", "/", &[("x-forwarded-for", client)])).status)
    };
    assert_eq!(spoofed(TrustedProxies::None), [200, 429]);
    assert_eq!(spoofed(TrustedProxies::hops(1, ForwardHeader::XForwardedFor).expect("one hop")), [200, 200]);
}

#[test]
fn costs_are_fixed_or_told_and_shadow_rules_refuse_nobody() {
    let (limiter, _) = limiter();
    let cost = |head: &tollgate_tower::RequestHead<'_>| if head.method == "POST" { 5 } else { 1 };
    let limits = [
        Rule::new("told", bucket(8)).cost_of(cost),
        Rule::new("fixed", bucket(30)).cost(3),
        Rule::new("shadow", bucket(1)).shadow(),
        Rule::new("hidden", bucket(1_000)).hidden(),
    ];
    let layer = layer(&limiter, limits);
    let ask = |method: &str| send(&layer, request(method, "/", &[]));
    assert_eq!(ask("POST").field("ratelimit"), "\"told\";r=3;t=432000, \"fixed\";r=27;t=259200");
    assert_eq!(ask("GET").field("ratelimit"), "\"told\";r=2;t=518400, \"fixed\";r=24;t=518400");
    let refused = ask("POST");
    assert_eq!(
        (refused.status, &refused.problem()["violated-policies"]),
        (429, &serde_json::json!(["told"]))
    );
    assert_eq!(ask("GET").status, 200, "nothing was charged for the refusal");
}

#[test]
fn what_is_wrong_with_rules_is_said_in_a_sentence() {
    let (limiter, _) = limiter();
    let why =
        |rules: Vec<Rule>| Rules::new(limiter.clone(), rules).map(|_| ()).map_err(|error| error.to_string());
    let named = |name: &str| vec![Rule::new(name, bucket(1))];
    let sentence = |name: &str| {
        Err(format!("`{name}` is not a valid name for a rule: use 1 to 200 characters of printable ASCII"))
    };
    assert_eq!(why(named("")), sentence(""));
    assert_eq!(why(named("a\r\nx: y")), sentence("a\\u{d}\\u{a}x: y"));
    assert_eq!(why(named("é")), sentence("é"));
    assert_eq!(why(named(&"x".repeat(NAME_CHARS_MAX))), Ok(()));
    assert!(why(named(&"x".repeat(NAME_CHARS_MAX + 1))).is_err());
    let twice = vec![Rule::new("a", bucket(1)), Rule::new("a", bucket(2))];
    assert_eq!(
        why(twice),
        Err("two rules are named `a` and would share their keys: give each its own name".into())
    );
    let many = |count: usize, key: KeyExtractor| {
        let rule = |number: usize| Rule::new(number.to_string(), bucket(1)).keyed_by(key.clone());
        (0..count).map(rule).collect::<Vec<_>>()
    };
    let (everyone, address) = (KeyExtractor::everyone(), KeyExtractor::address());
    assert_eq!(why(many(tollgate::HITS_MAX, everyone.clone())), Ok(()));
    assert_eq!(why(many(tollgate::HITS_MAX / 2, address.clone())), Ok(()));
    let error = Rules::new(limiter.clone(), many(tollgate::HITS_MAX + 1, everyone)).map(|_| ());
    assert_eq!(error, Err(RulesError::TooMany { rules: 33 }));
    assert_eq!(
        why(many(17, address)),
        Err("17 rules are too many: at most 32 can be charged together, and at most 16 of them may charge an address".into())
    );
    assert_eq!(why(Vec::new()), Ok(()));
}
