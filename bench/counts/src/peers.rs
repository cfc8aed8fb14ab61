//! The peers' decisions, under the same demand. Each is given its clock, so that no clock is measured.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::FakeRelativeClock;
use governor::middleware::StateInformationMiddleware;
use governor::{Quota, RateLimiter};

use crate::Done;

/// governor's unkeyed limiter: GCRA on one atomic word. With `remaining`, it is also asked what remains.
pub(crate) fn governor(remaining: bool, granting: bool, limit: u64, n: u64) -> Result<Done, String> {
    let burst = u32::try_from(limit).ok().and_then(NonZeroU32::new).ok_or("governor counts in 32 bits")?;
    let step = if granting { Duration::from_micros(1_250) } else { Duration::ZERO };
    let quota = Quota::with_period(Duration::from_millis(1)).ok_or("a period of zero")?.allow_burst(burst);
    let clock = FakeRelativeClock::default();
    let plain = RateLimiter::direct_with_clock(quota, clock.clone());
    let telling =
        RateLimiter::direct_with_clock(quota, clock.clone()).with_middleware::<StateInformationMiddleware>();
    clock.advance(Duration::from_secs(1_000));
    if !granting {
        while plain.check().is_ok() && telling.check().is_ok() {}
    }
    let mut granted = 0;
    for _ in 0..n {
        clock.advance(step);
        let granted_now = if remaining {
            let answer = black_box(&telling).check();
            black_box(answer.map(|snapshot| snapshot.remaining_burst_capacity())).is_ok()
        } else {
            black_box(black_box(&plain).check()).is_ok()
        };
        granted += u64::from(granted_now);
    }
    Ok((granted, n - granted))
}
