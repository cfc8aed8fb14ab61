//! Resident memory per live key: what a process of its own grows by while it decides once on every key.

use std::fs;

use crate::keys::Names;
use crate::scale::Scale;
use crate::subject::{Candidate, Limit};
use crate::timed::share;
use crate::workload::Workload;
use crate::{child, print};

/// Measures all candidates that take part in it, each in a process of its own.
///
/// # Errors
/// When one of them fails.
pub(crate) fn run(candidates: &[Candidate], scale: &Scale) -> Result<(), String> {
    for &keys in scale.rss {
        let taking =
            candidates.iter().filter(|one| one.takes.contains(&Workload::Rss) && keys <= one.keys_max);
        for candidate in taking {
            let figures = child::run("rss", candidate, keys)?;
            print::times(&format!("rss-{keys}"), 1, candidate.name, &figures, None);
        }
    }
    Ok(())
}

/// Measures one, here, and prints bytes per key. The keys' own names are there before it begins; whatever the
/// limiter copies of them counts.
///
/// # Errors
/// When the subject cannot be made or refuses, or the system does not say.
pub(crate) fn measure(candidate: Candidate, count: u32) -> Result<(), String> {
    let names = Names::of(0..count);
    let all = names.asked(0..count);
    let before = resident()?;
    let subject = (candidate.prepare)(count, Limit::Lasting)?;
    let granted = share(subject.decide_all(&all), u64::from(count));
    let grown = resident()?.saturating_sub(before);
    if granted < 99.0 {
        return Err(format!("{}: {granted:.2} % were granted, and it was to be all", candidate.name));
    }
    println!("{:.1}", grown as f64 / f64::from(count));
    Ok(())
}

/// The bytes of this process that are in memory.
fn resident() -> Result<u64, String> {
    let status =
        fs::read_to_string("/proc/self/status").map_err(|error| format!("/proc/self/status: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let kilobytes = line.and_then(|number| number.trim().parse::<u64>().ok());
    kilobytes.map(|kilobytes| kilobytes * 1_024).ok_or_else(|| "/proc/self/status says no VmRSS".into())
}
