//! Permits of a concurrency limit by key, and of an adaptive limit with the report of each request: acquired and released.

use std::hint::black_box;
use std::time::Duration;

use tollgate::adaptive::{AdaptiveConfig, Outcome};
use tollgate::{Clock, Limiter, ManualClock, Micros};

use crate::Done;

/// Requests come so far apart, and so long after its start one is answered.
const STEP: Duration = Duration::from_micros(500);

fn limiter() -> Result<(Limiter, ManualClock), String> {
    let hands = Clock::manual(Micros::new(1_763_208_000_000_000));
    let limiter = Limiter::builder().clock(hands.clock()).build().map_err(|error| error.to_string())?;
    Ok((limiter, hands))
}

/// A permit of one key, acquired and released; or refused, because the key has as many as it may have.
pub(crate) fn concurrency(granting: bool, limit: u64, n: u64) -> Result<Done, String> {
    let (limiter, hands) = limiter()?;
    let most = u32::try_from(limit).map_err(|error| error.to_string())?;
    let limit = limiter.concurrency("reports", most);
    let held: Vec<_> = (0..if granting { 0 } else { most }).map(|_| limit.try_acquire("user-42")).collect();
    let (mut granted, mut refused) = (0, 0);
    while granted + refused < n {
        hands.advance(STEP);
        match limit.try_acquire(black_box("user-42")) {
            Ok(permit) => {
                granted += 1;
                drop(black_box(permit));
            }
            Err(_) => refused += 1,
        }
    }
    drop(held);
    Ok((granted, refused))
}

/// One request under an adaptive limit: acquired, recorded as answered, released; windows open and close as they do.
pub(crate) fn adaptive(granting: bool, limit: u64, n: u64) -> Result<Done, String> {
    let (limiter, hands) = limiter()?;
    let most = u32::try_from(limit).map_err(|error| error.to_string())?;
    let config = AdaptiveConfig::default().with_range(most, most, most).map_err(|error| error.to_string())?;
    let limit = limiter.adaptive("upstream", config);
    let held: Vec<_> = (0..if granting { 0 } else { most }).map(|_| limit.try_acquire()).collect();
    let (mut granted, mut refused) = (0, 0);
    while granted + refused < n {
        hands.advance(STEP);
        match black_box(&limit).try_acquire() {
            Ok(mut permit) => {
                granted += 1;
                hands.advance(STEP);
                permit.record(Outcome::Success);
                drop(black_box(permit));
            }
            Err(_) => refused += 1,
        }
    }
    drop(held);
    Ok((granted, refused))
}
