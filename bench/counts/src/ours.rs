//! Our decisions on one key, charged and applied.

use std::hint::black_box;

use tollgate_algorithms::{Algorithm, Limit, LimitError, Micros, Window, decide};

use crate::Done;

const START: u64 = 1_763_208_000_000_000;
/// A limit of n is n in so many microseconds each.
const EACH: u64 = 1_000;
/// Hits come at four fifths of that rate: every algorithm grants them all.
const STEP: u64 = 1_250;

fn limit_of(algorithm: Algorithm, limit: u64) -> Result<Limit, LimitError> {
    let window = Micros::new(limit * EACH);
    match algorithm {
        Algorithm::TokenBucket => Limit::token_bucket(limit, limit, window),
        Algorithm::LeakyBucket => Limit::leaky_bucket(limit, limit, window),
        Algorithm::Gcra => Limit::gcra(limit, limit, window),
        Algorithm::FixedWindow => Limit::fixed_window(limit, Window::Every(window)),
        Algorithm::SlidingWindow => Limit::sliding_window(limit, window),
        Algorithm::SlidingWindowBuckets => Limit::sliding_window_buckets(limit, window, 10),
        Algorithm::SlidingWindowLog => Limit::sliding_window_log(limit, window),
    }
}

/// Granted: a steady hit a step, on a key that has been in use for two windows. Refused: again and again, on a key that
/// has just been exhausted.
pub(crate) fn run(name: &str, granting: bool, (limit, cost): (u64, u64), n: u64) -> Result<Done, String> {
    let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
    let algorithm = algorithm.ok_or_else(|| format!("`{name}` is no algorithm"))?;
    let rule = limit_of(algorithm, limit).map_err(|error| error.to_string())?;
    let rule = black_box(rule);
    let (mut key, mut granted, mut refused) = (None, 0, 0);
    let warm_up = 2 * limit;
    let mut now = START - START % (limit * EACH);
    for _ in 0..warm_up {
        now += STEP;
        decide(&rule, key.as_ref(), Micros::new(now), 1).0.apply(&mut key);
    }
    if !granting {
        while decide(&rule, key.as_ref(), Micros::new(now), 1).1.is_granted() {
            decide(&rule, key.as_ref(), Micros::new(now), 1).0.apply(&mut key);
        }
    }
    for _ in 0..n {
        now += if granting { STEP } else { 0 };
        let (change, decision) =
            decide(black_box(&rule), key.as_ref(), black_box(Micros::new(now)), black_box(cost));
        change.apply(&mut key);
        let decision = black_box(decision);
        granted += u64::from(decision.is_granted());
        refused += u64::from(!decision.is_granted());
    }
    Ok((granted, refused))
}
