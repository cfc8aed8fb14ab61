//! Our own limiter's subjects: with a precise clock, with a ticked one, in batches, with three limits at
//! once.

use std::hint::black_box;
use std::time::Duration;

use tollgate::{Builder, Clock, Limiter, Micros, NamedLimit};

use crate::keys::{Asked, Names};
use crate::subject::{Candidate, Limit, Subject};
use crate::workload::Workload;

/// A budget for ten million keys and more.
const BUDGET: usize = 1 << 30;
/// How many decisions are asked for at once.
const BATCH: usize = 32;

/// One limit, one decision at a time.
struct Single {
    limiter: Limiter,
    limit: NamedLimit,
}

impl Subject for Single {
    fn decide(&self, key: Asked<'_>) -> bool {
        let verdict = self.limiter.try_charge(&[self.limit.hit(key.name)]);
        verdict.is_ok_and(|verdict| verdict.is_granted())
    }
}

/// Independent decisions, many at a time.
struct Batches(Single);

impl Subject for Batches {
    fn decide(&self, key: Asked<'_>) -> bool {
        self.0.decide(key)
    }

    fn decide_all(&self, keys: &[Asked<'_>]) -> u64 {
        let mut granted = 0;
        let mut hits = Vec::with_capacity(BATCH);
        for keys in keys.chunks(BATCH) {
            hits.clear();
            hits.extend(keys.iter().map(|&key| self.0.limit.hit(black_box(key).name)));
            let count = |_, verdict: tollgate::Verdict| granted += u64::from(black_box(verdict.is_granted()));
            if self.0.limiter.try_charge_each(&hits, count).is_err() {
                return 0;
            }
        }
        granted
    }
}

/// Three limits, all or none.
struct Three {
    limiter: Limiter,
    limits: [NamedLimit; 3],
}

impl Subject for Three {
    fn decide(&self, key: Asked<'_>) -> bool {
        let name = key.name;
        let hits = [self.limits[0].hit(name), self.limits[1].hit(name), self.limits[2].hit(name)];
        self.limiter.try_charge(&hits).is_ok_and(|verdict| verdict.is_granted())
    }
}

/// One limit, in a table that holds the keys of three.
struct OneOfThree(Three);

impl Subject for OneOfThree {
    fn decide(&self, key: Asked<'_>) -> bool {
        let verdict = self.0.limiter.try_charge(&[self.0.limits[0].hit(key.name)]);
        verdict.is_ok_and(|verdict| verdict.is_granted())
    }
}

fn limiter(builder: Builder) -> Result<Limiter, String> {
    builder.max_memory(BUDGET).build().map_err(|error| error.to_string())
}

fn named(limiter: &Limiter, name: &str, limit: Limit) -> Result<NamedLimit, String> {
    let period = Micros::from_secs(limit.seconds().into());
    let limit = tollgate::Limit::gcra(limit.burst().into(), limit.burst().into(), period);
    Ok(limiter.limit(name, limit.map_err(|error| error.to_string())?))
}

fn single(limit: Limit, builder: Builder) -> Result<Single, String> {
    let limiter = limiter(builder)?;
    let limit = named(&limiter, "limit", limit)?;
    Ok(Single { limiter, limit })
}

/// The settings that a user gets who sets nothing.
fn defaults() -> Builder {
    Limiter::builder()
}

/// A clock that a thread moves on every half millisecond.
pub(crate) fn ticking_clock() -> Clock {
    Clock::ticked(Duration::from_micros(500))
}

fn ticking() -> Builder {
    Limiter::builder().clock(ticking_clock())
}

fn precise(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(single(limit, defaults())?))
}

fn monotonic(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(single(limit, Limiter::builder().clock(Clock::monotonic()))?))
}

fn vouched(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(single(limit, defaults().trusted_keys())?))
}

fn ticked(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(single(limit, ticking())?))
}

fn batches(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(Batches(single(limit, defaults())?)))
}

fn three(_: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    Ok(Box::new(of_three(limit)?))
}

fn one_of_three(keys: u32, limit: Limit) -> Result<Box<dyn Subject>, String> {
    let three = of_three(limit)?;
    let names = Names::of(0..keys);
    for key in names.asked(0..keys) {
        three.decide(key);
    }
    Ok(Box::new(OneOfThree(three)))
}

fn of_three(limit: Limit) -> Result<Three, String> {
    let limiter = limiter(defaults())?;
    let limits = [
        named(&limiter, "per address", limit)?,
        named(&limiter, "per key", limit)?,
        named(&limiter, "per organisation", limit)?,
    ];
    Ok(Three { limiter, limits })
}

/// What of ours is measured.
pub(crate) fn candidates() -> Vec<Candidate> {
    use Workload::{
        Batches, Curve, Drained, Granted, Idle, Latency, Refused, Rss, Scattered, Ticked, Together, Uniform,
        Zipf,
    };
    let candidate = |name, note, takes, prepare| Candidate { name, note, takes, keys_max: u32::MAX, prepare };
    vec![
        candidate(
            "tollgate",
            "GCRA, keyed hash, time stamp counter",
            &[Refused, Granted, Uniform, Zipf, Scattered, Together, Idle, Drained, Curve, Rss, Latency],
            precise,
        ),
        candidate("tollgate, vouched keys", "a fast hash", &[Refused, Granted, Uniform, Zipf], vouched),
        candidate(
            "tollgate, monotonic clock",
            "the system's monotonic clock",
            &[Refused, Granted, Uniform, Drained],
            monotonic,
        ),
        candidate("tollgate, ticked clock", "ticks every 0.5 ms", &[Scattered, Ticked, Curve], ticked),
        candidate(
            "tollgate, batches of 32",
            "`charge_each`, one clock reading",
            &[Scattered, Batches, Curve],
            batches,
        ),
        candidate(
            "tollgate, one of three limits",
            "one limit, in a table that holds the keys of three",
            &[Together],
            one_of_three,
        ),
        candidate("tollgate, three limits", "all or none", &[Together, Idle], three),
    ]
}
