//! An upstream that denies identities: whatever it answers, an address without a verified identity gets no more than its own
//! limits allow.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate::{Limit, Limiter, ManualClock, Micros};
use tollgate_engine::{Admission, Scratch};
use tollgate_tower::{KeyExtractor, Reply, RequestHead, Rule, Rules, TollgateLayer};

use crate::support::{Gateway, PEER, limiter, request, send_to};

/// What each identity may use, and the address.
const CAPACITY: u64 = 5;
/// So many requests are in flight at once: one overdraft.
const IN_FLIGHT: usize = 5;

/// Every way to say who is asking, and those that are joined with an address.
const KEYS: &[&str] = &[
    "[api_key, ip]",
    "api_key",
    "header:X-User",
    "cookie:user",
    "query:user",
    "jwt_unverified:sub",
    "ip",
    "everyone",
    "'header:X-User + ip'",
    "'ip + query:user'",
    "'api_key + header:X-User'",
    "['header:X-User + ip', api_key]",
];

const ALGORITHMS: &[&str] = &[
    "algorithm: token_bucket, capacity: 5, refill_rate: 1 per hour",
    "algorithm: leaky_bucket, capacity: 5, refill_rate: 1 per hour",
    "algorithm: gcra, capacity: 5, refill_rate: 1 per hour",
    "algorithm: fixed_window, limit: 5, window: 1h",
    "algorithm: sliding_window, limit: 5, window: 1h",
    "algorithm: sliding_window, limit: 5, window: 1h, buckets: 6",
    "algorithm: sliding_window_log, limit: 5, window: 1h",
];

fn policy(key: &str, numbers: &str, more: &str) -> String {
    format!(
        "tollgate: 1
routes:
  - path: /login
    methods: POST
    rate_limit: {{ name: login, {numbers}, consumer_key: {key}{more} }}
"
    )
}

/// A request that claims an identity in every place at once.
struct Claims {
    headers: HeaderMap,
    target: String,
}

impl Claims {
    fn of(user: &str) -> Self {
        let mut headers = HeaderMap::new();
        let mut add = |name: &'static str, value: String| {
            headers.append(HeaderName::from_static(name), HeaderValue::try_from(value).expect("a value"));
        };
        add("x-api-key", user.into());
        add("x-user", user.into());
        add("cookie", format!("user={user}"));
        // `{"alg":"none"}`, and a subject whose base64url is the same length for all.
        add("authorization", format!("Bearer eyJhbGciOiJub25lIn0.{}.", subject(user)));
        Self { headers, target: format!("/login?user={user}") }
    }

    fn ask(&self, gateway: &Gateway, scratch: &mut Scratch) -> Option<Admission> {
        self.ask_from(PEER, gateway, scratch)
    }

    fn ask_from(&self, peer: IpAddr, gateway: &Gateway, scratch: &mut Scratch) -> Option<Admission> {
        let head = RequestHead::new("POST", &self.target, &self.headers).with_peer(peer);
        match gateway.check(&head, scratch) {
            Reply::Admitted(admission) => Some(admission),
            Reply::Rejected(response) => {
                assert_eq!(response.status, 429);
                None
            }
        }
    }
}

/// `{"sub":"uN"}` as base64url, for one digit `N`.
fn subject(user: &str) -> &'static str {
    match user {
        "u0" => "eyJzdWIiOiJ1MCJ9",
        "u1" => "eyJzdWIiOiJ1MSJ9",
        "u2" => "eyJzdWIiOiJ1MiJ9",
        _ => "eyJzdWIiOiJ1MyJ9",
    }
}

/// The next of a sequence of numbers below `below`.
fn next(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*seed >> 33).expect("31 bits fit") % below
}

#[test]
fn an_upstream_that_denies_everybody_sees_no_more_than_one_limit() {
    for numbers in ALGORITHMS {
        for key in KEYS {
            let (limiter, _) = limiter();
            let gateway = Gateway::new(&limiter, &policy(key, numbers, ""));
            let mut scratch = Scratch::default();
            let mut passed = 0;
            for _ in 0..200 {
                if let Some(pass) = Claims::of("u0").ask(&gateway, &mut scratch) {
                    passed += 1;
                    gateway.finish(&pass, 401);
                }
            }
            assert_eq!(passed, CAPACITY, "{key}, {numbers}");
        }
    }
}

/// A client with a /48 has 65,536 addresses of its own. What they are denied counts for all of them, too.
#[test]
fn a_network_of_addresses_that_are_denied_sees_no_more_than_its_wide_limit() {
    for numbers in ALGORITHMS {
        for key in KEYS.iter().filter(|key| **key != "everyone") {
            let (limiter, _) = limiter();
            let text = policy(key, numbers, "") + "addresses: { ipv6_wide_multiple: 2 }\n";
            let gateway = Gateway::new(&limiter, &text);
            let (mut scratch, mut passed) = (Scratch::default(), 0);
            for network in 0..20 {
                let peer = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 7, network, 0, 0, 0, 1));
                for user in ["u0", "u1", "u2", "u3", "u0"] {
                    if let Some(pass) = Claims::of(user).ask_from(peer, &gateway, &mut scratch) {
                        passed += 1;
                        gateway.finish(&pass, 401);
                    }
                }
            }
            assert_eq!(passed, 2 * CAPACITY, "{key}, {numbers}");
        }
    }
}

/// One address asks in the name of four users, up to five times at once; the upstream answers in any order, with any status.
#[test]
fn whatever_the_upstream_returns_an_address_gets_no_more_than_its_limits_allow() {
    for seed in 0..12 {
        for key in KEYS {
            for numbers in ALGORITHMS {
                let (limiter, clock) = limiter();
                let gateway = Gateway::new(&limiter, &policy(key, numbers, ""));
                let seen = played(&gateway, &clock, seed);
                let case = format!("{key}, {numbers}, seed {seed}: {seen:?}");
                // One capacity, and the overdraft of those that are in flight together.
                assert!(seen.denied < 2 * CAPACITY, "{case}");
                assert!(seen.accepted.values().all(|passed| *passed <= CAPACITY), "{case}");
            }
        }
    }
}

/// What came through: how many requests were denied, and how many were not, by identity.
#[derive(Default, Debug)]
struct Seen {
    denied: u64,
    accepted: HashMap<String, u64>,
}

fn played(gateway: &Gateway, clock: &ManualClock, seed: u64) -> Seen {
    let (mut seed, mut scratch, mut seen) = (seed, Scratch::default(), Seen::default());
    let mut flying: VecDeque<(String, Admission)> = VecDeque::new();
    for _ in 0..150 {
        let user = format!("u{}", next(&mut seed, 4));
        if flying.len() < IN_FLIGHT && next(&mut seed, 2) == 0 {
            if let Some(pass) = Claims::of(&user).ask(gateway, &mut scratch) {
                flying.push_back((user, pass));
            }
        } else if let Some((user, pass)) = flying.remove(next(&mut seed, IN_FLIGHT)) {
            let status = [401, 401, 401, 200, 403, 500][next(&mut seed, 6)];
            if status == 401 {
                seen.denied += 1;
            } else {
                *seen.accepted.entry(user).or_default() += 1;
            }
            gateway.finish(&pass, status);
        }
        // In all far less than what gives one back.
        clock.advance(Duration::from_secs(1));
    }
    seen
}

#[test]
fn a_charge_whose_key_contains_the_address_is_never_given_back() {
    let text = policy("'header:X-User + ip'", ALGORITHMS[0], "");
    let (limiter, clock) = limiter();
    let gateway = Gateway::new(&limiter, &text);
    let mut scratch = Scratch::default();
    for _ in 0..CAPACITY {
        let pass = Claims::of("u0").ask(&gateway, &mut scratch).expect("there is room");
        gateway.finish(&pass, 401);
    }
    // The address has one again, and so has the user; both were charged.
    clock.advance(Duration::from_secs(3_600));
    let pass = Claims::of("u0").ask(&gateway, &mut scratch).expect("one is back");
    drop(pass);
    assert!(Claims::of("u0").ask(&gateway, &mut scratch).is_none(), "the user's own charges stayed");
}

/// The claimed identity does not pay: its owner, at another address, has the whole limit.
#[test]
fn the_owner_of_a_name_does_not_pay_for_those_who_claim_it() {
    let (limiter, _) = limiter();
    let gateway = Gateway::new(&limiter, &policy("header:X-User", ALGORITHMS[0], ""));
    let mut scratch = Scratch::default();
    while let Some(pass) = Claims::of("u0").ask(&gateway, &mut scratch) {
        gateway.finish(&pass, 401);
    }
    let text = policy("header:X-User", ALGORITHMS[0], "");
    let owner = TollgateLayer::new(crate::support::limits(&limiter, &text))
        .with_peer("198.51.100.7".parse().expect("an address"));
    let statuses: Vec<_> = (0..=CAPACITY).map(|_| status(&owner, 200)).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429]);
}

fn status(layer: &TollgateLayer, answered: u16) -> u16 {
    let told = send_to(layer, request("POST", "/login", &[("x-user", "u0")]), |_| {
        http::Response::builder().status(answered).body(Default::default()).expect("a response")
    });
    told.status
}

#[test]
fn what_an_address_owes_is_told_and_passes() {
    let (limiter, clock) = limiter();
    let text = policy("header:X-User", ALGORITHMS[0], "");
    let layer = crate::support::policy(&limiter, &text);
    let ask = |user: &'static str| {
        send_to(&layer, request("POST", "/login", &[("x-user", user)]), |_| {
            http::Response::builder().status(401).body(Default::default()).expect("a response")
        })
    };
    for _ in 0..CAPACITY {
        assert_eq!(ask("u0").status, 401);
    }
    let refused = ask("u1");
    assert_eq!((refused.status, refused.number("retry-after")), (429, 3_600));
    // Who sends no identity is at the same address, and so is refused by the same numbers.
    assert_eq!(send_to(&layer, request("POST", "/login", &[]), |_| Default::default()).status, 429);
    clock.advance(Duration::from_secs(3_599));
    assert_eq!(ask("u2").status, 429);
    clock.advance(Duration::from_secs(1));
    assert_eq!([ask("u2").status, ask("u3").status], [401, 429]);
}

/// A shadow counts, and refuses nobody.
#[test]
fn a_shadow_refuses_no_address() {
    let (limiter, _) = limiter();
    let text = policy("header:X-User", ALGORITHMS[0], ", mode: shadow");
    let layer = crate::support::policy(&limiter, &text);
    assert_eq!([(); 9].map(|()| status(&layer, 401)), [401; 9]);
}

/// The address's debt outlives a policy that is loaded again.
#[test]
fn a_reload_forgives_nothing() {
    let (limiter, _) = limiter();
    let text = policy("header:X-User", ALGORITHMS[0], "");
    let layer = crate::support::policy(&limiter, &text);
    assert_eq!([(); 6].map(|()| status(&layer, 401)), [401, 401, 401, 401, 401, 429]);
    assert_eq!(status(&crate::support::policy(&limiter, &text), 401), 429);
}

fn rules(limiter: &Limiter) -> Rules {
    let limit = Limit::token_bucket(CAPACITY, 1, Micros::HOUR).expect("a limit");
    let rule = Rule::new("login", limit).keyed_by(KeyExtractor::header(HeaderName::from_static("x-user")));
    Rules::new(limiter.clone(), [rule]).expect("rules")
}

#[test]
fn limits_written_in_rust_do_the_same() {
    let (limiter, _) = limiter();
    let layer = TollgateLayer::new(rules(&limiter)).with_peer(PEER);
    assert_eq!([(); 7].map(|()| status(&layer, 401)), [401, 401, 401, 401, 401, 429, 429]);
    let owner = TollgateLayer::new(rules(&limiter)).with_peer("198.51.100.7".parse().expect("an address"));
    assert_eq!([(); 6].map(|()| status(&owner, 200)), [200, 200, 200, 200, 200, 429]);
}

/// Without an address there is nobody else to charge: the claimed identity pays, so that it is not "not limited".
#[test]
fn without_an_address_the_charge_stays() {
    let (limiter, _) = limiter();
    let layer = TollgateLayer::new(rules(&limiter));
    assert_eq!([(); 7].map(|()| status(&layer, 401)), [401, 401, 401, 401, 401, 429, 429]);
}
