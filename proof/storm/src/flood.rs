//! Ten million new keys against a budget that has room for a fraction, for every kind of state: resident memory, known keys, refused keys.

use std::fmt::Write as _;

use tollgate::{Clock, Limit, Limiter, Micros, Window};

/// Room for some two million keys in words, and for a quarter of a million with lists.
const BUDGET: usize = 64 << 20;

/// A list for each key, a cell, a word. Lists come first: what the system's allocator keeps for the next would hide what they take.
pub(crate) fn run(keys: u64) -> Result<String, String> {
    let limits = [
        Limit::sliding_window_log(3, Micros::DAY),
        Limit::fixed_window(3, Window::Every(Micros::DAY)),
        Limit::token_bucket(3, 1, Micros::DAY),
    ];
    let mut report = String::new();
    for limit in limits {
        report.push_str(&run_with(limit.map_err(|error| error.to_string())?, keys)?);
    }
    Ok(report)
}

fn run_with(limit: Limit, keys: u64) -> Result<String, String> {
    let clock = Clock::manual(Micros::from_secs(1_763_208_000));
    let before = resident()?;
    let limiter = Limiter::builder()
        .clock(clock.clock())
        .max_memory(BUDGET)
        .build()
        .map_err(|error| error.to_string())?;
    let kind = limit.algorithm().map_or("none", tollgate::Algorithm::name);
    let limit = limiter.limit("flooded", limit);
    let charge = |key: &str| limiter.try_charge(&[limit.hit(key)]).map_err(|error| error.to_string());
    for _ in 0..4 {
        let _ = charge("refused")?;
    }
    let _ = charge("honest")?;
    let (mut granted, mut most) = (0_u64, 0);
    let mut name = String::new();
    for key in 0..keys {
        name.clear();
        let _ = write!(name, "flood {key}");
        granted += u64::from(charge(&name)?.is_granted());
        if key % 65_536 == 0 {
            most = most.max(resident()?);
        }
    }
    let took = most.max(resident()?).saturating_sub(before);
    let (refused, honest, stats) = (charge("refused")?, charge("honest")?, limiter.stats());
    let fine = took <= BUDGET
        && stats.bytes <= BUDGET
        && !refused.is_granted()
        && honest.is_granted()
        && honest.remaining() == Some(1)
        && stats.overflowed > 0;
    let report = format!(
        "A flood of {keys} new keys of a {kind}, a budget of {} MiB: {} MiB resident at the most, {granted} granted, {} hits in cells \
         that keys have in common; the refused key {}, the honest key {} with {} left.\n",
        BUDGET >> 20,
        took >> 20,
        stats.overflowed,
        if refused.is_granted() { "was granted" } else { "stayed refused" },
        if honest.is_granted() { "went on" } else { "was refused" },
        honest.remaining().unwrap_or(0),
    );
    if fine { Ok(report) } else { Err(report) }
}

/// What the process has in memory, in bytes.
fn resident() -> Result<usize, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| "the system does not say what is resident".into())
}
