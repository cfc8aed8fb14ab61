//! What is told of answers that a full store in memory gave. What is told without a shared store is in `tests/store`.

use tollgate::{Clock, Limit, Limiter, Micros};
use tollgate_tower::{KeyExtractor, ResponseConfig, Rule, Rules, TollgateLayer};

use crate::support::{START, Told, get, request, send_to};

fn bucket(capacity: u64) -> Limit {
    Limit::token_bucket(capacity, 1, Micros::DAY).expect("it fits")
}

/// Leaves no room in the smallest limiter.
pub(crate) fn fill(limiter: &Limiter) {
    let flood = limiter.limit("flood", bucket(1));
    for key in 0..400_000_u32 {
        let _ = limiter.try_charge(&[flood.hit(&key.to_be_bytes())]).expect("a good hit");
    }
}

/// Whoever was there before the flood has a count of their own.
#[test]
fn who_is_counted_together_with_others_is_told_so() {
    let clock = Clock::manual(Micros::from_secs(START));
    let limiter =
        Limiter::builder().clock(clock.clock()).max_memory(4 << 20).build().expect("there is memory");
    let layer = |name: &str, answers| {
        let rule = Rule::new(name, bucket(5)).keyed_by(KeyExtractor::everyone());
        TollgateLayer::new(Rules::new(limiter.clone(), [rule]).expect("they are right"))
            .with_responses(answers)
    };
    let telling = ResponseConfig { degraded: true, ..ResponseConfig::default() };
    let known = layer("known", telling);
    assert_eq!(seen(&get(&known, "/")), (200, ""));
    fill(&limiter);
    assert_eq!(seen(&get(&known, "/")), (200, ""), "it has its own count");
    assert_eq!(seen(&get(&layer("new", telling), "/")), (200, "full"));
    assert_eq!(seen(&get(&layer("new", ResponseConfig::default()), "/")), (200, ""), "not unless set");
    let refused = (0..9).map(|_| get(&layer("new", telling), "/")).find(|told| told.status == 429);
    assert_eq!(seen(&refused.expect("five are soon spent")), (429, "full"));
}

/// A word of the service's own under this name is about limits of its own, and is no line beside ours.
#[test]
fn the_services_own_word_goes_if_the_field_is_ours() {
    let limiter = Limiter::new().expect("there is memory");
    for (degraded, wanted) in [(true, ""), (false, "local")] {
        let rules =
            Rules::new(limiter.clone(), [Rule::new("a", bucket(5)).keyed_by(KeyExtractor::everyone())]);
        let config = ResponseConfig { degraded, ..ResponseConfig::default() };
        let layer = TollgateLayer::new(rules.expect("they are right")).with_responses(config);
        let told = send_to(&layer, request("GET", "/", &[]), |_| {
            let response = http::Response::builder().header("Tollgate-Degraded", "local");
            response.body(http_body_util::Full::default()).expect("a response")
        });
        assert_eq!(seen(&told), (200, wanted));
    }
}

fn seen(told: &Told) -> (u16, &str) {
    (told.status, told.field("tollgate-degraded"))
}
