//! governor: GCRA on an atomic word per key, in a map of shards behind locks.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock, QuantaUpkeepClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::keys::Asked;
use crate::subject::{Limit, Subject};

type Limiter<K, S, C> = RateLimiter<K, DashMapStateStore<K, S>, C, NoOpMiddleware<<C as Clock>::Instant>>;

fn quota(limit: Limit) -> Result<Quota, String> {
    let burst = NonZeroU32::new(limit.burst()).ok_or("a burst of nothing")?;
    let each = Duration::from_secs(limit.seconds().into()) / burst.get();
    Ok(Quota::with_period(each).ok_or("a period of nothing")?.allow_burst(burst))
}

/// Keys are names.
struct Names<S: BuildHasher + Clone, C: Clock> {
    limiter: Limiter<String, S, C>,
}

impl<S, C> Subject for Names<S, C>
where
    S: BuildHasher + Clone + Send + Sync,
    C: Clock + Send + Sync,
    C::Instant: Send + Sync,
{
    fn decide(&self, key: Asked<'_>) -> bool {
        self.limiter.check_key(key.name).is_ok()
    }
}

pub(super) fn default_hasher(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(Names { limiter: RateLimiter::keyed(quota(limit)?) }))
}

pub(super) fn fast_hasher(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let hasher = foldhash::fast::RandomState::default();
    let limiter = RateLimiter::dashmap_with_hasher(quota(limit)?, hasher);
    Ok(Box::new(Names { limiter }))
}

/// Its clock that a thread of its own reads: there can be only one at a time.
pub(super) fn upkeep_clock(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let clock =
        QuantaUpkeepClock::from_interval(Duration::from_millis(1)).map_err(|error| error.to_string())?;
    let hasher = foldhash::fast::RandomState::default();
    let limiter = RateLimiter::dashmap_with_clock_and_hasher(quota(limit)?, clock, hasher);
    Ok(Box::new(Names { limiter }))
}

/// Keys are numbers.
struct Numbers<S: BuildHasher + Clone> {
    limiter: Limiter<u64, S, DefaultClock>,
}

impl<S: BuildHasher + Clone + Send + Sync> Subject for Numbers<S> {
    fn decide(&self, key: Asked<'_>) -> bool {
        self.limiter.check_key(&u64::from(key.number)).is_ok()
    }
}

pub(super) fn numbers(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let limiter: Limiter<_, RandomState, _> = RateLimiter::keyed(quota(limit)?);
    Ok(Box::new(Numbers { limiter }))
}

pub(super) fn numbers_fast_hasher(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let hasher = foldhash::fast::RandomState::default();
    Ok(Box::new(Numbers { limiter: RateLimiter::dashmap_with_hasher(quota(limit)?, hasher) }))
}
