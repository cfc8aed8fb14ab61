//! The fields of responses, read back by an independent parser of structured fields.

use std::time::Duration;

use tollgate::{Limit, Micros, UtcOffset, Window};
use tollgate_algorithms::{Decision, Outcome, Retry};
use tollgate_tower::{
    DescriptorId, HeaderFormats, KeyExtractor, LimitDescriptor, LimitStatus, ResetFormat, ResponseConfig,
    ResponseWriter, Rule, Rules, TollgateLayer,
};

use crate::support::{PEER, START, Told, get, limiter, policy, read};

fn decision(remaining: u64, reset: Micros, outcome: Outcome) -> Decision {
    let at = Micros::from_secs(START);
    Decision { outcome, charged: 0, limit: 5, remaining, reset_after: reset, at }
}

fn told(descriptor: &LimitDescriptor, decision: Decision, config: ResponseConfig) -> Told {
    let mut headers = http::HeaderMap::new();
    let mut status = LimitStatus::new(DescriptorId::from(0), descriptor, decision);
    status.key_fingerprint = 7;
    let writer = ResponseWriter::for_descriptors(&[Some(descriptor.clone())], config);
    writer.write_limits(std::iter::once(status), Micros::from_secs(START), &mut headers);
    Told { status: 200, headers, body: bytes::Bytes::new() }
}

/// Every kind of limit and every extreme of a state is read back as the numbers that it was.
#[test]
fn what_is_written_is_read_back_by_another_parser() {
    let most = 999_999_999_999_999;
    let limits = [
        (Limit::token_bucket(5, 1, Micros::from_secs(10)), Some(50)),
        (Limit::gcra(1, 1_000, Micros::SECOND), Some(1)),
        (Limit::leaky_bucket(7, 2, Micros::SECOND), Some(4)),
        (Limit::fixed_window(3, Window::Every(Micros::HOUR)), Some(3_600)),
        (Limit::fixed_window(3, Window::Day(UtcOffset::default())), Some(86_400)),
        (Limit::fixed_window(3, Window::Week(UtcOffset::default())), Some(604_800)),
        (Limit::fixed_window(3, Window::Month(UtcOffset::default())), None),
        (Limit::fixed_window(3, Window::Year(UtcOffset::default())), None),
        (Limit::fixed_window(Limit::COUNT_MAX, Window::Every(Micros::SECOND)), Some(1)),
        (Limit::sliding_window(9, Micros::MINUTE), Some(60)),
        (Limit::sliding_window_buckets(9, Micros::MINUTE, 6), Some(60)),
        (Limit::sliding_window_log(6, Micros::new(1_500_000)), Some(2)),
    ];
    let names =
        ["a", "POST /a", r#"a "b""#, r"c:\d\", r#"\""#, "a;r=9, \"b\"", "~ !#$%&'()*+,-./:<=>?@[]^_`{|}"];
    let states = [(0, 0), (1, 1), (4, 9_999_999), (u64::MAX, u64::MAX)];
    for (name, (limit, window)) in
        names.iter().cycle().zip(limits.iter().cycle().take(names.len() * limits.len()))
    {
        let limit = limit.expect("it fits");
        let descriptor = LimitDescriptor::new(name, limit);
        for (remaining, reset) in states {
            let decision = decision(remaining, Micros::new(reset), Outcome::Granted);
            for partition_key in [false, true] {
                let config = ResponseConfig { partition_key, ..ResponseConfig::default() };
                let told = told(&descriptor, decision, config);
                let q = i64::try_from(limit.capacity()).expect("it fits").min(most);
                let mut parameters = vec![("q".to_owned(), q)];
                parameters.extend(window.map(|window| ("w".to_owned(), window)));
                assert_eq!(told.list("ratelimit-policy"), [((*name).to_owned(), parameters)], "{limit}");
                let r = i64::try_from(remaining).unwrap_or(most).min(most);
                let t = i64::try_from(reset.div_ceil(1_000_000)).expect("it fits");
                let state = vec![("r".to_owned(), r), ("t".to_owned(), t)];
                assert_eq!(told.list("ratelimit"), [((*name).to_owned(), state)]);
                let has_key = told.field("ratelimit").contains(";pk=:");
                assert_eq!(
                    (has_key, told.field("ratelimit-policy").contains(";pk=:")),
                    (partition_key, partition_key)
                );
            }
        }
    }
}

#[test]
fn t_is_the_wait_of_the_refused_and_the_reset_of_the_granted() {
    let descriptor = LimitDescriptor::new("a", Limit::token_bucket(5, 1, Micros::SECOND).expect("it fits"));
    let reset = Micros::from_secs(50);
    let table = [
        (Outcome::Granted, 50),
        (Outcome::Refused(Retry::After(Micros::new(1))), 1),
        (Outcome::Refused(Retry::After(Micros::new(9_000_001))), 10),
        (Outcome::Refused(Retry::Never), 50),
    ];
    for (outcome, t) in table {
        let told = told(&descriptor, decision(1, reset, outcome), ResponseConfig::default());
        assert_eq!(told.parameter("ratelimit", "t"), t, "{outcome:?}");
    }
}

#[test]
fn generations_are_sent_as_the_settings_say() {
    let all = ["ratelimit-policy", "ratelimit", "x-ratelimit-remaining", "ratelimit-remaining"];
    for bits in 0..8_u8 {
        let on = |bit: u8| bits & bit != 0;
        let generations = HeaderFormats { draft: on(1), x_ratelimit: on(2), triple: on(4) };
        let (limiter, _) = limiter();
        let rule = Rule::new("a", Limit::token_bucket(5, 1, Micros::from_secs(10)).expect("it fits"));
        let rules = Rules::new(limiter, [rule]).expect("they are right");
        let config = ResponseConfig { generations, ..ResponseConfig::default() };
        let told = get(&TollgateLayer::new(rules).with_peer(PEER).with_responses(config), "/");
        let sent = all.map(|name| told.headers.contains_key(name));
        assert_eq!(sent, [on(1), on(1), on(2), on(4)], "{generations:?}");
        if on(4) {
            let three =
                ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| told.number(name));
            assert_eq!(three, [5, 4, 10]);
        }
    }
}

/// The reset in epoch seconds is rounded up as waits are: at that second the key is as good as new.
#[test]
fn the_older_reset_is_an_instant_or_a_wait() {
    for (reset, wanted) in [(ResetFormat::Epoch, START + 11), (ResetFormat::Delta, 10)] {
        let (limiter, clock) = limiter();
        clock.advance(Duration::from_micros(1));
        let rule = Rule::new("a", Limit::token_bucket(5, 1, Micros::from_secs(10)).expect("it fits"));
        let rules = Rules::new(limiter, [rule]).expect("they are right");
        let config = ResponseConfig { reset, ..ResponseConfig::default() };
        let told = get(&TollgateLayer::new(rules).with_peer(PEER).with_responses(config), "/");
        let three =
            ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map(|name| told.number(name));
        assert_eq!(three, [5, 4, wanted], "{reset:?}");
    }
}

const SEVERAL: &str = "
tollgate: 1
routes:
  - path: /a
    rate_limit:
      - { name: wide, algorithm: token_bucket, capacity: 100, refill_rate: 1 }
      - { name: tight, algorithm: token_bucket, capacity: 3, refill_rate: 0.1 }
      - { name: unseen, algorithm: token_bucket, capacity: 2, refill_rate: 10, visibility: hidden }
      - { name: tried, algorithm: token_bucket, capacity: 1, refill_rate: 0.1, mode: shadow }
";

#[test]
fn of_several_limits_lists_show_all_and_older_fields_the_one_that_binds() {
    let (limiter, _) = limiter();
    let layer = policy(&limiter, SEVERAL);
    let told = get(&layer, "/a");
    assert_eq!(told.status, 200);
    assert_eq!(told.field("ratelimit-policy"), r#""wide";q=100;w=100, "tight";q=3;w=30"#);
    assert_eq!(told.field("ratelimit"), r#""wide";r=99;t=1, "tight";r=2;t=10"#);
    assert_eq!((told.number("x-ratelimit-limit"), told.number("x-ratelimit-remaining")), (3, 2));
}

/// The same client has the same partition key under a new policy, others have others, and nobody's identity is in it.
#[test]
fn a_partition_key_is_the_same_for_the_same_budget_and_says_nothing() {
    let (limiter, _) = limiter();
    let key = |who: &str| {
        let rule = Rule::new("a", Limit::token_bucket(50, 1, Micros::SECOND).expect("it fits"));
        let by = KeyExtractor::header(http::HeaderName::from_static("x-user"));
        let rules = Rules::new(limiter.clone(), [rule.keyed_by(by)]).expect("they are right");
        let config = ResponseConfig { partition_key: true, ..ResponseConfig::default() };
        let request = crate::support::request("GET", "/", &[("x-user", who)]);
        let told =
            crate::support::send(&TollgateLayer::new(rules).with_peer(PEER).with_responses(config), request);
        let state = told.field("ratelimit").to_owned();
        read(&state);
        assert!(!state.contains(who), "{state}");
        state.split_once("pk=").expect("there is one").1.to_owned()
    };
    assert_eq!(key("ada"), key("ada"));
    assert_ne!(key("ada"), key("bob"));
    assert_eq!(key("ada").len(), 14, "eight bytes in base64 between colons");
}
