//! Promises of answers, for random policies and traces: what a client is told can be relied upon. The same seed is the same run.

use std::time::Duration;

use tollgate::{Limit, Micros, Window};
use tollgate_testing::random::Random;
use tollgate_tower::{KeyExtractor, ResponseConfig, Rule, Rules, TollgateLayer};

use crate::support::{PEER, Told, limiter, request, send};

/// Limits and costs from a seed.
struct Dice(Random);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    fn limit(&mut self) -> Limit {
        let (count, window) = (1 + self.below(9), Micros::new(1 + self.below(20_000_000)));
        let limit = match self.below(5) {
            0 => Limit::token_bucket(count, 1 + self.below(5), window),
            1 => Limit::gcra(count, 1 + self.below(5), window),
            2 => Limit::fixed_window(count, Window::Every(window)),
            3 => Limit::sliding_window(count, window),
            _ => Limit::sliding_window_log(count, window),
        };
        limit.expect("it fits")
    }
}

/// What holds of every answer.
fn check(told: &Told, costs: &[(String, u64)], case: &str) {
    let granted = told.status == 200;
    assert_eq!(told.headers.contains_key("retry-after"), told.status == 429, "{case}");
    let states = told.list("ratelimit");
    assert_eq!(states.len(), costs.len(), "{case}");
    if granted {
        return;
    }
    let problem = told.problem();
    let violated: Vec<_> = problem["violated-policies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str())
        .collect();
    assert!(!violated.is_empty(), "{case}");
    for (name, numbers) in &states {
        let cost = costs.iter().find(|(known, _)| known == name).map_or(0, |(_, cost)| *cost);
        let (remaining, t) = (numbers[0].1, numbers[1].1);
        if violated.contains(&name.as_str()) {
            assert!(
                remaining < i64::try_from(cost).expect("it fits"),
                "{case}: {name} has {remaining} for {cost}"
            );
            if told.status == 429 {
                let wait = i64::try_from(told.number("retry-after")).expect("it fits");
                assert!(t <= wait, "{case}: {name} says {t}, and Retry-After {wait}");
            }
        }
    }
}

#[test]
fn whatever_the_limits_answers_keep_their_promises() {
    for seed in 1..=150_u64 {
        let mut dice = Dice(Random::case(0, seed));
        let (limiter, clock) = limiter();
        let limits: Vec<_> = (0..1 + dice.below(3))
            .map(|number| (format!("limit {number}"), dice.limit(), 1 + dice.below(3)))
            .collect();
        let costs: Vec<_> = limits.iter().map(|(name, _, cost)| (name.clone(), *cost)).collect();
        let rules = limits
            .into_iter()
            .map(|(name, limit, cost)| Rule::new(name, limit).keyed_by(KeyExtractor::everyone()).cost(cost));
        let jitter = Micros::new(dice.below(2) * 3_000_000);
        let rules = Rules::new(limiter, rules).expect("they are right");
        let config = ResponseConfig { retry_jitter: jitter, ..ResponseConfig::default() };
        let layer = TollgateLayer::new(rules).with_peer(PEER).with_responses(config);
        for step in 0..60 {
            let case = format!("seed {seed}, step {step}");
            let told = send(&layer, request("GET", "/", &[]));
            check(&told, &costs, &case);
            if told.status == 429 && dice.below(3) == 0 {
                // Whoever obeys is granted.
                clock.advance(Duration::from_secs(told.number("retry-after")));
                let told = send(&layer, request("GET", "/", &[]));
                assert_eq!(told.status, 200, "{case}: obeyed");
                check(&told, &costs, &case);
            } else {
                clock.advance(Duration::from_micros(dice.below(2_000_000)));
            }
        }
    }
}
