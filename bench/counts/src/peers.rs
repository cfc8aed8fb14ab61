//! The peers' decisions, under the same demand. Each is given its clock, so that no clock is measured.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};

use crate::Done;

/// governor's unkeyed limiter: GCRA on one atomic word.
pub(crate) fn governor(granting: bool, limit: u64, n: u64) -> Result<Done, String> {
    let burst = u32::try_from(limit).ok().and_then(NonZeroU32::new).ok_or("governor counts in 32 bits")?;
    let step = Duration::from_micros(1_250);
    let quota = Quota::with_period(Duration::from_millis(1)).ok_or("a period of zero")?.allow_burst(burst);
    let clock = FakeRelativeClock::default();
    let limiter = RateLimiter::direct_with_clock(quota, clock.clone());
    clock.advance(Duration::from_secs(1_000));
    let (mut granted, mut refused) = (0, 0);
    if !granting {
        while limiter.check().is_ok() {}
    }
    for _ in 0..n {
        if granting {
            clock.advance(step);
        }
        let granted_now = black_box(black_box(&limiter).check()).is_ok();
        granted += u64::from(granted_now);
        refused += u64::from(!granted_now);
    }
    Ok((granted, refused))
}
