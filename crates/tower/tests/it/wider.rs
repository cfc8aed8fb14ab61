//! Wider limits, of an address with all its keys and of a network with all its addresses: when clients see them, and as what.

use std::net::{IpAddr, Ipv6Addr};

use http::{Response, StatusCode};
use http_body_util::Full;
use serde_json::json;
use tollgate::{Limit, Limiter, Micros};
use tollgate_http::address::Prefixes;
use tollgate_tower::{KeyExtractor, Rule, Rules, TollgateLayer};

use crate::support::{PEER, Told, get, limiter, limits, policy, request, send, send_to};

/// One of four clients of a network of 62 bits.
fn client(number: u16) -> IpAddr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, number, 0, 0, 0, 1).into()
}

/// What a refusal says: its status and wait, the lists, the fields for one limit, and the names in its body.
fn refusal(told: &Told) -> (u16, &str, &str, [&str; 2], serde_json::Value) {
    let one = ["x-ratelimit-limit", "x-ratelimit-remaining"].map(|name| told.field(name));
    (
        told.status,
        told.field("retry-after"),
        told.field("ratelimit"),
        one,
        told.problem()["violated-policies"].clone(),
    )
}

#[test]
fn a_ceiling_refuses_under_its_own_name_with_its_own_numbers() {
    let (limiter, _) = limiter();
    let layer = policy(
        &limiter,
        "
tollgate: 1
rate_limit: { name: login, algorithm: token_bucket, capacity: 3, refill_rate: 1 per 100 s, address_ceiling: 2 }
routes: [{ path: / }]
",
    );
    let ask = |key: &str| send(&layer, request("GET", "/", &[("x-api-key", key)]));
    for key in ["a", "b", "c", "d"] {
        let told = ask(key);
        let wanted = (200, "\"login\";q=3;w=300", "\"login\";r=2;t=100", "2");
        let fields = ["ratelimit-policy", "ratelimit", "x-ratelimit-remaining"].map(|name| told.field(name));
        assert_eq!((told.status, fields[0], fields[1], fields[2]), wanted, "as much remains of the ceiling");
    }
    // A grant tells of the smallest quota.
    let told = ask("e");
    assert_eq!(told.field("ratelimit-policy"), "\"login\";q=3;w=300, \"login (address)\";q=6;w=300");
    assert_eq!(told.field("ratelimit"), "\"login\";r=2;t=100, \"login (address)\";r=1;t=250");
    assert_eq!(told.field("x-ratelimit-remaining"), "1");
    assert_eq!(ask("f").field("x-ratelimit-remaining"), "0");
    let told = ask("g");
    let list = "\"login\";r=3;t=0, \"login (address)\";r=0;t=50";
    assert_eq!(refusal(&told), (429, "50", list, ["6", "0"], json!(["login (address)"])));
    let policies = &told.problem()["policies"];
    assert_eq!(policies[1], json!({ "name": "login (address)", "limit": 6, "remaining": 0, "reset": 300 }));
    let detail = "Rate limit 'login (address)' exceeded. Retry in 50 s.";
    assert_eq!(told.problem()["detail"], detail);
}

#[test]
fn a_hidden_limit_has_hidden_wider_limits() {
    let (limiter, _) = limiter();
    let text = "
tollgate: 1
rate_limit: { name: login, algorithm: token_bucket, capacity: 1, refill_rate: 1 per 100 s, address_ceiling: 1, visibility: hidden }
routes: [{ path: / }]
";
    let layer = policy(&limiter, text);
    let ask = |key: &str| send(&layer, request("GET", "/", &[("x-api-key", key)]));
    assert_eq!((ask("a").status, ask("b").status), (200, 429));
    let told = ask("c");
    assert_eq!((told.field("ratelimit"), &told.problem()["violated-policies"]), ("", &json!([])));
}

const NETWORKS: &str = "
tollgate: 1
addresses: { ipv6_wide_prefix: 62, ipv6_wide_multiple: 2 }
rate_limit: { name: login, algorithm: token_bucket, capacity: 2, refill_rate: 1 per 100 s, KEY }
routes: [{ path: / }]
";

#[test]
fn a_network_refuses_under_its_own_name_with_its_own_numbers() {
    let (limiter, _) = limiter();
    let text = NETWORKS.replace("KEY", "consumer_key: ip");
    let ask = |number| get(&TollgateLayer::new(limits(&limiter, &text)).with_peer(client(number)), "/");
    assert_eq!(ask(0).field("ratelimit"), "\"login\";r=1;t=100");
    assert_eq!(ask(0).field("ratelimit"), "\"login\";r=0;t=200");
    assert_eq!(ask(1).field("ratelimit"), "\"login\";r=1;t=100");
    assert_eq!(ask(2).field("ratelimit"), "\"login\";r=1;t=100, \"login (network)\";r=0;t=200");
    let told = ask(3);
    let list = "\"login\";r=2;t=0, \"login (network)\";r=0;t=50";
    assert_eq!(refusal(&told), (429, "50", list, ["4", "0"], json!(["login (network)"])));
    assert_eq!(told.field("ratelimit-policy"), "\"login\";q=2;w=200, \"login (network)\";q=4;w=200");
}

/// What a network owes for identities that were denied is refused by the network's numbers, and not by the limit's own name.
#[test]
fn a_network_that_owes_for_denied_identities_refuses_as_itself() {
    let by_rules = |limiter: &Limiter| {
        let limit = Limit::token_bucket(2, 1, Micros::from_secs(100)).expect("it fits");
        let user = KeyExtractor::header(http::HeaderName::from_static("x-user"));
        let rules = Rules::new(limiter.clone(), [Rule::new("login", limit).keyed_by(user)]).expect("rules");
        TollgateLayer::new(rules.prefixes(Prefixes::new(32, 64, Some(62)).expect("prefixes")))
    };
    let by_document = |limiter: &Limiter| {
        TollgateLayer::new(limits(limiter, &NETWORKS.replace("KEY", "consumer_key: 'header:X-User'")))
    };
    let both: [&dyn Fn(&Limiter) -> TollgateLayer; 2] = [&by_document, &by_rules];
    for layer in both {
        let (limiter, _) = limiter();
        let ask = |number, user| {
            let layer = layer(&limiter).with_peer(client(number));
            send_to(&layer, request("GET", "/", &[("x-user", user)]), |_| {
                let mut response = Response::new(Full::default());
                *response.status_mut() = StatusCode::UNAUTHORIZED;
                response
            })
        };
        for (number, user) in [(0, "a"), (0, "b"), (1, "c"), (1, "d")] {
            assert_eq!(ask(number, user).status, 401);
        }
        // Its own address owes nothing, but the network does.
        let told = ask(2, "e");
        let list = "\"login (network)\";r=0;t=50";
        assert_eq!(refusal(&told), (429, "50", list, ["4", "0"], json!(["login (network)"])));
        // An address that owes has the limit itself.
        let told = ask(0, "f");
        assert_eq!(told.problem()["violated-policies"], json!(["login"]));
        assert_eq!(told.field("ratelimit"), "\"login\";r=0;t=100");
    }
}

#[test]
fn rules_by_address_have_a_wide_limit_as_documents_have() {
    let one = Limit::token_bucket(1, 1, Micros::from_secs(100)).expect("it fits");
    let granted = |prefixes: Option<Prefixes>, key: KeyExtractor, clients: u16| {
        let (limiter, _) = limiter();
        let rules = Rules::new(limiter, [Rule::new("a", one).keyed_by(key)]).expect("rules");
        let layer = TollgateLayer::new(match prefixes {
            Some(prefixes) => rules.prefixes(prefixes),
            None => rules,
        });
        let ask = |number| get(&layer.clone().with_peer(client(number)), "/").status;
        (0..clients).filter(|number| ask(*number) == 200).count()
    };
    let narrow = Prefixes::new(32, 64, Some(62)).ok();
    let none = Prefixes::new(32, 64, None).ok();
    assert_eq!(granted(narrow, KeyExtractor::address(), 4), 2, "the square root of four");
    assert_eq!(granted(none, KeyExtractor::address(), 4), 4);
    assert_eq!(granted(None, KeyExtractor::address(), 300), 256, "a /48 of /64s");
    let absent = KeyExtractor::header(http::HeaderName::from_static("x-user"));
    assert_eq!(granted(narrow, absent, 4), 2, "without the header, the address");
    assert_eq!(granted(narrow, KeyExtractor::from_fn(|_| Some(b"known".to_vec())), 4), 1);
    let (limiter, _) = limiter();
    let layer = TollgateLayer::new(Rules::new(limiter, [Rule::new("a", one)]).expect("rules"));
    let told = get(&layer.with_peer(PEER), "/");
    assert_eq!(told.field("ratelimit"), "\"a\";r=0;t=100", "IPv4 has no wide network");
}
